r"""Cells of text <-> typed columns, without losing a character.

A text file does not say what its columns are. A column is given a type only when every cell that
is not missing can be read as that type without changing what it stands for: ``00123`` and
``12345678901234567890`` are codes and stay text, ``12.50`` is a number. How the numbers, dates or
flags of a column were spelled is kept, so that new cells look like the old ones; and where the
spelling cannot be repeated exactly (``1e5`` beside ``100000.0``), the old cells themselves are.

All decisions are taken on the distinct cells of a column.
"""

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

import pyarrow as pa
import pyarrow.compute as pc

from mgvae.errors import DataError, Setting
from mgvae.files._spelling import FLAGS, Spelling

__all__ = [
    "MISSING",
    "TextColumn",
    "check_text",
    "is_binary",
    "read_cells",
    "read_dates",
    "spell",
]

MISSING = ("", "NA", "N/A", "n/a", "#N/A", "NaN", "nan", "NULL", "null", "<NA>")
"""Cells that stand for a missing value in any text file."""

_FEW = 20  # so many different numbers beside text may be the names of categories

_INTEGER = r"^-?(?:0|[1-9]\d*)$"
_FLOAT = r"^[+-]?(?:(?:0|[1-9]\d*)(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?$|^[+-]?(?i:inf|infinity)$"
_CODE = r"^[+-]?\d+$"  # digits that are no number: 00123, +4420, or too many of them
_LONG = r"^[+-]?\d{16,}$"  # a double keeps 15 digits of any whole number
_STAMP = (
    r"^\d{4}-\d\d-\d\d(?P<between>[ T])\d\d:\d\d(?P<seconds>:\d\d(?P<fraction>\.\d{1,9})?)?"
    r"(?P<zone>Z|[+-]\d\d:\d\d)?$"
)
_UNIT = (
    r"^(?P<sign>-?)(?P<before>(?:[$€£¥₹]\s?)?)(?P<number>[+-]?[\d.,]*\d[\d.,]*(?:[eE][+-]?\d+)?)"
    r"(?P<after>(?:\s?[%‰$€£¥₹])?)$"
)
_THOUSANDS = r"^[+-]?\d{1,3}(?:,\d{3})*(?:\.\d*)?$"
_GROUP = r"^([+-]?\d+)(\d{3})((?:,\d{3})*(?:\.\d*)?)$"  # the last three digits without a comma
_GROUPS = 6  # commas that a whole number of 64 bits can have
_DAY = r"^(?:\d{4}[/.]\d{1,2}[/.]\d{1,2}|\d{1,2}[/.]\d{1,2}[/.]\d{4})$"
_DAY_FORMATS = ("%Y/%m/%d", "%Y.%m.%d", "%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y")


@dataclass(frozen=True, slots=True)
class TextColumn:
    """A column that was read from text.

    Parameters
    ----------
    values : pyarrow.ChunkedArray
        The typed values; missing cells are null.
    spelling : Spelling
        How they were written.
    cells : pyarrow.ChunkedArray or None
        The cells as they stood in the file; None when ``spell`` gives exactly these.
    """

    values: pa.ChunkedArray
    spelling: Spelling
    cells: pa.ChunkedArray | None


def read_cells(
    name: str,
    cells: pa.ChunkedArray,
    *,
    missing: Collection[str] = MISSING,
    comma: bool = False,
    mixed: bool = False,
) -> TextColumn:
    """Find the type of a column of text and read it.

    Parameters
    ----------
    name : str
        The column, for messages.
    cells : pyarrow.ChunkedArray of strings
        The cells, none of them null.
    missing : collection of str
        Cells that stand for a missing value, whatever white space is around them.
    comma : bool
        Whether ``1,5`` may be a number.
    mixed : bool
        Whether numbers and text may stand in one column, which is text then.

    Raises
    ------
    mgvae.errors.DataError
        When most of many different cells are numbers and others are not, or are too large.

    Examples
    --------
    >>> import pyarrow as pa
    >>> column = read_cells("price", pa.chunked_array([["12.50", "?", "3.00"]]), missing=["?"])
    >>> column.values.to_pylist()
    [12.5, None, 3.0]
    >>> spell(pa.array([7.256, None]), column.spelling).to_pylist()
    ['7.26', '?']
    """
    distinct = pc.unique(cells)
    trimmed = pc.utf8_trim_whitespace(distinct)
    present = pc.invert(pc.is_in(trimmed, value_set=pa.array(list(missing), pa.string())))
    words = trimmed.filter(present)
    texts = distinct.filter(present)
    markers = pc.unique(trimmed.filter(pc.invert(present))).to_pylist()
    prefix = _common_space(texts)

    numbers = [_integer, _float, *([_comma_float] if comma else [])]
    amounts = numbers if comma else [*numbers, _grouped]
    readings = [*numbers, _flag, *_DATES, lambda words: _with_unit(words, amounts)]
    found = _first(readings, words)
    if found is None:
        if not mixed:
            _refuse_mixture(name, words, cells)
        found = pc.utf8_slice_codeunits(texts, len(prefix)), Spelling()
    values = pc.replace_with_mask(pa.nulls(len(distinct), found[0].type), present, found[0])
    spelling = replace(found[1], prefix=prefix, missing=markers[0] if len(markers) == 1 else None)
    return _column(values, spelling, distinct, cells)


