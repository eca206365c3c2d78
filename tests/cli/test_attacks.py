"""Attacks on the command line, each by the way that a user takes.

An input that cannot be used ends with exit code 2 and one line that says what, where, and what to
do about it; before any training, and without waiting for what never comes.
"""

import errno
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
import uuid
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest
from PIL import Image

from mgvae import MGVAE, balance_dataset, files
from mgvae.cli._run import run
from mgvae.common import atomic, disk
from mgvae.errors import DataError

N = 60
Y = ["no" if i % 6 else "yes" for i in range(N)]
X = np.random.default_rng(0).normal(size=N)
FAST = ["--pretrain-steps", "3", "--finetune-steps", "3", "--seed", "0", "-q"]
KEYS = [uuid.UUID(int=2**100 + 7 * i).bytes for i in range(N)]
FIXED = pa.array(KEYS, pa.binary(16))

pytestmark = pytest.mark.filterwarnings("ignore::mgvae.errors.MGVAEWarning")


@pytest.fixture(autouse=True)
def in_a_folder_of_its_own(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def refused(capfd, monkeypatch):
    """Run a command that must be refused before training; return what it says."""

    def call(*arguments):
        monkeypatch.setattr("mgvae.training.train", lambda *_, **__: 1 / 0)
        before = sorted(os.listdir())
        code = run([str(a) for a in arguments])
        said = capfd.readouterr().err
        assert code == 2, said
        assert said.count("\n") == 1
        assert "should not happen" not in said
        assert sorted(os.listdir()) == before
        return said

    return call


def write_csv(name="a.csv", *more):
    lines = [f"{a:.3f},{i * 1.5},{y}" for i, (a, y) in enumerate(zip(X, Y, strict=True))]
    Path(name).write_text("\n".join(["a,b,y", *lines, *more]) + "\n", encoding="utf-8")
    return name


def write_parquet(name="a.parquet", **columns):
    pq.write_table(pa.table({**columns, "x": X, "y": Y}), name)
    return name


class TestIdentifiersOfOneLength:
    @pytest.mark.parametrize(
        "cells",
        [FIXED, pa.ExtensionArray.from_storage(pa.uuid(), FIXED), FIXED.cast(pa.binary())],
        ids=["fixed", "uuid", "binary"],
    )
    def test_new_rows_get_new_ones(self, cells):
        source, out, model = write_parquet(k=cells), "o.parquet", "m.safetensors"
        command = ["balance", source, "-t", "y", "-o", out, "--save-model", model, *FAST]
        assert run(command) == 0
        made = pq.read_table(out)
        assert made.schema.field("k").type == cells.type
        assert len(set(made["k"].to_pylist())) == made.num_rows == 100
        assert run(["sample", model, "-n", "9", "-o", "s.parquet"]) == 0
        assert pq.read_table("s.parquet").schema.field("k").type == cells.type

    def test_in_python(self):
        table = pa.table({"k": FIXED, "x": X})
        made, _ = MGVAE(pretrain_steps=2, finetune_steps=2, random_state=0).fit_resample(table, Y)
        assert made.schema == table.schema
        first = int.from_bytes(max(KEYS), "big") + 1
        assert [int.from_bytes(k, "big") for k in made["k"].to_pylist()[N:]] == [
            *range(first, first + 40)
        ]

    def test_no_number_left(self, refused):
        full = pa.array([*KEYS[:-1], b"\xff" * 16], pa.binary(16))
        assert "'k'" in refused("balance", write_parquet(k=full), "-t", "y", "-o", "o.parquet")
        long = pa.array([k * 5 for k in KEYS], pa.binary(80))
        assert "'k'" in refused("balance", write_parquet(k=long), "-t", "y", "-o", "o.parquet")


class TestNumbers:
    def test_one_beyond_all_doubles(self, refused):
        said = refused("balance", write_csv("a.csv", "1e400,3.5,no"), "-t", "y", "--dry-run")
        for word in ("'a'", "'1e400'", "row 60", "--missing 1e400", "--type a=categorical"):
            assert word in said
        assert run(["balance", "a.csv", "-t", "y", "--dry-run", "--missing", "1e400"]) == 0

    @pytest.mark.parametrize("infinite", ["Infinity", "-Infinity"])
    def test_json_infinity(self, infinite, refused):
        lines = [f'{{"a": {infinite if i == 7 else i}, "y": "{y}"}}' for i, y in enumerate(Y)]
        Path("a.jsonl").write_text("\n".join(lines), encoding="utf-8")
        said = refused("balance", "a.jsonl", "-t", "y", "--dry-run")
        assert "line 8: column 'a' holds Infinity" in said

    def test_json_nan_is_missing(self, capfd):
        lines = [f'{{"a": {"NaN" if i == 7 else i}, "y": "{y}"}}' for i, y in enumerate(Y)]
        Path("a.jsonl").write_text("\n".join(lines), encoding="utf-8")
        assert run(["balance", "a.jsonl", "-t", "y", "--dry-run", "--json"]) == 0
        assert json.loads(capfd.readouterr().out)["columns"][0]["missing"] == 1

    def test_integers_of_128_bits(self):
        def balanced(*numbers):
            frame = pl.DataFrame({"a": pl.Series(numbers * 20, dtype=pl.Int128), "x": X})
            sampler = MGVAE(pretrain_steps=2, finetune_steps=2, random_state=0)
            return sampler.fit_resample(frame, Y)[0]

        assert balanced(1, 2, -3).schema["a"] == pl.Int128
        with pytest.raises(DataError, match=r"'a' holds integers from 1 to \d+.*64 bits"):
            balanced(1, 2, 2**100)


class TestWhatNeverComes:
    """Pipes, sockets and devices where files should be."""

    def test_among_images(self, capfd):
        for name, n in (("cat", 3), ("dog", 9)):
            Path("photos", name).mkdir(parents=True)
            for i in range(n):
                Image.new("L", (8, 8), i).save(Path("photos", name, f"{i}.png"))
        os.mkfifo("photos/cat/x.png")
        started = time.perf_counter()
        assert run(["balance", "photos", "--size", "8", "--dry-run", "--json"]) == 0
        assert time.perf_counter() - started < 20
        skipped = json.loads(capfd.readouterr().out)["skipped"]
        assert skipped == [{"file": "cat/x.png", "reason": "not a regular file"}]

    @pytest.mark.parametrize("name", ["a.csv", "a.parquet", "a.jsonl"])
    def test_a_pipe_that_nobody_writes_to(self, name, refused, monkeypatch):
        monkeypatch.setattr("mgvae.files._formats._PATIENCE", 0.2)
        os.mkfifo(name)
        assert "nobody writes to" in refused("balance", name, "-t", "y", "--dry-run")

    def test_a_pipe_that_somebody_writes_to(self):
        os.mkfifo("pipe.csv")
        text = Path(write_csv()).read_bytes()

        def write():
            time.sleep(0.3)
            with open("pipe.csv", "wb") as pipe:
                pipe.write(text[:100])
                pipe.flush()
                time.sleep(0.3)
                pipe.write(text[100:])

        writer = threading.Thread(target=write)
        writer.start()
        assert run(["balance", "pipe.csv", "-t", "y", "--dry-run", "-q"]) == 0
        writer.join()

    def test_sockets_and_devices(self, refused):
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind("s.csv")
            assert "socket" in refused("balance", "s.csv", "-t", "y", "--dry-run")
        if os.path.exists("/dev/zero"):
            arguments = ["balance", "/dev/zero", "-t", "y", "--dry-run", "--input-format", "csv"]
            assert "device" in refused(*arguments)

    def test_a_pipe_for_a_data_set_or_a_checkpoint(self, refused):
        os.mkfifo("a.parquet")
        with pytest.raises(DataError, match="pipe"):
            files.open_source("a.parquet")
        Path("run").mkdir()
        os.mkfifo("run/checkpoint.json")
        said = refused("balance", write_csv(), "-t", "y", "-o", "o.csv", "--checkpoint", "run")
        assert "not a regular file" in said


OUTPUTS = {"--output": [], "--save-model": ["-o", "o.csv"], "--report": ["-o", "o.csv"]}


class TestWhereNothingCanBeWritten:
    """Pipes, devices, sockets and folders in the place of outputs."""

    @pytest.fixture(autouse=True)
    def special(self):
        write_csv()
        os.mkfifo("pipe.csv")
        Path("folder.csv").mkdir()
        Path("link.csv").symlink_to("pipe.csv")
        os.symlink("/dev/zero", "device.csv")

    @pytest.mark.parametrize("option", OUTPUTS)
    @pytest.mark.parametrize("name", ["pipe.csv", "link.csv", "device.csv", "folder.csv"])
    def test_balance(self, option, name, refused):
        said = refused("balance", "a.csv", "-t", "y", *OUTPUTS[option], option, name, "--force")
        what = "folder" if name == "folder.csv" else "pipe, a socket or a device"
        assert f"{option}: {name} is a {what}; give the name of a file" in said
        assert ("- for standard output" in said) == (what != "folder" and option != "--save-model")

    def test_a_model_to_standard_output(self, refused):
        said = refused("balance", "a.csv", "-t", "y", "-o", "o.csv", "--save-model", "-")
        assert "--save-model: - is standard output; give the name of a file" in said

    def test_other_commands(self, refused):
        for command in (
            ["sample", "m.safetensors", "-n", "3", "-o"],
            ["report", "a.csv", "a.csv", "-t", "y", "-o"],
            ["compare", "a.csv", "-t", "y", "--report"],
            ["balance", "folder.csv", "-o", "o", "--save-model"],
        ):
            assert "is a pipe, a socket or a device" in refused(*command, "pipe.csv")
        Path("folder.csv", "b").mkdir()
        assert "say a new folder" in refused("balance", "folder.csv", "-o", "pipe.csv")

    def test_in_python(self):
        table = pa.table({"x": X, "y": Y})
        with pytest.raises(OSError, match="is a pipe, a socket or a device"):
            balance_dataset(table, "y", "pipe.csv", MGVAE(pretrain_steps=10**9))
        fitted = MGVAE(pretrain_steps=1, finetune_steps=1).fit(X[:, None], Y)
        with pytest.raises(OSError, match="is a pipe, a socket or a device"):
            fitted.save("pipe.csv")

    @pytest.mark.parametrize("name", ["-", "/dev/stdout", "/dev/fd/1"])
    def test_standard_output_is_possible(self, name, capfd):
        assert run(["balance", "a.csv", "-t", "y", "-o", name, *FAST[:-1]]) == 0
        said = capfd.readouterr()
        assert said.out.startswith(Path("a.csv").read_text())
        assert said.out.count("\n") == 101
        assert said.err

    def test_one_thing_to_standard_output(self, refused):
        command = ["balance", "a.csv", "-t", "y", "-o", "/dev/stdout"]
        said = "would both write to standard output"
        assert f"--json and --output - {said}" in refused(*command, "--json")
        assert f"--output - and --report - {said}" in refused(*command, "--report", "-")

    def test_what_swallows_everything(self):
        command = ["balance", "a.csv", "-t", "y", "-o", os.devnull, "--output-format", "csv"]
        assert run([*command, "--save-model", os.devnull, *FAST]) == 0


class TestText:
    def test_half_a_character(self, refused):
        lines = [json.dumps({"t": "\ud800" if i == 7 else "q", "y": y}) for i, y in enumerate(Y)]
        Path("a.jsonl").write_text("\n".join(lines), encoding="utf-8")
        assert "line 8: column 't'" in refused("balance", "a.jsonl", "-t", "y", "--dry-run")
        Path("b.jsonl").write_text('{"\\ud800": 1, "y": "no"}\n', encoding="utf-8")
        assert "line 1" in refused("balance", "b.jsonl", "-t", "y", "--dry-run")

    def test_whole_characters_may_be_escaped(self):
        lines = [json.dumps({"t": "😀" if i % 2 else "ä", "y": y}) for i, y in enumerate(Y)]
        Path("a.jsonl").write_text("\n".join(lines), encoding="utf-8")
        assert run(["balance", "a.jsonl", "-t", "y", "--dry-run", "-q"]) == 0

    def test_a_key_twice(self, refused):
        Path("a.jsonl").write_text('{"a": 1, "y": "p"}\n{"a": 1, "a": 2, "y": "q"}\n', "utf-8")
        assert "line 2: the key 'a'" in refused("balance", "a.jsonl", "-t", "y", "--dry-run")

    @pytest.mark.parametrize("name", ["rot13", "base64", "zlib", "hex", "idna", "undefined", "é"])
    def test_what_is_no_encoding_of_text(self, name, refused):
        command = ["balance", write_csv(), "-t", "y", "--dry-run", "--encoding", name]
        assert "--encoding: there is no text encoding called" in refused(*command)

    @pytest.mark.parametrize(
        ("strategy", "said"),
        [
            ("9" * 5000, "--strategy must be"),
            ("9" * 300, "a ratio"),
            ("[" * 100_000, "--strategy must be"),
            ('{"yes": ' * 50_000, "--strategy must be"),
            (f'{{"yes": {"9" * 400}}}', "no number of rows"),
            ('{"yes": -1}', "no number of rows"),
            ('{"yes": 11, "yes": 12}', "twice"),
            ("NaN", "a ratio"),
            ("1e999", "a ratio"),
            ("true", "--strategy must be"),
        ],
        ids=str,
    )
    def test_strategies(self, strategy, said, refused):
        found = refused("balance", write_csv(), "-t", "y", "--dry-run", "--strategy", strategy)
        assert said in found
        assert len(found) < 300

    @pytest.mark.parametrize("size", [-1, 3], ids=["binary", "fixed"])
    def test_a_target_of_bytes(self, size, refused):
        y = pa.array([y[:2].encode() + b"_" for y in Y], pa.binary(size))
        pq.write_table(pa.table({"x": X, "y": y}), "a.parquet")
        said = refused("balance", "a.parquet", "-t", "y", "-o", "o.parquet")
        assert "--target: column 'y' holds" in said

    @pytest.mark.parametrize("out", ["o.csv", "o.tsv", "o.jsonl"])
    def test_bytes_to_text(self, out, refused):
        cells = pa.array([bytes([200 + i % 3]) for i in range(N)])
        said = refused("balance", write_parquet(k=cells), "-t", "y", "-o", out)
        assert "Column 'k' holds bytes that are not text" in said
        assert run(["balance", "a.parquet", "-t", "y", "--dry-run", "-q"]) == 0  # not written

    @pytest.mark.parametrize("out", ["o.csv", "o.jsonl"])
    def test_bytes_that_are_text(self, out):
        source = write_parquet(k=pa.array(["äbc"[i % 3].encode() for i in range(N)]))
        assert run(["balance", source, "-t", "y", "-o", out, *FAST]) == 0
        assert set(files.read(out).table["k"].to_pylist()) == {"ä", "b", "c"}

    @pytest.mark.parametrize(
        "cells",
        [
            pa.array([i * 10**15 for i in range(N)], pa.timestamp("s")),
            pa.array([-i * 10**7 for i in range(N)], pa.date32()),
        ],
        ids=["times", "days"],
    )
    def test_dates_beyond_the_calendar(self, cells, refused):
        pyarrow.feather.write_feather(pa.table({"k": cells, "x": X, "y": Y}), "a.feather")
        for out in ("o.csv", "o.jsonl"):
            said = refused("balance", "a.feather", "-t", "y", "-o", out)
            assert "Column 'k' holds a date beyond the calendar" in said

    def test_dates_beyond_the_calendar_are_kept_elsewhere(self):
        cells = pa.array([i * 10**15 for i in range(N)], pa.timestamp("s"))
        pyarrow.feather.write_feather(pa.table({"k": cells, "x": X, "y": Y}), "a.feather")
        assert run(["balance", "a.feather", "-t", "y", "-o", "o.feather", *FAST]) == 0
        assert files.read("o.feather").table["k"].slice(0, N).cast(pa.int64()).to_pylist() == [
            i * 10**15 for i in range(N)
        ]


ENDS = {"\n": "Unix", "\r\n": "Windows", "\r": "old Macs"}


class TestFidelity:
    """The rows of the input come out character by character."""

    @pytest.mark.parametrize("end", ENDS, ids=ENDS.values())
    @pytest.mark.parametrize(
        "encoding", ["utf-8", "utf-8-sig", "utf-16-le", "utf-16-be", "utf-32-be", "latin-1"]
    )
    def test_line_ends_and_encodings(self, end, encoding):
        lines = ["a , 'é',  c d ,y", *(f"{i},{'ä' if i % 3 else 'x'},{i % 4},{y}"
                                        for i, y in enumerate(Y))]  # fmt: skip
        text = end.join([*lines, ""])
        mark = "\ufeff" if encoding.startswith("utf-16") else ""
        Path("a.csv").write_bytes((mark + text).encode(encoding))
        say = ["--encoding", encoding] if encoding[:6] in ("latin-", "utf-32") else []
        assert run(["balance", "a.csv", "-t", "y", "-o", "o.csv", *say, *FAST]) == 0
        old, new = Path("a.csv").read_bytes(), Path("o.csv").read_bytes()
        assert new.startswith(old)
        assert new.decode(encoding).count(end) == 101

    def test_what_is_not_kept(self):
        """Blank lines, line ends that differ from the first, and a last line without an end."""
        rows = [f"{i},{y}" for i, y in enumerate(Y)]
        Path("a.csv").write_bytes(("\r\n\r\na,y\r\n" + "\n\n".join(rows)).encode())
        assert run(["balance", "a.csv", "-t", "y", "-o", "o.csv", *FAST]) == 0
        plain = "".join(f"{line}\r\n" for line in ["a,y", *rows])
        assert Path("o.csv").read_bytes().startswith(plain.encode())

    def test_names_are_known_without_their_spaces(self):
        Path("a.csv").write_text(" a ,y\n" + "".join(f"{i},{y}\n" for i, y in enumerate(Y)))
        assert run(["balance", "a.csv", "-t", "y", "--dry-run", "-q", "--type", "a=integer"]) == 0


class TestSwappedStages:
    def test_each_for_each_other(self, capfd):
        command = ["balance", write_csv(), "-t", "y", "-o", "o.csv", "-f", "--checkpoint", "run"]
        assert run([*command, *FAST]) == 0
        whole = {path: path.read_bytes() for path in Path("run").glob("*.safetensors")}
        assert len(whole) == 3
        for path in whole:
            for other, content in whole.items():
                if other != path:
                    path.write_bytes(content)
                    assert run([*command, *FAST]) == 2
                    said = capfd.readouterr().err
                    assert f"it belongs to another stage, '{other.stem}'" in said
            path.write_bytes(whole[path])


class TestFullDisk:
    @pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
    def test_standard_output_is_named(self, monkeypatch, capfd):
        with open("/dev/full", "w") as full:
            monkeypatch.setattr(sys, "stdout", full)
            assert run(["balance", write_csv(), "-t", "y", "-o", "-", *FAST]) == 1
        assert capfd.readouterr().err.startswith("mgvae: error: standard output: No space left")

    def test_a_disk_of_64_kilobytes(self, tmp_path, capfd):
        folder = tmp_path / "small"
        folder.mkdir()
        mount = ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(folder)]
        if not hasattr(os, "geteuid") or os.geteuid() != 0 or subprocess.run(
            mount, check=False, capture_output=True
        ).returncode:  # fmt: skip
            pytest.skip("only root may mount a small disk")
        try:
            for name in ("o.csv", "o.csv.gz", "o.parquet", "o.feather", "o.jsonl"):
                rows = ["--strategy", '{"yes": 20000}']
                command = ["balance", write_csv(), "-t", "y", "-o", f"small/{name}", *FAST, *rows]
                assert run(command) == 1
                said = capfd.readouterr().err
                assert f"small/{name}: No space left on device" in said or "room" in said
                assert os.listdir(folder) == []
        finally:
            subprocess.run(["umount", str(folder)], check=True)


