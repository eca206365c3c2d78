"""The reference of the command line, written from the commands themselves.

A page takes it in with::

    <!-- commands -->
"""

import typer

from mgvae.cli._app import app as program

MARK = "<!-- commands -->\n"


def setup(app):
    """Fill in the page when it is read."""
    app.connect("source-read", fill)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def fill(_app, _name, source):
    """Replace the mark by all commands."""
    if MARK in source[0]:
        source[0] = source[0].replace(MARK, reference())


def reference():
    """Return the reference as Markdown, one section for each command."""
    group = typer.main.get_command(program)
    context = group.make_context("mgvae", [], resilient_parsing=True)
    names = group.list_commands(context)
    return "\n".join(section(group.get_command(context, name), context) for name in names)


def section(command, parent):
    """Return one command: usage, what it does, arguments and options, examples."""
    context = command.make_context(command.name, [], resilient_parsing=True, parent=parent)
    usage = command.get_usage(context).removeprefix("Usage: ")
    records = [record for p in command.params if (record := p.get_help_record(context))]
    examples = command.epilog.replace("\b", "").strip()
    return "\n".join(
        [
            f"(mgvae-{command.name})=",
            f"## mgvae {command.name}",
            "",
            f"```text\n{usage}\n```",
            "",
            escape(command.help),
            "",
            *definitions(records),
            "",
            f"```text\n{examples}\n```",
            "",
        ]
    )


def definitions(rows):
    """Return a definition list."""
    return [line for name, words in rows for line in (f"`{name}`", f": {escape(words)}", "")]


def escape(text):
    """Keep Markdown from reading signs of its own."""
    for sign in "<>*_[]{}$":
        text = text.replace(sign, "\\" + sign)
    return text