def read_dates(cells: pa.ChunkedArray) -> TextColumn | None:
    """Read a column of text as dates or times, if that is what all of it is.

    Examples
    --------
    >>> import pyarrow as pa
    >>> read_dates(pa.chunked_array([["2024-01-31", None]])).values.type
    DataType(date32[day])
    >>> read_dates(pa.chunked_array([["2024-01-31", "soon"]])) is None
    True
    """
    distinct = pc.unique(cells.drop_null())
    found = _first(_DATES, distinct) if len(distinct) else None
    return None if found is None else _column(*found, distinct, cells)


def _column(
    values: pa.Array, spelling: Spelling, distinct: pa.Array, cells: pa.ChunkedArray
) -> TextColumn:
    """Put the values of the distinct cells where these cells are."""
    repeatable = pc.all(pc.equal(spell(values, spelling), distinct)).as_py()
    chunks = [values.take(pc.index_in(chunk, value_set=distinct)) for chunk in cells.chunks]
    column = pa.chunked_array(chunks, values.type)
    return TextColumn(column, spelling, None if repeatable else cells)


def spell(values: pa.Array | pa.ChunkedArray, spelling: Spelling) -> pa.Array | pa.ChunkedArray:
    """Write typed values as text.

    Parameters
    ----------
    values : pyarrow.Array or pyarrow.ChunkedArray
        Values of any type but nested ones.
    spelling : Spelling
        How to write them.

    Examples
    --------
    >>> import pyarrow as pa
    >>> spell(pa.array([True, None]), Spelling(flags=("no", "yes"), missing="-")).to_pylist()
    ['yes', '-']
    """
    if pa.types.is_dictionary(values.type):
        values = values.cast(values.type.value_type)
    if pa.types.is_floating(values.type):
        values = pc.if_else(pc.is_nan(values), pa.scalar(None, values.type), values)
    text = pc.fill_null(_spell_present(values, spelling), spelling.missing or "")
    return pc.binary_join_element_wise(spelling.prefix, text, "") if spelling.prefix else text


def is_binary(kind: pa.DataType) -> bool:
    """Return whether cells are bytes, of any length or of one."""
    return bool(
        pa.types.is_binary(kind)
        or pa.types.is_large_binary(kind)
        or pa.types.is_fixed_size_binary(kind)
        or pa.types.is_binary_view(kind)
    )


def check_text(name: str, cells: pa.Array | pa.ChunkedArray, form: str) -> None:
    r"""Raise if cells cannot be written as text: bytes that are none, dates beyond all calendars.

    Parameters
    ----------
    name : str
        The column, for messages.
    cells : pyarrow.Array or pyarrow.ChunkedArray
        Some of its cells.
    form : str
        The format of the file that they are meant for, for messages.

    Examples
    --------
    >>> check_text("key", pa.array([b"text"]), "csv")
    >>> check_text("key", pa.array([b"\xff"]), "csv")
    Traceback (most recent call last):
    ...
    mgvae.errors.DataError: Column 'key' holds bytes that are not text (b'\xff'), which csv ...
    """
    kind = cells.type.value_type if pa.types.is_dictionary(cells.type) else cells.type
    remedy = "Write parquet, feather or arrow, or leave the column out."
    if isinstance(kind, pa.BaseExtensionType):
        raise DataError(f"Column {name!r} holds {kind}, which {form} cannot hold. {remedy}")
    if is_binary(kind):
        for cell in pc.unique(cells).to_pylist():
            try:
                (cell or b"").decode()
            except UnicodeDecodeError:
                raise DataError(
                    f"Column {name!r} holds bytes that are not text ({cell!r:.40}), which {form} "
                    f"cannot hold. {remedy}"
                ) from None
    elif pa.types.is_date(kind) or pa.types.is_timestamp(kind):
        ends = pc.min_max(cells.cast(kind))
        for end in (ends["min"], ends["max"]):
            if end.is_valid and pa.array([end]).cast(pa.string())[0].as_py().startswith("<"):
                raise DataError(
                    f"Column {name!r} holds a date beyond the calendar ({end.value} as a number of "
                    f"{kind}), which {form} cannot hold. {remedy} If such a date stands for a "
                    "missing one, make it so first."
                )