def start(*arguments, **environment):
    """Start the command line in a process of its own."""
    return subprocess.Popen(
        [sys.executable, "-m", "mgvae.cli", *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONUNBUFFERED": "1", **environment},
    )


def wide_table():
    """Write a table whose encoded rows, more than 64 MiB, are kept in a file while it trains."""
    rng = np.random.default_rng(0)
    n = 60_000
    columns = {f"c{i}": rng.integers(0, 30_000, n).astype(np.float32) for i in range(300)}
    pq.write_table(pa.table({**columns, "y": np.arange(n) % 10 == 0}), "wide.parquet")
    return "wide.parquet"


@pytest.mark.skipif(sys.platform == "win32", reason="signals are others there")
class TestLeftovers:
    def training(self, tmp_path):
        """Start a run and wait until it has encoded the table and trains."""
        temporary = tmp_path / "temporary"
        temporary.mkdir(exist_ok=True)
        options = ["--pretrain-steps", "100000000", "-t", "y", "-o", "o.parquet", "--force"]
        process = start("balance", wide_table(), *options, TMPDIR=str(temporary))
        for _ in range(1200):
            if any(path.stat().st_size > 2**26 for path in temporary.glob("mgvae-*/*")):
                return process, temporary
            assert process.poll() is None, process.stderr.read()
            time.sleep(0.05)
        raise AssertionError("it does not train")

    def test_sigterm_leaves_nothing(self, tmp_path):
        process, temporary = self.training(tmp_path)
        process.send_signal(signal.SIGTERM)
        _, said = process.communicate(timeout=30)
        assert process.returncode == 128 + signal.SIGTERM
        assert said.endswith("mgvae: ended by SIGTERM\n")
        assert os.listdir(temporary) == []
        assert sorted(os.listdir()) == ["temporary", "wide.parquet"]

    def test_the_next_run_removes_what_sigkill_left(self, tmp_path, monkeypatch):
        process, temporary = self.training(tmp_path)
        monkeypatch.setattr("tempfile.tempdir", str(temporary))
        with disk.working_folder() as mine:
            assert len(os.listdir(temporary)) == 2  # that of the living is not touched
        process.kill()
        process.communicate(timeout=30)
        assert len(os.listdir(temporary)) == 1
        assert not mine.exists()
        with disk.working_folder() as mine:
            assert os.listdir(temporary) == [mine.name]
        assert os.listdir(temporary) == []

    def test_sigterm_ends_even_what_does_not_listen(self):
        code = (
            "import time\n"
            "from mgvae.cli import _interrupt\n"
            "from mgvae.common.atomic import atomic_folder, atomic_write\n"
            "from mgvae.common.disk import working_folder\n"
            "_interrupt.watch()\n"
            "with working_folder('.') as f, atomic_write('a') as g, atomic_folder('b'):\n"
            "    (f / 'x').write_bytes(b'x')\n"
            "    while True:\n"
            "        try:\n"
            "            print('ready', flush=True)\n"
            "            time.sleep(60)\n"
            "        except BaseException:\n"
            "            pass\n"
        )
        process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
        assert process.stdout.readline() == "ready\n"
        assert len(os.listdir()) == 3
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=30) == 143
        assert os.listdir() == []

    def test_what_is_written_beside_a_killed_output(self):
        code = (
            "import time\n"
            "from mgvae.common.atomic import atomic_folder, atomic_write\n"
            "with atomic_write('a') as g, atomic_folder('b'):\n"
            "    print('ready', flush=True)\n"
            "    time.sleep(60)\n"
        )
        process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
        assert process.stdout.readline() == "ready\n"
        time.sleep(1.1)
        for name in ("a", "b"):
            atomic.check_writable(name)
        assert len(os.listdir()) == 2  # it lives
        process.kill()
        process.wait(timeout=30)
        atomic.check_writable("other")
        assert len(os.listdir()) == 2
        atomic.check_writable("a")
        atomic.check_writable("b")
        assert os.listdir() == []

    def test_folders_of_others_stay(self):
        for name in ("mgvae-abcdefgh", "mgvae-abcdefgi"):
            Path(name).mkdir()
        Path("mgvae-abcdefgi", ".mgvae-lock").write_bytes(b"another machine")
        Path("mgvae-results").mkdir()
        with disk.working_folder("."):
            pass
        assert sorted(os.listdir()) == ["mgvae-abcdefgh", "mgvae-abcdefgi", "mgvae-results"]


