"""Texts and values as YAML and Jinja read them back, whatever is in them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import yaml

from dbt_floodmark.errors import UsageError

#: A pattern for SQL's comment in brackets that can end in one place only. With `.*?` in it, a
#: pattern that repeats comments tries every way to part a row of them, in exponential time.
BRACKETED_COMMENT = r"/\*(?:(?!\*/)[\s\S])*\*/"


def yaml_text(values: Mapping[Any, Any]) -> str:
    """Return a mapping as text for dbt's ``--args`` and ``--vars``, which are YAML.

    Values and keys keep their types when dbt reads them: numbers as keys, dates, infinity. The text
    is of ASCII, and each character beyond is one escape.

    Raises:
        UsageError: a text is not UTF-8.
    """
    _require_utf8("".join(_texts(values)))
    return yaml.safe_dump(
        dict(values), default_flow_style=True, width=float("inf"), sort_keys=False
    ).rstrip("\n")


def _texts(value: Any) -> Iterator[str]:
    """Every text within a value of YAML's, keys too."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for key, one in value.items():
            yield from (*_texts(key), *_texts(one))
    elif isinstance(value, Iterable):
        for one in value:
            yield from _texts(one)


def jinja_literal(value: Any) -> str:
    """Return a value as a literal in Jinja, whatever braces and quotes are in it.

    Raises:
        UsageError: a text is not UTF-8.
    """
    # A JSON text is a Jinja literal too; characters beyond ASCII stay, as Jinja knows no pairs.
    text = json.dumps(value, ensure_ascii=False)
    _require_utf8(text)
    return text


def _require_utf8(text: str) -> None:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as exc:
        raise UsageError("An argument is not UTF-8: write it in UTF-8.") from exc


def named_text(name: str, text: str) -> str:
    """Return Jinja that gives a text a name, whatever braces and quotes are in it."""
    return "{% set " + name + " %}" + jinja_text(text) + "{% endset %}"


def jinja_text(text: str) -> str:
    """Return Jinja that yields exactly this text, whatever braces and quotes are in it."""
    # A raw block ends at the first tag that says so: each tag in the text is one of its own.
    return "{% raw %}" + text.replace("{%", "{% endraw %}{{ '{%' }}{% raw %}") + "{% endraw %}"
