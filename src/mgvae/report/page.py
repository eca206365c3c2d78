"""The HTML pages: one file each, with nothing to fetch."""

from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

from mgvae.common.notebook import MissingPackageError
from mgvae.report import _svg
from mgvae.report._figures import plain_number

if TYPE_CHECKING:
    from jinja2 import Environment

__all__ = ["MissingPackageError", "check_packages", "render"]


def check_packages() -> None:
    """Raise if the page cannot be made because a package is not there."""
    _environment()


def render(template: str, values: Mapping[str, Any]) -> str:
    """Fill in a template of this package; every value is escaped."""
    return _environment().get_template(template).render(**values)


@cache
def _environment() -> "Environment":
    try:
        from jinja2 import Environment, PackageLoader, StrictUndefined
        from markupsafe import Markup
    except ImportError as error:
        raise MissingPackageError(
            "the HTML page needs jinja2: install it with pip install 'mgvae[report]'. "
            "The same figures are in the JSON."
        ) from error
    environment = Environment(
        loader=PackageLoader("mgvae.report", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    for draw in (_svg.histogram, _svg.curve, _svg.forest, _svg.bands):
        environment.globals[draw.__name__] = _safe(draw, Markup)
    environment.globals["spots"] = _svg.spots
    environment.filters["capitalize_first"] = lambda text: text[:1].upper() + text[1:]
    environment.filters["percent"] = lambda share: f"{share:.0%}"
    environment.filters["figure"] = _figure
    environment.filters["number"] = plain_number
    environment.globals["words"] = {
        "good": "good", "caution": "caution", "bad": "bad", "unknown": "not measured"
    }  # fmt: skip
    environment.globals["signs"] = {"good": "✓", "caution": "!", "bad": "✕", "unknown": "–"}
    return environment


def _safe(draw: Any, markup: Any) -> Any:
    return lambda *given: markup(draw(*given))  # drawings are made of numbers and class names


def _figure(value: float | None) -> str:
    return "–" if value is None else f"{value:.3g}" if abs(value) >= 10 else f"{value:.2f}"
