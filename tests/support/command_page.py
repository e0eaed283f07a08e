"""docs/reference/command.md: floodmark's commands with their options, as `--help` has them."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import click

from dbt_floodmark.cli import GROUPS, main
from dbt_floodmark.cli.dbt_commands import PASSED_THROUGH

PAGE = Path(__file__).resolve().parents[2] / "docs" / "reference" / "command.md"
_HEAD = """\
# Every command

`floodmark --help` and `floodmark <command> --help` say the same. [The command](../guides/commands.md) tells what all commands have in common,
and what to type with dbt alone. This page is made from the code: `python -m tests.support.reference`.
"""
_DBTS = """\
They take dbt's options, and pass them on. `build` and `run` are dbt's own, too.

| command | what it does |
|---|---|
"""


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def _told(text: str) -> str:
    """A help text as Markdown: what stands behind a `\\b` is an example, and is shown as it is."""
    paragraphs = []
    for part in re.split(r"\n\s*\n", inspect.cleandoc(text)):
        is_example, rest = part.startswith("\b"), part.removeprefix("\b\n")
        if is_example:
            lines = rest.removeprefix("Example:\n").removeprefix("Examples:\n")
            paragraphs.append(f"```sh\n{inspect.cleandoc(lines)}\n```")
        else:
            paragraphs.append(" ".join(rest.split()))
    return "\n\n".join(paragraphs)


def _options(command: click.Command, context: click.Context) -> str:
    records = [one.get_help_record(context) for one in command.params]
    rows = [f"| `{_cell(name)}` | {_cell(text)} |" for name, text in filter(None, records)]
    return "\n".join(["| option | meaning |", "|---|---|", *rows]) if rows else ""


def _sections(command: click.Command, parent: click.Context) -> list[str]:
    """A command and those below it, each with its usage, its help and its options."""
    context = click.Context(command, parent=parent, info_name=command.name)
    usage = f"{context.command_path} {' '.join(command.collect_usage_pieces(context))}"
    parts = [f"### {context.command_path}", f"`{usage}`", _told(command.help or "")]
    parts.append(_options(command, context))
    below = command.commands.values() if isinstance(command, click.Group) else []
    return [part for part in parts if part] + [
        part for one in below for part in _sections(one, context)
    ]


def page() -> str:
    """The page, in the order of `floodmark --help`."""
    root = click.Context(main, info_name="floodmark", **main.context_settings)
    parts = [_HEAD.strip()]
    for heading, commands in GROUPS.items():
        own = [one for one in commands if one.name not in PASSED_THROUGH]
        parts.append(f"## {heading}")
        if not own:
            rows = [f"| `{one.name}` | {_cell(one.get_short_help_str(1000))} |" for one in commands]
            parts.append(_DBTS + "\n".join(rows))
        parts += [part for one in own for part in _sections(one, root)]
    return "\n\n".join(parts) + "\n"
