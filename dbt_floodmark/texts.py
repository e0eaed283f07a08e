"""Texts and values as YAML and Jinja read them back, whatever is in them."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from dbt_floodmark.errors import UsageError


def yaml_text(values: Mapping[str, Any]) -> str:
    """Return a mapping as text for dbt's ``--args`` and ``--vars``, which are YAML.

    That is JSON whose characters beyond ASCII are written as YAML has them, one escape each:
    JSON's pairs for those beyond the first 65,536 are two characters to YAML.

    Raises:
        UsageError: a text is not UTF-8.
    """
    # YAML on the command line has dates, too.
    text = json.dumps(values, ensure_ascii=False, default=str)
    _require_utf8(text)
    return re.sub(r"[^\x20-\x7e]", lambda found: f"\\U{ord(found.group()):08x}", text)


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
