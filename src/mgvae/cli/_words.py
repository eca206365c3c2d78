"""Messages of the library in the words of the command line.

The library names parameters, the command line has options. What an error or a warning says is made
of parts (see :mod:`mgvae.errors`), and the parts that are parameters are spelled here as options.
"""

import re
import shlex
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from mgvae.errors import MGVAEError, ParameterError, Setting

__all__ = ["called", "spell", "translate"]

_OPTIONS = {
    "checkpoint": "--checkpoint",
    "checkpoint_seconds": "--checkpoint-seconds",
    "column_types": "--type",
    "constraints": "--keep",
    "delimiter": "--delimiter",
    "device": "--device",
    "drop": "--drop",
    "encoding": "--encoding",
    "finetune_steps": "--finetune-steps",
    "folds": "--folds",
    "format": "--input-format",
    "generation": "--generation",
    "header": "--no-header",
    "held_out": "--held-out",
    "identifiers": "--identifiers",
    "label": "--label",
    "methods": "--method",
    "missing": "--missing",
    "mixed": "--type",
    "models": "--model",
    "n_jobs": "--jobs",
    "network": "--network",
    "output": "--output",
    "output_format": "--output-format",
    "preset": "--preset",
    "pretrain_steps": "--pretrain-steps",
    "random_state": "--seed",
    "rejection": "--rejection",
    "repeats": "--repeats",
    "sampling_strategy": "--strategy",
    "share": "--share",
    "size": "--size",
    "temperature": "--temperature",
    "without_rows": "--model-without-rows",
}
_BEGINS = re.compile(r"(\w+)(?= must | cannot |=|: )")


def translate(said: BaseException) -> str:
    """Return what an error or a warning says, with options in the place of parameters.

    Examples
    --------
    >>> from mgvae.errors import DataError
    >>> translate(DataError("Say ", Setting("column_types", {"zip code": "categorical"}), "."))
    "Say --type 'zip code=categorical'."
    >>> from mgvae.errors import ParameterError
    >>> translate(ParameterError("pretrain_steps must be positive."))
    '--pretrain-steps must be positive.'
    """
    text = "".join(spell(part) if isinstance(part, Setting) else str(part) for part in said.args)
    if isinstance(said, ParameterError) and (begins := _BEGINS.match(text)):
        text = _OPTIONS.get(begins[1], begins[1]) + text[begins.end() :]
    return text


@contextmanager
def called(**names: str) -> Iterator[None]:
    """Let errors of a block name other parameters, where an option has a name of its own.

    Examples
    --------
    >>> from mgvae.errors import ParameterError
    >>> try:
    ...     with called(format="output_format"):
    ...         raise ParameterError(Setting("format"), " must be csv.")
    ... except ParameterError as error:
    ...     print(translate(error))
    --output-format must be csv.
    """
    try:
        yield
    except MGVAEError as error:
        error.args = tuple(_renamed(part, names) for part in error.args)
        raise


def _renamed(part: object, names: Mapping[str, str]) -> object:
    if not isinstance(part, Setting) or part.name not in names:
        return part
    name = names[part.name]
    return Setting(name, part.value) if part.has_value else Setting(name)


def spell(setting: Setting) -> str:
    """Return a parameter as an option, if there is one."""
    option = _OPTIONS.get(setting.name)
    if option is None:
        return str(setting)
    if not setting.has_value or isinstance(setting.value, bool):
        return option
    value = setting.value
    if isinstance(value, Mapping):
        values = [f"{column}={kind}" for column, kind in value.items()]
    elif isinstance(value, list | tuple):
        kind = "=categorical" if setting.name == "mixed" else ""  # the kinds that are text
        values = [f"{item}{kind}" for item in value]
    else:
        values = [str(value)]
    return " ".join(f"{option} {_quoted(text)}" for text in values)


def _quoted(text: str) -> str:
    """Quote a value for a shell; a readable one, that is most of the time none."""
    return shlex.quote(text).replace("'\"'\"'", "'\\''")
