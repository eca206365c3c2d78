"""Small drawings as SVG, coloured by the page's style sheet; they hold numbers only, no text."""

from collections.abc import Sequence
from typing import Any

__all__ = ["bands", "curve", "forest", "histogram", "spots"]

_WIDTH, _HEIGHT = 240, 80


def histogram(series: dict[str, Sequence[float]]) -> str:
    """Draw overlaid distributions as steps; the first is filled.

    Parameters
    ----------
    series : dict of str to sequence of float
        The shares by CSS class.

    Examples
    --------
    >>> histogram({"real": [0.5, 0.5]}).count("<path")
    1
    """
    top = max((max(shares, default=0.0) for shares in series.values()), default=0.0) or 1.0
    paths = []
    for i, (name, shares) in enumerate(series.items()):
        width = _WIDTH / max(1, len(shares))
        points = [f"M0 {_HEIGHT}"]
        for j, share in enumerate(shares):
            points.append(f"V{_short(_HEIGHT - share / top * (_HEIGHT - 4))}")
            points.append(f"H{_short((j + 1) * width)}")
        points.append(f"V{_HEIGHT}")
        fill = " area" if i == 0 else ""
        paths.append(f'<path class="line {name}{fill}" d="{"".join(points)}"/>')
    return _svg(_WIDTH, _HEIGHT, "".join(paths))


def curve(xs: Sequence[float], ys: Sequence[float], mark: float | None = None) -> str:
    """Draw a line, and a dashed upright one at ``mark``.

    Examples
    --------
    >>> curve([0, 1], [1.0, 0.0], mark=1).count("<path")
    2
    """
    low, high, last = min(ys), max(ys), max(max(xs), 1)
    span = (high - low) or 1.0
    points = [
        f"{_short(x / last * _WIDTH)} {_short(4 + (high - y) / span * (_HEIGHT - 8))}"
        for x, y in zip(xs, ys, strict=True)
    ]
    drawn = f'<path class="line synthetic" d="M{"L".join(points)}"/>'
    if mark is not None:
        at = _short(min(mark, last) / last * _WIDTH)
        drawn += f'<path class="line mark" d="M{at} 0V{_HEIGHT}"/>'
    return _svg(_WIDTH, _HEIGHT, drawn)


def forest(middle: float, low: float, high: float, reach: float) -> str:
    """Draw a difference with its interval on an axis from -reach to reach.

    Examples
    --------
    >>> forest(0.1, 0.0, 0.2, 0.5).count("<path")
    3
    """
    half = _WIDTH / 2

    def place(value: float) -> str:
        return _short(half + max(-1.0, min(1.0, value / (reach or 1.0))) * (half - 6))

    return _svg(
        _WIDTH, 16,
        f'<path class="line mark" d="M{_short(half)} 0V16"/>'
        f'<path class="line synthetic" d="M{place(low)} 8H{place(high)}"/>'
        f'<path class="pointer" d="M{place(middle)} 8h0"/>',
    )  # fmt: skip


def bands(
    series: Sequence[tuple[str, Any]],
    x: tuple[float, float],
    y: tuple[float, float],
    diagonal: bool = False,
) -> str:
    """Draw curves with their bands on a square of 200 units.

    Parameters
    ----------
    series : sequence of (str, object)
        A CSS class, and a curve with ``xs``, ``ys``, ``low`` and ``high``.
    x, y : (float, float)
        What the axes reach from and to.
    diagonal : bool
        Whether to draw a dashed line from corner to corner.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> line = SimpleNamespace(xs=[0, 1], ys=[0, 1], low=[0, 0.9], high=[0.1, 1])
    >>> bands([("c0", line)], (0, 1), (0, 1)).count("<path")
    2
    """

    def place(px: float, py: float) -> str:
        across = (px - x[0]) / (x[1] - x[0]) * 200
        up = 200 - (py - y[0]) / (y[1] - y[0]) * 200
        return f"{_short(max(0.0, min(200.0, across)))} {_short(max(0.0, min(200.0, up)))}"

    drawn = ['<path class="line mark" d="M0 200L200 0"/>'] if diagonal else []
    for name, line in series:
        if not line.xs:
            continue
        upper = [place(*point) for point in zip(line.xs, line.high, strict=True)]
        lower = [place(*point) for point in zip(line.xs, line.low, strict=True)][::-1]
        middle = [place(*point) for point in zip(line.xs, line.ys, strict=True)]
        drawn.append(f'<path class="band {name}" d="M{"L".join(upper + lower)}Z"/>')
        drawn.append(f'<path class="line {name}" d="M{"L".join(middle)}"/>')
    return "".join(drawn)


def spots(points: Sequence[tuple[float, float]], width: int, height: int) -> str:
    """Return the path of dots at places from 0 to 1; its line ends are what is seen.

    Examples
    --------
    >>> spots([(0.5, 1.0)], 100, 50)
    'M50 0h0'
    """
    return "".join(f"M{_short(x * width)} {_short((1 - y) * height)}h0" for x, y in points)


def _svg(width: int, height: int, drawn: str) -> str:
    return (
        f'<svg viewBox="0 0 {width} {height}" preserveAspectRatio="none" aria-hidden="true">'
        f"{drawn}</svg>"
    )


def _short(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")
