"""What is made from the code: the tables of docs/reference/settings.md, a JSON schema of them for editors, errors.md, command.md.

`python -m tests.support.reference` writes all of them. The last two come from error_page.py and command_page.py.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from tests.support import command_page, error_page
from tests.support.macros import load

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "reference" / "settings.md"
#: Beside the schemas, so that it comes with the package in whatever way the package comes.
EDITORS = ROOT / "macros" / "settings" / "models.schema.json"
#: Name of a table on the page -> the macro that declares its settings.
SCHEMAS = {
    "model": "_model_schema",
    "watermark": "_watermark_schema",
    "files": "_files_schema",
    "merge": "_merge_schema",
    "cdc": "_cdc_schema",
    "snapshot_diff": "_snapshot_schema",
    "streaming_table": "_stream_schema",
    "expectations": "_row_rule_schema",
    "expectations of a batch": "_batch_rule_schema",
    "rows": "_rows_rule_schema",
}


def default(row: dict[str, Any]) -> str:
    """What holds where a setting is not given."""
    if "without" in row:
        return str(row["without"])
    if row.get("required"):
        return "required"
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


#: A value that Jinja will give may be of any type.
_JINJA = {"type": "string", "pattern": r"\{\{"}
_IS_JINJA = {"$ref": "#/definitions/jinja"}
_NAMES = [{"type": "string", "minLength": 1}, {"type": "array", "items": {"type": "string"}}]
#: Type of a setting (macros/settings/_setting_types.sql) -> what a value may be, as JSON schemas.
_VALUES: dict[str, list[dict[str, Any]]] = {
    "any": [{}],
    "column": [{"type": "string", "minLength": 1}],
    "text": [{"type": "string", "minLength": 1}],
    "column_or_false": [{"type": "string", "minLength": 1}, {"const": False}],
    "names": _NAMES,
    "names_or_none": _NAMES,
    "flag": [{"type": "boolean"}],
    "flag_or_names": [{"type": "boolean"}, *_NAMES],
    "count": [{"type": "integer", "minimum": 1}],
    "fraction": [{"type": "number", "minimum": 0, "maximum": 1}],
    "duration": [{"type": "string", "minLength": 1}],
    "bytes": [{"type": "string", "minLength": 1}, {"type": "integer", "minimum": 1}],
    "mapping": [{"type": "object"}],
    "distance": [{"type": "string", "minLength": 1}, {"type": "number"}],
}


def value_schema(row: dict[str, Any]) -> dict[str, Any]:
    """A setting's row as a JSON schema; a choice of numbers may be written with or without quotes."""
    if row["type"].startswith("choice"):
        numbers = [int(choice) for choice in row["choices"] if choice.isdigit()]
        values: list[dict[str, Any]] = [{"enum": [*numbers, *row["choices"]]}]
        values += [{"const": False}] if row["type"] == "choice_or_false" else []
    else:
        values = _VALUES[row["type"]]
    schema: dict[str, Any] = {"description": _plain(row["meaning"])}
    if "default" in row:
        schema["default"] = row["default"]
    return schema if {} in values else schema | {"anyOf": [*values, _IS_JINJA]}


def object_schema(rows: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """A setting that is a mapping: no other keys, and those that are required."""
    schema: dict[str, Any] = {
        "type": "object",
        "properties": {name: value_schema(row) for name, row in rows.items()},
        "additionalProperties": False,
    }
    required = [name for name, row in rows.items() if row.get("required")]
    return schema | {"required": required} if required else schema


def editors_schema() -> str:
    """JSON schema of a YAML file of models: completion and checks of floodmark's settings in editors.

    Whatever dbt itself has is let through, and so are the strategies of models that load as dbt-spark does.
    """
    floodmark = load()
    rows = {name: getattr(floodmark, macro)() for name, macro in SCHEMAS.items()}
    config: dict[str, Any] = {}
    for level in ("streaming_table", "merge", "model"):
        config |= {name: value_schema(row) for name, row in rows[level].items()}
    for name in ("watermark", "files", "cdc", "snapshot_diff"):
        config[name] |= object_schema(rows[name])
    watermark = config["watermark"]
    version = {"properties": {"kind": {"const": "version"}}, "required": ["kind"]}
    watermark["anyOf"] = [{"required": watermark.pop("required")}, version]
    config["incremental_strategy"]["anyOf"].append({"type": "string"})
    at_settings = "#/definitions/settings"
    # A $ref stands alone: draft 7 ignores what is beside it.
    own = {name: {"$ref": f"{at_settings}/properties/{name}"} for name in floodmark._own_settings()}
    in_meta = {"type": "object", "properties": own, "additionalProperties": False}
    meta = {"$ref": "#/definitions/meta"}
    model = {"config": {"$ref": at_settings}, "meta": meta}
    schema = {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "Models that floodmark loads",
        "type": "object",
        "properties": {
            "models": {"type": "array", "items": {"type": "object", "properties": model}}
        },
        "definitions": {
            "settings": {"type": "object", "properties": config | {"meta": meta}},
            "meta": {"type": "object", "properties": {"floodmark": in_meta}},
            "jinja": _JINJA,
        },
    }
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"


def _plain(meaning: str) -> str:
    """A meaning without Markdown's links."""
    return re.sub(r" ?\(?\[[^]]*\]\([^)]*\)\)?", "", meaning)


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text("utf-8")), "utf-8")
    EDITORS.write_text(editors_schema(), "utf-8")
    error_page.PAGE.write_text(error_page.page(), "utf-8")
    command_page.PAGE.write_text(command_page.page(), "utf-8")
