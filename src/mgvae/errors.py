"""What can go wrong, as types.

Every error of the library inherits from :class:`MGVAEError` and from the built-in exception that a
caller would expect, so that ``except ValueError`` keeps working. A message names the parameter or
column, the rule, the value that broke it, and the remedy.
"""

__all__ = [
    "CheckpointError",
    "CheckpointWarning",
    "CodecWarning",
    "CollapseError",
    "CollapseWarning",
    "DataError",
    "DivergenceError",
    "MGVAEError",
    "MGVAEWarning",
    "ModelFileError",
    "ParameterError",
    "ProcessError",
    "ResourceError",
]


class MGVAEError(Exception):
    """Base of every error that the library raises on purpose."""


class ParameterError(MGVAEError, ValueError):
    """A parameter has a value that it must not have."""


class DataError(MGVAEError, ValueError):
    """The data given cannot be used as they are."""


class ModelFileError(MGVAEError, ValueError):
    """A file is not a model file, is damaged, or holds what a model file must not hold."""


class CheckpointError(MGVAEError, ValueError):
    """A checkpoint belongs to other data or settings, or is damaged."""


class ResourceError(MGVAEError, MemoryError):
    """There is not enough memory, or room on a disk, for the work."""


class ProcessError(MGVAEError, RuntimeError):
    """Of several processes that trained one model together, one is gone."""


class DivergenceError(MGVAEError, RuntimeError):
    """A loss became infinite, not a number, or far larger than it began."""


class CollapseError(MGVAEError, RuntimeError):
    """A trained generator gives (nearly) the same sample whatever its noise."""


class MGVAEWarning(UserWarning):
    """Base of every warning of the library."""


class CheckpointWarning(MGVAEWarning):
    """The state of training could not be kept."""


class CodecWarning(MGVAEWarning):
    """A column needs a treatment that its owner should know of."""


class CollapseWarning(MGVAEWarning):
    """A trained generator gives (nearly) the same sample whatever its noise."""
