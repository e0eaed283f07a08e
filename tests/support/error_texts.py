"""Texts of messages as a reader of docs/reference/errors.md sees them.

What a run fills in stands as a name in `<>`; words that only some cases have in `[]`, those of several cases as `a / b`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

#: Better names of what a run fills in.
NAMES = {
    "this": "table",
    "batch_id": "batch",
    "node_name": "model",
    "relation": "table",
    "arg": "…",
    "exc": "error",
    "msg": "error",
    "target_table": "table",
    "_shown_keys": "keys",
    "_restates_from": "from",
    "last_batch_id": "batch",
    "parts": "table",
    "schema": "keys",
    "known": "keys",
    "argument_kinds": "type",
    "excludes": "other",
}


@dataclass(frozen=True)
class Message:
    """A message, and where it stands.

    `kind` is `error`, `warning` or `reason` (of a batch that is rejected). The text of a problem of a setting is what
    was expected; `got` is what it says of the value, and `todo` what to do.
    """

    file: str
    line: int
    text: str
    kind: str = "error"
    setting: str | None = None
    got: str | None = None
    todo: str | None = None


def placeholder(name: str) -> str:
    name = NAMES.get(name, name).strip("_").lower()
    return f"<{name.replace('_', ' ')}>"


def case(one: str, other: str) -> str:
    """What two cases say, with marks around them until the whole text is known (texts)."""
    if one == other:
        return one
    if not one or not other:
        text = one or other
        return text.replace(text.strip(), f"[{text.strip()}]")
    return f"\1{one}\2{other}\3"


_CASES = re.compile("\1([^\1-\3]*)\2([^\1-\3]*)\3")
#: Cases of more words than these make a text each.
_SHORT = 4


def inline(text: str) -> str:
    """A text with its cases as `a / b`."""
    while _CASES.search(text):
        text = _CASES.sub(r"\1 / \2", text)
    return folded(text)


def folded(text: str) -> str:
    """A text without the spaces around and between its lines, nor those that are empty."""
    lines = (" ".join(line.split()) for line in text.splitlines())
    return "\n".join(line for line in lines if line)


def texts(text: str) -> list[str]:
    """A text for each of its cases that are long, with the short ones as `a / b`."""
    found = _CASES.search(text)
    if found is None:
        return [folded(text)]
    before, after = text[: found.start()], text[found.end() :]
    if max(len(words.split()) for words in found.groups()) <= _SHORT:
        return texts(f"{before}{found[1]} / {found[2]}{after}")
    return [whole for words in found.groups() for whole in texts(before + words + after)]


def says_something(text: str) -> bool:
    """Whether a text has words beside what is filled in."""
    return bool(re.search(r"[A-Za-z]{2}", re.sub(r"<[^>]*>", "", text)))


def is_sentence(text: str) -> bool:
    """Whether a text has several words of its own."""
    return len(re.findall(r"[A-Za-z]{2,}", re.sub(r"<[^>]*>|\[[^]]*\]", "", text))) > 1
