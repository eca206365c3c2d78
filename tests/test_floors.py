"""The house: imports go down only, name no other package's insides, and stand at the top.

import-linter checks the first rule by the contract in pyproject.toml; the others are checked here.
"""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src" / "mgvae"
MODULES = sorted(SOURCE.rglob("*.py"))

# What may be imported inside a function: optional extras, which a user may not have, modules of one
# system only, and what only
# one way through a module needs and takes long to load.
EXTRAS = {
    "PIL", "jinja2", "markupsafe", "lightgbm", "lightning_fabric", "logging", "matplotlib",
    "fcntl", "msvcrt", "pandas", "polars", "rich",
}  # fmt: skip
WHERE_CODE_OF_EXTRAS_IS = {
    "mgvae.codec.containers._pandas", "mgvae.codec.containers._polars",
    "mgvae.codec.containers._arrow", "mgvae.codec.containers._frames", "mgvae.codec.containers",
    "pyarrow",  # for tables of Arrow only: numbers go without
}  # fmt: skip


def imports(module: Path) -> Iterator[tuple[ast.stmt, str, list[str], bool]]:
    """Iterate over the imports of a module: what, which names, and whether inside a function."""
    tree = ast.parse(module.read_text(encoding="utf-8"))
    functions = [n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef)]
    inside = {id(n) for function in functions for n in ast.walk(function)}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node, node.module, [alias.name for alias in node.names], id(node) in inside
        elif isinstance(node, ast.Import):
            for alias in node.names:
                yield node, alias.name, [], id(node) in inside


def package(module: Path) -> str:
    """Return the floor that a module stands on."""
    first = module.relative_to(SOURCE).parts[0]
    return first.removesuffix(".py")


@pytest.mark.parametrize("module", MODULES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_no_private_name_of_another_package_is_imported(module: Path) -> None:
    for node, name, names, _ in imports(module):
        parts = name.split(".")
        if parts[0] != "mgvae" or parts[1:2] == [package(module)]:
            continue
        private = [part for part in [*parts[1:], *names] if part.startswith("_")]
        private = [part for part in private if part != "__version__"]
        assert not private, f"line {node.lineno}: {name} imports {private}"


@pytest.mark.parametrize("module", MODULES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_imports_stand_at_the_top(module: Path) -> None:
    if package(module) == "cli":
        return  # a command imports what it needs when it runs, so that the command line starts fast
    for node, name, _, inside in imports(module):
        if inside and name.split(".")[0] not in EXTRAS and name not in WHERE_CODE_OF_EXTRAS_IS:
            pytest.fail(f"line {node.lineno} imports {name} inside a function")
