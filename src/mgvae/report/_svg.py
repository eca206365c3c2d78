"""Small drawings as SVG, coloured by the page's style sheet; they hold numbers only, no text."""

from collections.abc import Sequence

__all__ = ["curve", "forest", "histogram", "spots"]

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
    >>> forest(0.1, 0.0, 0.2, 0.5).count("<circle")
    1
    """
    half = _WIDTH / 2

    def place(value: float) -> str:
        return _short(half + max(-1.0, min(1.0, value / (reach or 1.0))) * (half - 6))

    return _svg(
        _WIDTH, 16,
        f'<path class="line mark" d="M{_short(half)} 0V16"/>'
        f'<path class="line synthetic" d="M{place(low)} 8H{place(high)}"/>'
        f'<circle class="dot" cx="{place(middle)}" cy="8" r="4"/>',
    )  # fmt: skip


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
