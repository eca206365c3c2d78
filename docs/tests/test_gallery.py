"""The gallery: every example ran, and ends with a figure."""

from pathlib import Path

import pytest

EXAMPLES = sorted(
    path.stem
    for path in (Path(__file__).resolve().parent.parent.parent / "examples/gallery").glob("*.py")
)


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_shows_a_figure(name, site):
    page = (site / "gallery" / f"{name}.html").read_text(encoding="utf-8")
    assert list((site / "_images").glob(f"sphx_glr_{name}_0*.png"))
    assert f"sphx_glr_{name}_0" in page[page.rindex("highlight-Python") :]
    assert "Warning:" not in page