class TestWithoutUnix:
    """As on Windows, which has no fcntl and no files that do not block."""

    def test_files_and_folders(self, monkeypatch):
        monkeypatch.setattr(atomic, "fcntl", None)
        monkeypatch.delattr(os, "O_NONBLOCK")
        monkeypatch.delattr(os, "geteuid", raising=False)
        with disk.working_folder(".") as one, disk.working_folder(".") as two:
            assert one.is_dir()
            assert two.is_dir()
        with atomic.atomic_write("a") as file:
            file.write(b"whole")
        with atomic.atomic_folder("b") as folder:
            (folder / "x").touch()
        atomic.check_writable("a")
        assert sorted(os.listdir()) == ["a", "b"]

    def test_the_command_line(self, monkeypatch):
        monkeypatch.setattr(atomic, "fcntl", None)
        for name in ("O_NONBLOCK", "geteuid", "preadv", "set_blocking", "mkfifo"):
            monkeypatch.delattr(os, name, raising=False)
        assert run(["balance", write_csv(), "-t", "y", "-o", "o.csv", *FAST]) == 0

    def test_signals(self):
        code = (
            "import os, signal\n"
            "del os.set_blocking\n"
            "signal.set_wakeup_fd = lambda *_, **__: None  # it needs what was taken away, here\n"
            "from mgvae.cli import _interrupt\n"
            "_interrupt.watch()\n"
            "print(signal.getsignal(signal.SIGTERM).__name__)\n"
        )
        done = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True
        )
        assert done.stdout == "_terminate\n"


def test_errors_of_the_system_that_name_a_file_already():
    def missing():
        with atomic.atomic_write("no/such/file"):
            pass

    with pytest.raises(FileNotFoundError) as info:
        missing()
    assert info.value.errno == errno.ENOENT
