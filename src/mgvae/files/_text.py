"""The bytes of a text file, as UTF-8."""

import codecs
import sys

from mgvae.errors import DataError, ParameterError, Setting

__all__ = ["as_utf8"]

_BLOCK = 1 << 24  # bytes checked at a time
_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_ORDERED = {
    "utf-16": (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE),
    "utf-32": (codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE),
}
_NOT_FOR_FILES = ("idna", "punycode", "raw-unicode-escape", "undefined", "unicode-escape")


def as_utf8(data: bytes, encoding: str | None, source: str) -> tuple[bytes, str, bool]:
    r"""Return the text as UTF-8, the encoding it had, and whether it began with a byte order mark.

    Parameters
    ----------
    data : bytes
        The whole file.
    encoding : str or None
        None takes UTF-8, or UTF-16 where the file begins by saying so.
    source : str
        What to call the file in messages.

    Raises
    ------
    mgvae.errors.DataError
        When the bytes are no text in that encoding.

    Examples
    --------
    >>> as_utf8("é".encode("latin-1"), "latin-1", "example")
    (b'\xc3\xa9', 'latin-1', False)
    """
    mark, found = next((m for m in _MARKS if data.startswith(m[0])), (b"", "utf-8"))
    codec = _text_codec(encoding) if encoding else found
    if codec in ("utf-8", "utf-8-sig"):
        mark = mark if found == "utf-8" else b""
        _check_utf8(data, source)
        text, encoding, marked = data[len(mark) :], "utf-8", bool(mark)
    else:
        encoding, codec = _with_order(encoding or codec, codec, data)
        try:
            decoded = data.decode(codec)
            text = decoded.removeprefix("\ufeff").encode()
        except UnicodeError as error:
            where = f" at position {error.start}" if isinstance(error, UnicodeDecodeError) else ""
            raise DataError(
                f"{source} is not {encoding} text: it breaks{where} ({_reason(error)}). Say "
                "another ",
                Setting("encoding"),
                ".",
            ) from None
        marked = decoded.startswith("\ufeff")
    if b"\0" in text:
        raise DataError(
            f"{source} holds zero bytes (the first at position {text.index(0)}), so it is not a "
            "text file, or one in UTF-16: then add ",
            Setting("encoding", "utf-16"),
            ".",
        )
    return text, encoding, marked


def _text_codec(encoding: str) -> str:
    """Return the codec's own name; raise if there is none, or if it is not one for text."""
    try:
        codec = codecs.lookup(encoding).name
        "".encode(codec)  # raises for rot13, base64, zlib: they change text or bytes, no more
    except (LookupError, ValueError):
        codec = ""
    if codec in ("", *_NOT_FOR_FILES):
        raise ParameterError(
            Setting("encoding"),
            f": there is no text encoding called {encoding!r:.60}; try utf-8, latin-1 or cp1252.",
        )
    return codec


def _with_order(encoding: str, codec: str, data: bytes) -> tuple[str, str]:
    """Say in which order the bytes of a character stand, as the mark does, or the machine."""
    for family, (little, big) in _ORDERED.items():
        if codec == family:
            known = data.startswith((little, big))
            is_big = data.startswith(big) if known else sys.byteorder == "big"
            encoding = codec = f"{family}-{'be' if is_big else 'le'}"
    return encoding, codec


def _check_utf8(data: bytes, source: str) -> None:
    decoder = codecs.getincrementaldecoder("utf-8")()
    try:
        for start in range(0, len(data), _BLOCK):
            decoder.decode(data[start : start + _BLOCK])
        decoder.decode(b"", final=True)
        return
    except UnicodeDecodeError:
        pass
    try:
        data.decode()  # once more and all at once, for the position
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise DataError(
            f"{source} is not UTF-8 text: byte 0x{data[error.start]:02x} at position {error.start} "
            f"(line {line}). Say how the file is encoded, for example ",
            Setting("encoding", "latin-1"),
            ".",
        ) from None


def _reason(error: UnicodeError) -> str:
    return error.reason if isinstance(error, UnicodeDecodeError) else str(error)