def _spell_present(
    values: pa.Array | pa.ChunkedArray, spelling: Spelling
) -> pa.Array | pa.ChunkedArray:
    text = _spell_bare(values, spelling)
    for _ in range(_GROUPS if spelling.grouped else 0):
        text = pc.replace_substring_regex(text, _GROUP, r"\1,\2\3")
    before, after = spelling.unit
    if before:
        text = pc.replace_substring_regex(text, r"^(-?)", r"\1" + before)
    return pc.binary_join_element_wise(text, after, "") if after else text


def _spell_bare(
    values: pa.Array | pa.ChunkedArray, spelling: Spelling
) -> pa.Array | pa.ChunkedArray:
    kind = values.type
    if spelling.flags is not None and pa.types.is_boolean(kind):
        return pc.if_else(values, spelling.flags[1], spelling.flags[0])
    if spelling.date is not None and pa.types.is_temporal(kind):
        return pc.strftime(values, format=spelling.date)
    if pa.types.is_fixed_size_binary(kind):
        values = values.cast(pa.binary())
    if not pa.types.is_floating(kind):
        return values.cast(pa.string())
    text = values.cast(pa.string())
    if spelling.decimals is not None:
        with suppress(pa.ArrowInvalid):  # infinite, or more digits than a decimal holds
            text = values.cast(pa.decimal128(38, spelling.decimals)).cast(pa.string())
    elif spelling.point:
        text = pc.replace_substring_regex(text, r"^(-?\d+)$", r"\1.0")
    return text if spelling.mark == "." else pc.replace_substring(text, ".", spelling.mark)


_Reading = tuple[pa.Array, Spelling]


def _first(
    readings: Sequence[Callable[[pa.Array], _Reading | None]], words: pa.Array
) -> _Reading | None:
    """Read the words by the first reading that takes them all."""
    if len(words) == 0:
        return pa.array([], pa.string()), Spelling()
    for reading in readings:
        try:
            found = reading(words)
        except pa.ArrowInvalid:  # out of the type's range
            continue
        if found is not None:
            return found
    return None


def _all(words: pa.Array, pattern: str) -> bool:
    return bool(pc.all(pc.match_substring_regex(words, pattern)).as_py())


def _any(words: pa.Array, pattern: str) -> bool:
    return bool(pc.any(pc.match_substring_regex(words, pattern)).as_py())


def _integer(words: pa.Array) -> _Reading | None:
    if not _all(words, _INTEGER):
        return None
    try:
        return words.cast(pa.int64()), Spelling()
    except pa.ArrowInvalid:
        return words.cast(pa.uint64()), Spelling()


def _float(words: pa.Array) -> _Reading | None:
    if not _all(words, _FLOAT) or _any(words, _LONG) or _all(words, _CODE):
        return None
    values = words.cast(pa.float64())
    if _any(words.filter(pc.is_inf(values)), r"\d"):  # 1e999
        return None
    if _any(words, r"[eEfF]"):
        return values, Spelling()
    after = pc.replace_substring_regex(words, r"^[+-]?\d*\.?", "")
    decimals = pc.unique(pc.utf8_length(after)).to_pylist()
    same = len(decimals) == 1 and 0 < decimals[0] <= 15  # more are noise in a double
    return values, Spelling(decimals=decimals[0] if same else None, point=_all(words, r"\."))


def _comma_float(words: pa.Array) -> _Reading | None:
    # 1,234 alone may be one thousand two hundred and thirty-four
    if not _all(words, r"^[+-]?\d+(?:,\d+)?$") or not _any(words, r",(?:\d{1,2}|\d{4,})$"):
        return None
    found = _float(pc.replace_substring(words, ",", "."))
    return None if found is None else (found[0], replace(found[1], mark=","))


def _grouped(words: pa.Array) -> _Reading | None:
    """Read numbers with a comma before every three digits, beside a unit and where no other is."""
    if not _all(words, _THOUSANDS) or not _any(words, ","):
        return None
    found = _first([_integer, _float], pc.replace_substring(words, ",", ""))
    return None if found is None else (found[0], replace(found[1], grouped=True))


