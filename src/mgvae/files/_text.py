"""The bytes of a text file, as UTF-8."""

import codecs

from mgvae.errors import DataError, ParameterError

__all__ = ["as_utf8"]

_BLOCK = 1 << 24  # bytes checked at a time
_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)


def as_utf8(data: bytes, encoding: str | None, source: str) -> tuple[bytes, str]:
    r"""Give the text without its byte order mark, as UTF-8, and the encoding it had.

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
    (b'\xc3\xa9', 'latin-1')
    """
    mark, found = next((m for m in _MARKS if data.startswith(m[0])), (b"", "utf-8"))
    encoding = encoding or found
    try:
        codec = codecs.lookup(encoding).name
    except LookupError:
        raise ParameterError(
            f"--encoding: there is no encoding called {encoding!r}; try utf-8, latin-1 or cp1252."
        ) from None
    if codec in ("utf-8", "utf-8-sig"):
        mark = mark if found == "utf-8-sig" else b""
        _check_utf8(data, source)
        text, encoding = data[len(mark) :], "utf-8-sig" if mark else "utf-8"
    else:
        try:
            text = data.decode(codec).removeprefix("\ufeff").encode()
        except UnicodeError as error:
            where = f" at position {error.start}" if isinstance(error, UnicodeDecodeError) else ""
            raise DataError(
                f"{source} is not {encoding} text: it breaks{where} ({_reason(error)}). "
                "Try another --encoding."
            ) from None
    if b"\0" in text:
        raise DataError(
            f"{source} holds zero bytes (the first at position {text.index(0)}), so it is not a "
            "text file, or one in UTF-16: then add --encoding utf-16."
        )
    return text, encoding


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
            f"(line {line}). Say how the file is encoded, for example --encoding latin-1."
        ) from None


def _reason(error: UnicodeError) -> str:
    return error.reason if isinstance(error, UnicodeDecodeError) else str(error)
