"""A cell: one number of a table, as everything that decides it.

Two cells with the same content are the same cell, whatever table asks for them. Its key is a hash
of that content, so a result is found again by what it is the result of.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

__all__ = ["Cell", "distinct"]


@dataclass(frozen=True)
class Cell:
    """One piece of work.

    .. versionadded:: 0.1

    Parameters
    ----------
    dataset : str
        The data.
    method : str
        What is done about the imbalance, as people call it.
    protocol : str
        How the data are split and the result is judged.
    budget : str
        ``"full"``, or the name of a declared shortening.
    seed : int
        Decides every random choice.
    parameters : mapping
        All other settings, as JSON can hold them.

    See Also
    --------
    mgvae.experiments.run_cells : Work out cells.
    mgvae.experiments.Store : Keep their results.

    Examples
    --------
    >>> Cell("musk", "ERM", "paper").key
    '83f6621f77d147c4'
    >>> Cell("musk", "ERM", "paper", seed=1).key == Cell("musk", "ERM", "paper").key
    False
    """

    dataset: str
    method: str
    protocol: str
    budget: str = "full"
    seed: int = 0
    parameters: Mapping[str, Any] = field(default_factory=dict)

    @property
    def key(self) -> str:
        """The hash of the content; the order of parameters does not matter."""
        text = json.dumps(self.as_dict(), sort_keys=True, separators=(",", ":"), allow_nan=False)
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    def as_dict(self) -> dict[str, Any]:
        """Return the content as plain data."""
        return asdict(self)

    def __str__(self) -> str:
        """Return what people call the cell."""
        budget = "" if self.budget == "full" else f", {self.budget}"
        return f"{self.dataset} {self.method} ({self.protocol}{budget}, seed {self.seed})"


def distinct(cells: Iterable[Cell]) -> list[Cell]:
    """Drop cells that are there already, keeping the order.

    Examples
    --------
    >>> len(distinct([Cell("musk", "ERM", "paper"), Cell("musk", "ERM", "paper")]))
    1
    """
    return list({cell.key: cell for cell in cells}.values())