def _with_unit(
    words: pa.Array, numbers: Sequence[Callable[[pa.Array], _Reading | None]]
) -> _Reading | None:
    """Read numbers with the sign of a currency or of percent, the same at every one."""
    parts = pc.extract_regex(words, _UNIT)
    if parts.null_count:
        return None
    unit = [pc.unique(parts.field(end)).to_pylist() for end in ("before", "after")]
    if any(len(found) > 1 for found in unit) or unit == [[""], [""]]:
        return None
    bare = pc.binary_join_element_wise(parts.field("sign"), parts.field("number"), "")
    found = _first(numbers, bare)
    if found is None:
        return None
    return found[0], replace(found[1], unit=(unit[0][0], unit[1][0]))


def _flag(words: pa.Array) -> _Reading | None:
    for flags in FLAGS:
        if pc.all(pc.is_in(words, value_set=pa.array(flags))).as_py():
            return pc.equal(words, flags[1]), Spelling(flags=flags)
    return None


def _iso_day(words: pa.Array) -> _Reading | None:
    return (words.cast(pa.date32()), Spelling()) if _all(words, r"^\d{4}-\d\d-\d\d$") else None


def _stamp(words: pa.Array) -> _Reading | None:
    parts = pc.extract_regex(words, _STAMP)
    if parts.null_count:
        return None
    between, seconds, fraction, zone = (
        set(pc.unique(part).to_pylist()) for part in parts.flatten()
    )
    if len(between) > 1 or ("" in zone and len(zone) > 1):
        return None
    digits = max(len(f) for f in fraction) - 1
    unit = "s" if digits < 1 else "ms" if digits <= 3 else "us" if digits <= 6 else "ns"
    values = words.cast(pa.timestamp(unit, None if zone == {""} else "UTC"))
    suffix = "" if zone == {""} else "Z" if zone == {"Z"} else "+00:00"
    clock = "%H:%M" if seconds == {""} else "%H:%M:%S"
    return values, Spelling(date=f"%Y-%m-%d{between.pop()}{clock}{suffix}")


def _day(words: pa.Array) -> _Reading | None:
    if not _all(words, _DAY):
        return None
    found = list(_days(words))
    return found[0] if len(found) == 1 else None  # 01/02/2024 alone may be either


def _days(words: pa.Array) -> Iterator[_Reading]:
    for form in _DAY_FORMATS:
        parsed = pc.strptime(words, format=form, unit="s", error_is_null=True)
        back = pc.strftime(parsed, format=form)
        zeros = r"\b0(\d)\b"  # 1/2/2024 is 01/02/2024, but 31/02/2024 is no day at all
        back, own = (pc.replace_substring_regex(t, zeros, r"\1") for t in (back, words))
        if parsed.null_count == 0 and back.equals(own):
            yield parsed.cast(pa.date32()), Spelling(date=form)


_DATES = (_iso_day, _stamp, _day)


def _common_space(cells: pa.Array) -> str:
    """Return the white space that every cell begins with."""
    if len(cells) == 0 or not _all(cells, r"^\s"):
        return ""
    spaces = pc.unique(pc.extract_regex(cells, r"^(?P<space>\s*)").field("space")).to_pylist()
    shortest: str = min(spaces, key=len)
    return shortest if all(space.startswith(shortest) for space in spaces) else ""


def _refuse_mixture(name: str, words: pa.Array, cells: pa.ChunkedArray) -> None:
    """Raise if the column is one of numbers but for some cells of text, or beyond all doubles."""
    number = pc.match_substring_regex(words, _FLOAT)
    n_numbers = pc.sum(number).as_py() or 0
    if n_numbers <= _FEW or 2 * n_numbers <= len(words):
        return
    what = "text such as"
    odd = words.filter(pc.invert(pc.match_substring_regex(words, f"{_FLOAT}|{_CODE}")))
    if len(odd) == 0:
        written = words.filter(pc.and_(number, pc.match_substring_regex(words, r"\d")))
        odd = written.filter(pc.is_inf(written.cast(pa.float64())))
        what = "one that is too large for any number of this machine,"
    if len(odd) == 0:
        return
    example = odd[0].as_py()
    shown = repr(example if len(example) <= 40 else example[:39] + "…")
    row = pc.index(pc.utf8_trim_whitespace(cells), example).as_py()
    raise DataError(
        f"Column {name!r} holds {n_numbers} different numbers and also {what} {shown}, first in "
        f"row {row} (the first row is 0). If it stands for a missing value, add ",
        Setting("missing", [example]),
        "; if the column is text, add ",
        Setting("mixed", [name]),
        ".",
    )
