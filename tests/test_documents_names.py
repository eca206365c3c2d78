"""Pages name parameters and options that exist."""

import ast
import inspect
import re
from pathlib import Path

import pytest
import typer

import mgvae
from mgvae import augment, compare, losses, metrics, report
from mgvae.cli import _app
from mgvae_paper import cli as paper_cli

ROOT = Path(__file__).parent.parent
PAGES = sorted(
    path.relative_to(ROOT).as_posix()
    for path in [
        *ROOT.glob("*.md"),
        *(ROOT / "docs").rglob("*.md"),
        *(ROOT / "paper").rglob("*.md"),
        ROOT / "docs" / "llms.txt",
    ]
    if "gallery" not in path.parts
)
PUBLIC = {
    name: getattr(module, name)
    for module in (augment, compare, losses, metrics, report, mgvae)
    for name in module.__all__
}
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```", re.DOTALL | re.MULTILINE)
INLINE = re.compile(r"`([^`\n]+)`")
BARE = re.compile(r"([a-z_]+)=[^=\s]")
COMMAND = re.compile(r"(mgvae(?:-paper)?) ([a-z]+)\b(.*)")
OPTION = re.compile(r"(?<![\w-])--[a-z][a-z-]*")


def pieces(text):
    """Return the Python of a page and its console lines, from blocks and from inline code."""
    blocks = BLOCK.findall(text)
    inline = INLINE.findall(BLOCK.sub("", text))
    python = [block for language, block in blocks if language == "python"] + inline
    console = [
        line for language, block in blocks if language != "python" for line in block.splitlines()
    ]
    return python, console + inline


def calls(code):
    """Return the calls in a piece of Python; none if it is something else."""
    try:
        tree = ast.parse(code)
    except SyntaxError:
        return []
    return [node for node in ast.walk(tree) if isinstance(node, ast.Call)]


def unknown_keywords(code):
    """Return the keywords that a public name is called with and does not take."""
    wrong = []
    for call in calls(code):
        name = call.func.id if isinstance(call.func, ast.Name) else None
        if name not in PUBLIC:
            continue
        parameters = inspect.signature(PUBLIC[name]).parameters
        if any(p.kind is p.VAR_KEYWORD for p in parameters.values()):
            continue
        wrong += [f"{name}({k.arg}=)" for k in call.keywords if k.arg and k.arg not in parameters]
    return wrong


def parameters_of(public):
    """Return the parameters of a public name and of its public methods."""
    methods = inspect.getmembers(public, inspect.isroutine) if inspect.isclass(public) else []
    takes = [public, *(method for name, method in methods if not name.startswith("_"))]
    return {name for call in takes if callable(call) for name in inspect.signature(call).parameters}


PARAMETERS = set().union(*(parameters_of(public) for public in PUBLIC.values()))


def unknown_parameters(text):
    """Return what a text sets in inline code, as in `share=0.5`, and nothing public takes."""
    inline = INLINE.findall(BLOCK.sub("", text))
    return sorted({found[1] for code in inline if (found := BARE.match(code))} - PARAMETERS)


def options_of(app):
    """Return the options of every command of a program."""
    group = typer.main.get_command(app)
    return {
        name: {option for p in command.params for option in (*p.opts, *p.secondary_opts)}
        | {"--help"}
        for name, command in group.commands.items()
    }


PROGRAMS = {"mgvae": options_of(_app.app), "mgvae-paper": options_of(paper_cli.app)}
ALL_OPTIONS = {
    o for commands in PROGRAMS.values() for options in commands.values() for o in options
}
# Scripts have options of their own.
for script in [*ROOT.glob("benchmarks/*.py"), *ROOT.glob("paper/scripts/*.py")]:
    ALL_OPTIONS |= set(
        re.findall(r'add_argument\(\s*"(--[a-z-]+)"', script.read_text(encoding="utf-8"))
    )


def unknown_options(line):
    """Return the options of a command line of ours that its command does not have."""
    found = COMMAND.search(line)
    if found and found[2] in PROGRAMS[found[1]]:
        return sorted(set(OPTION.findall(found[3])) - PROGRAMS[found[1]][found[2]])
    if line.startswith("--"):
        return sorted(set(OPTION.findall(line)) - ALL_OPTIONS)
    return []


@pytest.mark.parametrize("page", PAGES)
def test_keywords_are_parameters(page):
    python, _ = pieces((ROOT / page).read_text(encoding="utf-8"))
    assert not [wrong for code in python for wrong in unknown_keywords(code)]


@pytest.mark.parametrize("page", PAGES)
def test_what_is_set_is_a_parameter(page):
    assert not unknown_parameters((ROOT / page).read_text(encoding="utf-8"))


@pytest.mark.parametrize("page", PAGES)
def test_options_exist(page):
    _, lines = pieces((ROOT / page).read_text(encoding="utf-8"))
    assert not [wrong for line in lines for wrong in unknown_options(line)]


def test_what_does_not_exist_is_found():
    assert unknown_keywords("MGVAE(devices=2, strategy='ddp')") == ["MGVAE(strategy=)"]
    assert not unknown_keywords("MGVAE(devices=2)")
    assert unknown_parameters('else say `channels="first"` or `n_jobs=2`') == ["channels"]
    assert unknown_options("$ mgvae balance t.csv --target y --colour") == ["--colour"]
    assert not unknown_options("mgvae balance t.csv --target y")
