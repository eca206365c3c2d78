"""What can go wrong, as types.

Every error of the library inherits from :class:`MGVAEError` and from the built-in exception that a
caller would expect, so that ``except ValueError`` keeps working. A message names the parameter or
column, the rule, the value that broke it, and the remedy.

Parameters are named as Python knows them. The command line, which has options instead, translates:
a message that names a parameter is given as several parts, of which the parameters are
:class:`Setting` objects, and :mod:`mgvae.cli` spells these parts as options.
"""

from dataclasses import dataclass
from typing import Any

__all__ = [
    "CheckpointError",
    "CheckpointWarning",
    "CodecWarning",
    "CollapseError",
    "CollapseWarning",
    "DataError",
    "DisclosureWarning",
    "DivergenceError",
    "MGVAEError",
    "MGVAEWarning",
    "ModelFileError",
    "ParameterError",
    "ProcessError",
    "ResourceError",
    "Setting",
]

_UNSET = object()


@dataclass(frozen=True)
class Setting:
    """A parameter, and perhaps a value for it, as a part of a message.

    .. versionadded:: 0.1

    Parameters
    ----------
    name : str
        The parameter, as Python knows it.
    value : object, optional
        A value that is suggested for it.

    See Also
    --------
    MGVAEError : The base of all errors.

    Examples
    --------
    >>> from mgvae.errors import DataError, Setting
    >>> str(DataError("a.csv is not UTF-8. Try ", Setting("encoding", "latin-1"), "."))
    "a.csv is not UTF-8. Try encoding='latin-1'."
    """

    name: str
    value: Any = _UNSET

    @property
    def has_value(self) -> bool:
        """Whether a value is suggested."""
        return self.value is not _UNSET

    def __str__(self) -> str:
        return f"{self.name}={self.value!r}" if self.has_value else self.name

    def __reduce__(self) -> Any:
        return Setting, (self.name, self.value) if self.has_value else (self.name,)


class _Spoken:
    """Messages in parts."""

    args: tuple[Any, ...]

    def __str__(self) -> str:
        return "".join(str(part) for part in self.args)


class MGVAEError(_Spoken, Exception):
    """Base of every error that the library raises on purpose.

    .. versionadded:: 0.1

    See Also
    --------
    MGVAEWarning : The base of all warnings.
    """


class ParameterError(MGVAEError, ValueError):
    """A parameter has a value that it must not have.

    .. versionadded:: 0.1

    See Also
    --------
    DataError : The data, not a parameter, are at fault.
    """


class DataError(MGVAEError, ValueError):
    """The data given cannot be used as they are.

    .. versionadded:: 0.1

    See Also
    --------
    ParameterError : A parameter, not the data, is at fault.
    """


class ModelFileError(MGVAEError, ValueError):
    """A file is not a model file, is damaged, or holds what a model file must not hold.

    .. versionadded:: 0.1

    See Also
    --------
    mgvae.MGVAE.load : What raises it.
    """


class CheckpointError(MGVAEError, ValueError):
    """A checkpoint belongs to other data or settings, or is damaged.

    .. versionadded:: 0.1

    See Also
    --------
    CheckpointWarning : A state could not be kept; training goes on.
    """


class ResourceError(MGVAEError, MemoryError):
    """There is not enough memory, or room on a disk, for the work.

    .. versionadded:: 0.1

    See Also
    --------
    ProcessError : A process of several is gone.
    """


class ProcessError(MGVAEError, RuntimeError):
    """Of several processes that trained one model together, one is gone.

    .. versionadded:: 0.1

    See Also
    --------
    ResourceError : Memory or disk ran out.
    """


class DivergenceError(MGVAEError, RuntimeError):
    """A loss became infinite, not a number, or far larger than it began.

    .. versionadded:: 0.1

    See Also
    --------
    CollapseError : Training ended, but every sample is alike.
    """


class CollapseError(MGVAEError, RuntimeError):
    """A trained generator gives (nearly) the same sample whatever its noise.

    .. versionadded:: 0.1

    See Also
    --------
    CollapseWarning : The same, when training shall go on.
    """


class MGVAEWarning(_Spoken, UserWarning):
    """Base of every warning of the library.

    .. versionadded:: 0.1

    See Also
    --------
    MGVAEError : The base of all errors.
    """


class CheckpointWarning(MGVAEWarning):
    """The state of training could not be kept.

    .. versionadded:: 0.1

    See Also
    --------
    CheckpointError : A folder that cannot be continued.
    """


class CodecWarning(MGVAEWarning):
    """A column needs a treatment that its owner should know of.

    .. versionadded:: 0.1

    See Also
    --------
    DataError : A column that cannot be used at all.
    """


class CollapseWarning(MGVAEWarning):
    """A trained generator gives (nearly) the same sample whatever its noise.

    .. versionadded:: 0.1

    See Also
    --------
    CollapseError : The same as an error.
    """


class DisclosureWarning(MGVAEWarning):
    """Rows of the data can be worked out from a file that is written.

    .. versionadded:: 0.1

    See Also
    --------
    mgvae.MGVAE.save : Its parameter ``without_rows``.
    """
