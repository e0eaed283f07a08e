"""docs/reference/errors.md, made from the messages in the code: `python -m tests.support.reference`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from tests.support.error_texts import Message, folded
from tests.support.errors import messages

PAGE = Path(__file__).resolve().parents[2] / "docs" / "reference" / "errors.md"

HEAD = """\
# Errors

Every message of floodmark, made from the code by `python -m tests.support.reference`. A test compares the two.

A message is an error of the model's node in dbt's output, and begins with the model. What is wrong with settings or columns
is listed at once, and each line says which setting it is about, what it got, what it expected and what to do:

```text
floodmark refuses model 'shop.orders': 1 problem
  - watermark.nulls: got "include"; expected 'error' or 'exclude' with 'append'. Use incremental_strategy='merge': …
```

What is found at run time is one sentence: `floodmark, model 'shop.orders': its upstream shop.raw does not exist: build it first`.
The commands of `floodmark` print theirs as `floodmark: …`. If a batch fails, the column `error` of the ledger's view
[`batches`](ledger.md) keeps why.

On this page, `<...>` stands for what a run fills in, `[...]` for words that not every case has, and `a / b` for one of
several. [Operations](../guides/operations.md#what-a-node-says-when-it-stops) explains the messages that need more than a sentence.
"""

#: The heads of sections -> the files whose messages they hold. The first that fits counts.
SECTIONS: Sequence[tuple[str, Sequence[str]]] = (
    (
        "Settings",
        (
            "macros/settings/_contract.sql",
            "macros/settings/_model.sql",
            "macros/settings/_setting_types.sql",
            "macros/settings/_problems.sql",
            "macros/support/_arguments.sql",
            "macros/support/_clauses.sql",
            "macros/support/_secrets.sql",
            "macros/hash/",
            "macros/masking/",
        ),
    ),
    (
        "Expectations",
        ("macros/expectations/", "macros/settings/_expectations.sql", "macros/tests/"),
    ),
    (
        "Columns and types",
        (
            "macros/table/",
            "macros/support/_types.sql",
            "macros/support/_casts.sql",
            "macros/seeds/",
            "macros/batch/_stage.sql",
        ),
    ),
    (
        "Watermarks",
        (
            "macros/watermark/",
            "macros/settings/_watermark.sql",
            "macros/nodes/_upstream.sql",
            "macros/delta/",
        ),
    ),
    ("Merge and insert_overwrite", ("macros/merge/",)),
    ("Change data capture", ("macros/cdc/", "macros/feeds/", "macros/settings/_cdc.sql")),
    ("Snapshots", ("macros/snapshot_diff/", "macros/settings/_snapshot_diff.sql")),
    ("Files", ("macros/files/", "macros/settings/_files.sql")),
    ("Streams", ("macros/streaming/", "macros/settings/_stream", "dbt_floodmark/streaming/")),
    (
        "Batches, the ledger and other runs",
        ("macros/batch/", "macros/protocol/", "macros/ledger/", "macros/nodes/"),
    ),
    ("Commands", ("macros/operations/", "dbt_floodmark/cli/", "dbt_floodmark/project/")),
    ("Spark, Java and the server", ("dbt_floodmark/", "macros/materializations/")),
)


def escaped(text: str) -> str:
    """A message as Markdown shows it: what stands between backticks is code."""
    parts = re.split(r"(`[^`]+`)", folded(text))
    for at, part in enumerate(parts):
        if not part.startswith("`"):
            part = re.sub(r"([\\*_\[\]|$])", r"\\\1", part)
            parts[at] = part.replace("<", "&lt;").replace(">", "&gt;")
    return "".join(parts).replace("\n", "<br>")


def code(text: str) -> str:
    """The name of a setting, or of several; what a run fills in is not code."""
    names = [
        f"`{name}`" if re.fullmatch(r"[\w.()]+", name) else escaped(name)
        for name in text.split(" / ")
    ]
    return ", ".join(names)


def section_of(file: str) -> str:
    """The head of the section that a file's messages are in.

    Raises:
        ValueError: it is in none.
    """
    for head, places in SECTIONS:
        if any(file.startswith(place) for place in places):
            return head
    raise ValueError(f"{file} has messages and no section")


def _once(lines: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(lines))


def _row(one: Message) -> str:
    got = one.got if one.got and re.search(r"\w+ \w+", re.sub(r"<[^>]*>", "", one.got)) else ""
    setting = code(one.setting or "")
    return f"| {setting}{': got ' + escaped(got) if got else ''} | {escaped(one.text)} | {escaped(one.todo or '')} |"


def section(head: str, found: Sequence[Message]) -> str:
    """The messages of a section: problems in a table, sentences in a list."""
    problems = _once(_row(one) for one in found if one.setting is not None)
    said = {
        kind: _once(
            f"- {escaped(one.text)}" for one in found if one.setting is None and one.kind == kind
        )
        for kind in ("error", "warning", "reason")
    }
    parts = [f"## {head}"]
    if problems:
        parts.append("\n".join(["| setting | expected | what to do |", "|---|---|---|", *problems]))
    if said["error"]:
        parts.append("\n".join(said["error"]))
    if said["warning"]:
        parts.append("Warnings:\n\n" + "\n".join(said["warning"]))
    if said["reason"]:
        parts.append(
            "Why a batch was rejected, in `batches.error`:\n\n" + "\n".join(said["reason"])
        )
    return "\n\n".join(parts)


def page() -> str:
    """The whole page."""
    found: dict[str, list[Message]] = {head: [] for head, _ in SECTIONS}
    for one in messages():
        found[section_of(one.file)].append(one)
    parts = [section(head, listed) for head, listed in found.items() if listed]
    return "\n\n".join([HEAD.rstrip("\n"), *parts]) + "\n"
