"""A headless Chromium that a test drives: it opens pages, presses keys and looks at what is there.

Chromium speaks the DevTools protocol through a pair of pipes (``--remote-debugging-pipe``): JSON
messages that end with a zero byte. So nothing has to be installed beside the browser.
"""

import json
import os
import shutil
import subprocess
import time
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
FLAGS = (
    "--headless --no-sandbox --disable-gpu --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync --hide-scrollbars"
)
KEYS = {"Tab": 9, "Enter": 13, "Escape": 27}


class QuietHandler(SimpleHTTPRequestHandler):
    """Serve files without a line of log for each."""

    def log_message(self, *_):
        """Print nothing."""


class Browser:
    """One tab of Chromium on the pages of a folder, which a local server gives out.

    Parameters
    ----------
    folder, profile : Path
        The site, and an empty folder for what the browser keeps.
    """

    def __init__(self, folder, profile):
        handler = partial(QuietHandler, directory=str(folder))
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        Thread(target=self.server.serve_forever, daemon=True).start()
        theirs_in, ours_out = os.pipe()
        ours_in, theirs_out = os.pipe()
        command = f'exec "$0" "$@" 3<&{theirs_in} 4>&{theirs_out}'
        arguments = [*FLAGS.split(), f"--user-data-dir={profile}", "--remote-debugging-pipe"]
        self.process = subprocess.Popen(
            ["/bin/bash", "-c", command, CHROMIUM, *arguments, "about:blank"],
            pass_fds=(theirs_in, theirs_out), stderr=subprocess.DEVNULL,
        )  # fmt: skip
        os.close(theirs_in)
        os.close(theirs_out)
        self.sent, self.received = os.fdopen(ours_out, "wb", 0), os.fdopen(ours_in, "rb")
        self.number, self.session = 0, None
        self.requested = []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)[
            "sessionId"
        ]
        self.call("Network.enable")

    def call(self, method, **parameters):
        """Send a command of the protocol and return its result."""
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        self.sent.write(json.dumps(message).encode() + b"\0")
        while True:
            answer = self.receive()
            if answer.get("id") == self.number:
                assert "error" not in answer, answer
                return answer["result"]

    def receive(self):
        """Return the next message, and keep the addresses that the page asks for."""
        text = bytearray()
        while (byte := self.received.read(1)) != b"\0":
            assert byte, "chromium has ended"
            text += byte
        message = json.loads(text)
        if message.get("method") == "Network.requestWillBeSent":
            self.requested.append(message["params"]["request"]["url"])
        return message

    def open(self, page, width=1280, height=900, theme="light"):
        """Go to a page of the folder, in a window of this size and colour scheme."""
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}
        self.call("Emulation.setDeviceMetricsOverride", **size)
        feature = {"name": "prefers-color-scheme", "value": theme}
        self.call("Emulation.setEmulatedMedia", features=[feature])
        address = f"http://127.0.0.1:{self.server.server_port}/{page}"
        self.call("Page.navigate", url=address)
        self.wait(
            f"location.href.startsWith({json.dumps(address)}) && document.readyState == 'complete'"
        )

    def ask(self, expression):
        """Return the value of an expression of JavaScript."""
        found = self.call("Runtime.evaluate", expression=expression, returnByValue=True)
        assert "exceptionDetails" not in found, found
        return found["result"].get("value")

    def wait(self, expression, seconds=30):
        """Wait until an expression is true, and return it."""
        end = time.monotonic() + seconds
        while not (value := self.ask(expression)):
            assert time.monotonic() < end, f"never true: {expression}"
            time.sleep(0.05)
        return value

    def press(self, key):
        """Press a key where the focus is."""
        what = {"key": key, "code": key, "windowsVirtualKeyCode": KEYS[key]}
        text = {"text": "\r"} if key == "Enter" else {}
        self.call("Input.dispatchKeyEvent", type="keyDown", **what, **text)
        self.call("Input.dispatchKeyEvent", type="keyUp", **what)

    def type(self, text):
        """Type a text where the focus is."""
        self.call("Input.insertText", text=text)

    def close(self):
        """End the browser and the server."""
        self.session = None
        self.call("Browser.close")
        self.process.wait(timeout=30)
        self.sent.close()
        self.received.close()
        self.server.shutdown()
        self.server.server_close()
