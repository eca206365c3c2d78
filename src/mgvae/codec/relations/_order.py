"""Columns that are never larger than another: the least and the largest of a day, begin and end."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mgvae.codec._kinds import Numeric
from mgvae.codec._scales import Quantile
from mgvae.codec.relations._block import Block, Tokens

__all__ = ["Order", "in_a_circle", "repair_orders"]


@dataclass(frozen=True)
class Order:
    """One column is at most as large as another, wherever both are present.

    Parameters
    ----------
    lower, upper : int
        The columns.
    strict : bool
        Whether they are never equal.
    """

    lower: int
    upper: int
    strict: bool = False
    declared: bool = False

    @property
    def columns(self) -> tuple[int, ...]:
        """The columns."""
        return (self.lower, self.upper)

    def broken(self, block: Block) -> NDArray[np.bool_]:
        """Return in which rows the order is another."""
        lower, upper = block.tokens(self.lower), block.tokens(self.upper)
        return lower >= upper if self.strict else lower > upper  # no NaN is

    def text(self, names: Sequence[str]) -> str:
        """Return the relation as people read it."""
        return f"{names[self.lower]} {'<' if self.strict else '<='} {names[self.upper]}"


def repair_orders(block: Block, orders: Sequence[Order], fixed: Collection[int]) -> None:
    """Put rows in order.

    Where two columns are in the wrong order, the upper one is reflected at the lower: it comes as
    far above as it was below. Columns that other relations decide stay, and the other one of a
    pair is reflected. Numbers stay inside their ranges; what reflection cannot do, equality does.

    Parameters
    ----------
    block : Block
        The rows.
    orders : sequence of Order
        Pairs of columns; there is no circle among them.
    fixed : collection of int
        Columns that stay.
    """
    upwards = _sorted(orders)
    for order in upwards:
        if order.upper not in fixed:
            rows = np.flatnonzero(order.broken(block))
            bound, value = (block.tokens(j)[rows] for j in (order.lower, order.upper))
            _settle(block, order.upper, rows, bound, 2 * bound - value, order.strict, up=True)
    for order in reversed(upwards):
        if order.lower not in fixed:
            rows = np.flatnonzero(order.broken(block))
            bound, value = (block.tokens(j)[rows] for j in (order.upper, order.lower))
            wanted = 2 * bound - value if order.upper in fixed else bound
            _settle(block, order.lower, rows, bound, wanted, order.strict, up=False)


def in_a_circle(orders: Sequence[Order]) -> bool:
    """Return whether orders come back to where they began.

    Examples
    --------
    >>> in_a_circle([Order(0, 1), Order(1, 2)]), in_a_circle([Order(0, 1), Order(1, 0)])
    (False, True)
    """
    left = list(orders)
    while left:
        uppers = {order.upper for order in left}
        rest = [order for order in left if order.lower in uppers]
        if len(rest) == len(left):
            return True
        left = rest
    return False


def _sorted(orders: Iterable[Order]) -> list[Order]:
    """Sort pairs so that a column is an upper one before it is a lower one."""
    left, done = list(orders), []
    while left:
        uppers = {order.upper for order in left}
        done += [order for order in left if order.lower not in uppers] or left
        left = [order for order in left if order not in done]
    return done


def _settle(
    block: Block,
    j: int,
    rows: NDArray[np.intp],
    bound: Tokens,
    wanted: Tokens,
    strict: bool,
    *,
    up: bool,
) -> None:
    """Write numbers beyond a bound, as near to the wanted ones as the column's cells allow."""
    if not rows.size:
        return
    kind = block.columns[j].kind
    if not isinstance(kind, Numeric):
        raise TypeError(f"column {j} holds no numbers")
    sign = 1.0 if up else -1.0
    if isinstance(kind.scale, Quantile) and kind.scale.snap:
        values = np.sort(sign * (kind.scale.values + block.offset(j)))
        first = np.searchsorted(values, sign * bound, "right" if strict else "left")
        place = np.maximum(np.searchsorted(values, sign * wanted), first)
        block.put(j, rows, sign * values[np.minimum(place, len(values) - 1)])
        return
    block.put(j, rows, wanted)
    step = block.step(j, bound)
    for nearest in (bound, bound + sign * step, bound + 2 * sign * step):
        now = sign * block.tokens(j)[rows]
        wrong = (now <= sign * bound) if strict else (now < sign * bound)
        if not wrong.any():
            return
        block.put(j, rows[wrong], nearest[wrong])
