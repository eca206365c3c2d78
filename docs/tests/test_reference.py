"""The API reference: every public name is there, and says all that a reader needs."""

import inspect
import re
from importlib import import_module
from pathlib import Path

import pytest
from numpydoc.docscrape import get_doc_object
from numpydoc.validate import validate

PAGE = Path(__file__).resolve().parent.parent / "reference" / "api.md"
WHOLE = (
    "mgvae",
    "mgvae.augment",
    "mgvae.datasets",
    "mgvae.errors",
    "mgvae.losses",
    "mgvae.metrics",
)
# https://numpydoc.readthedocs.io/en/latest/validation.html
NOT_ASKED = {
    "GL01",  # a summary begins on the first line
    "ES01",  # what needs no second paragraph has none
    "RT02",  # results have names
    "RT03",  # a noun may begin in any case
    "SS06",  # a summary is one line anyway, by ruff
}
# What a function returns is shown where it is returned, and errors are read rather than made.
SHOWN_ELSEWHERE = {
    "mgvae.augment.Mixed",
    "mgvae.compare.Comparison",
    "mgvae.compare.Difference",
    "mgvae.compare.Recommendation",
    "mgvae.report.Advice",
    "mgvae.report.Answer",
    "mgvae.report.ClassQuality",
    "mgvae.report.ColumnQuality",
    "mgvae.report.Figure",
    "mgvae.report.KeptRelation",
    "mgvae.report.QualityReport",
    "mgvae.training.History",
}


def names_on_the_page():
    names, module = [], ""
    for line in PAGE.read_text(encoding="utf-8").splitlines():
        if line.startswith(".. currentmodule:: "):
            module = line.split()[-1]
        elif found := re.fullmatch(r"   ([A-Za-z_][\w.]*)", line):
            names.append(f"{module}.{found[1]}")
    return names


NAMES = names_on_the_page()


def found(name):
    module, _, attribute = name.rpartition(".")
    return getattr(import_module(module), attribute)


def is_error(name):
    return inspect.isclass(found(name)) and issubclass(found(name), Exception)


def test_every_public_name_is_on_the_page():
    public = {
        f"{module}.{name}"
        for module in WHOLE
        for name in import_module(module).__all__
        if name != "__version__"
    }
    assert public <= set(NAMES)
    assert len(NAMES) == len(set(NAMES))


@pytest.mark.parametrize("name", NAMES)
def test_a_name_is_documented(name):
    not_asked = NOT_ASKED | ({"EX01"} if is_error(name) or name in SHOWN_ELSEWHERE else set())
    if name == "mgvae.training.History":  # made by training, so it has attributes alone
        not_asked |= {"PR01"}
    errors = [error for error in validate(name)["errors"] if error[0] not in not_asked]
    assert not errors


@pytest.mark.parametrize("name", NAMES)
def test_a_name_says_since_when_it_is_there(name):
    assert re.search(r"\.\. versionadded:: \d+\.\d+", inspect.getdoc(found(name)))


@pytest.mark.parametrize("name", NAMES)
def test_what_is_named_beside_it_exists(name):
    for entries, _ in get_doc_object(found(name))["See Also"]:
        for other, _role in entries:
            module, _, attribute = other.rpartition(".")
            try:
                owner = import_module(module or "mgvae.errors")
            except ModuleNotFoundError:  # a method
                owner = found(module)
            assert hasattr(owner, attribute), other
