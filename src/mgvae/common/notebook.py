"""What results look like in a notebook: a small table, a data frame, a picture."""

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from mgvae.errors import MGVAEError

__all__ = ["MissingPackageError", "axes", "data_frame", "html_table"]


class MissingPackageError(MGVAEError, ImportError):
    """An optional package is needed and not there."""


def html_table(title: str, columns: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """Return a table as HTML; every text is escaped.

    Examples
    --------
    >>> html_table("<a>", ["b"], [[1]])
    '<p><strong>&lt;a&gt;</strong></p><table><thead><tr><th>b</th></tr></thead><tbody><tr><td>1</td></tr></tbody></table>'
    """
    head = "".join(f"<th>{escape(name)}</th>" for name in columns)
    body = "".join(
        f"<tr>{''.join(f'<td>{escape(str(cell))}</td>' for cell in row)}</tr>" for row in rows
    )
    return (
        f"<p><strong>{escape(title)}</strong></p><table><thead><tr>{head}</tr></thead>"
        f"<tbody>{body}</tbody></table>"
    )


def data_frame(columns: Mapping[str, Sequence[object]]) -> Any:
    """Return a pandas DataFrame; requires pandas (``mgvae[pandas]``)."""
    try:
        import pandas as pd
    except ImportError as error:
        raise MissingPackageError(
            "to_frame() needs pandas: install it with pip install 'mgvae[pandas]'."
        ) from error
    return pd.DataFrame(dict(columns))


def axes(ax: Any, n: int = 1) -> Any:
    """Return axes of matplotlib to draw on: the given ones, or those of a new figure.

    Parameters
    ----------
    ax : matplotlib Axes or None
        The axes, if there are any.
    n : int
        How many are needed, side by side.

    Returns
    -------
    axes : list of matplotlib Axes
        As many as are needed; requires matplotlib (``mgvae[report]``).
    """
    if ax is not None:
        given = list(ax) if isinstance(ax, Sequence) or hasattr(ax, "__len__") else [ax]
        return given * n if len(given) < n else given
    try:
        from matplotlib import pyplot
    except ImportError as error:
        raise MissingPackageError(
            "plot() needs matplotlib: install it with pip install 'mgvae[report]'."
        ) from error
    _, made = pyplot.subplots(1, n, figsize=(5 * n, 4), squeeze=False, layout="constrained")
    return list(made[0])
