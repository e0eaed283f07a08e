"""What docs/reference has from the code: `python -m tests.support.reference` writes it.

The tables of settings.md come from the settings' schemas, errors.md from the messages (error_page.py).
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from tests.support import error_page
from tests.support.macros import load

PAGE = Path(__file__).resolve().parents[2] / "docs" / "reference" / "settings.md"
#: Name of a table on the page -> the macro that declares its settings.
SCHEMAS = {
    "model": "_model_schema",
    "watermark": "_watermark_schema",
    "files": "_files_schema",
    "merge": "_merge_schema",
    "cdc": "_cdc_schema",
    "snapshot_diff": "_snapshot_schema",
    "streaming_table": "_stream_schema",
}


def default(row: dict[str, Any]) -> str:
    """What holds where a setting is not given."""
    if row.get("required"):
        return "required"
    if "default" not in row:
        return str(row["without"])
    value = row["default"]
    return f"`{str(value).lower() if isinstance(value, bool) else value}`"


def table(schema: dict[str, dict[str, Any]]) -> str:
    """A schema as a Markdown table."""
    lines = ["| setting | meaning | default |", "|---|---|---|"]
    lines += [f"| `{name}` | {row['meaning']} | {default(row)} |" for name, row in schema.items()]
    return "\n".join(lines)


def page(text: str) -> str:
    """The page's text with the tables between their marks made anew.

    Raises:
        ValueError: a table has no place on the page.
    """
    floodmark = load()
    for name, macro in SCHEMAS.items():
        begin, end = f"<!-- settings of {name} -->", "<!-- end of settings -->"
        between = re.compile(re.escape(begin) + ".*?" + re.escape(end), re.DOTALL)
        if not between.search(text):
            raise ValueError(f"{PAGE.name} has no place for {name}: {begin} … {end}")
        made = f"{begin}\n{table(getattr(floodmark, macro)())}\n{end}"
        text = between.sub(lambda _, made=made: made, text, count=1)
    return text


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text("utf-8")), "utf-8")
    error_page.PAGE.write_text(error_page.page(), "utf-8")
