"""Folders of files for tests, and models that load them."""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any

from tests.support.harness import Project


def land(folder: Path, files: Mapping[str, bytes | str]) -> None:
    """Write files below a folder, by their names."""
    for name, content in files.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content if isinstance(content, bytes) else content.encode())


def lines(*records: Any) -> str:
    """Records as JSON, one a line; a text is a line as it is."""
    return "".join((one if isinstance(one, str) else json.dumps(one)) + "\n" for one in records)


def loader(
    path: str, select: str = "* except (_metadata)", config: Any = None, **files: Any
) -> str:
    """A model that appends the files of a folder; `config` are settings beside `files`."""
    settings = (
        {"incremental_strategy": "append"} | (config or {}) | {"files": {"path": path} | files}
    )
    arguments = ", ".join(f"{name}={value!r}" for name, value in settings.items())
    return (
        f"{{{{ config(materialized='incremental', {arguments}) }}}}\n"
        f"select {select} from {{{{ floodmark.new_files() }}}}\n"
    )


def records(project: Project, model: str, order: str = "all") -> list[dict[str, Any]]:
    """The rows of a table, without columns that are NULL."""
    return [
        json.loads(text)
        for (text,) in project.sql(
            f"select to_json(struct(*)) from {project.schema}.{model} order by {order}"
        )
    ]


def rescued(row: Mapping[str, Any], column: str = "_rescued_data") -> dict[str, Any] | None:
    """What a row's rescued data holds, with the bare name of its file; none where it has none."""
    if column not in row:
        return None
    found = json.loads(row[column])
    found["_file_path"] = found["_file_path"].rpartition("/")[2]
    return dict(found)


def columns(project: Project, model: str) -> dict[str, str]:
    """The columns of a table and their types."""
    return {
        name: type
        for name, type, *_ in project.sql(f"describe table {project.schema}.{model}")
        if name and not name.startswith("#")
    }


def quarantined(project: Project, model: str) -> list[tuple[Any, ...]]:
    """What is open in a model's quarantine: bare file name, line, text, reason."""
    return [
        (file.rpartition("/")[2], *rest)
        for file, *rest in project.sql(
            "select _floodmark_file, _floodmark_line, _floodmark_raw, _floodmark_reason from "
            f"{project.schema}.{model}__quarantine where _floodmark_state = 'open' order by all"
        )
    ]


def write_all(project: Project, models: Mapping[str, str]) -> Iterable[str]:
    """Write models; their names."""
    for name, sql in models.items():
        project.model(name, sql)
    return models.keys()


def exact(project: Project, model: str) -> list[dict[str, Any]]:
    """The rows of a table with all digits of their numbers and moments, without what is NULL.

    Numbers that are no integers are Decimal, moments with a zone are in UTC, bytes are base64, NaN is a text.
    """
    return as_exact(project.sql(f"select {EXACT} from {project.schema}.{model}"))


#: SQL of a row for `as_exact`.
_MOMENT = "yyyy-MM-dd\\'T\\'HH:mm:ss.SSSSSS"
EXACT = (
    f"to_json(struct(*), map('timestampFormat', '{_MOMENT}XXX', 'timestampNTZFormat', '{_MOMENT}'))"
)


def as_exact(rows: Iterable[Sequence[Any]]) -> list[dict[str, Any]]:
    """Rows that Spark printed by `EXACT`."""
    return [without_null(json.loads(text, parse_float=Decimal)) for (text,) in rows]


def normal(value: Any) -> Any:
    """A value of Python as `exact` has it."""
    if isinstance(value, Mapping):
        return {str(key): normal(one) for key, one in value.items()}
    if isinstance(value, list):
        return [normal(one) for one in value]
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, datetime):
        if value.tzinfo is None:
            return value.isoformat(timespec="microseconds")
        utc = value.astimezone(timezone.utc).replace(tzinfo=None)
        return utc.isoformat(timespec="microseconds") + "Z"
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, float):
        special = {math.inf: "Infinity", -math.inf: "-Infinity"}.get(value)
        return "NaN" if math.isnan(value) else special or Decimal(repr(value))
    return value


def without_null(value: Any) -> Any:
    """A value whose mappings have no NULL."""
    if isinstance(value, Mapping):
        return {key: without_null(one) for key, one in value.items() if one is not None}
    return [without_null(one) for one in value] if isinstance(value, list) else value
