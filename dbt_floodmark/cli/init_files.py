"""``floodmark init --files``: a bronze model for a folder, after a look at what is in it."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dbt_floodmark.errors import FloodmarkError, UsageError
from dbt_floodmark.project.project import Project, jinja_literal

#: Names that a Delta table has without column mapping, and that SQL takes without quotes.
_PLAIN = re.compile(r"[A-Za-z_]\w*")
_ODD = re.compile(r"[ ,;{}()\n\t=]")


@dataclass(frozen=True)
class Look:
    """What a folder holds: format, number and bytes of files, columns and their types."""

    path: str
    format: str
    files: int
    bytes: int
    columns: list[tuple[str, str]] = field(default_factory=list)
    partitions: list[tuple[str, str]] = field(default_factory=list)


def look_at(project: Project, path: str, format: str | None) -> Look:
    """Return what a folder holds.

    Raises:
        UsageError: there is no file in it.
        FloodmarkError: its files cannot be read, or their names do not tell the format.
    """
    settings: dict[str, Any] = {"path": path} | ({"format": format} if format else {})
    rows = project.query(
        "{{ floodmark._folder_look_sql(fromjson(" + jinja_literal(json.dumps(settings)) + ")) }}"
    )
    found = json.loads(rows[0]["look"])
    if not found.get("files"):
        raise UsageError(f"There is no file in {path}: put one there, so that it can be looked at.")
    pairs = {
        key: [(one["name"], one["type"]) for one in found[key]] for key in ("columns", "partitions")
    }
    return Look(path, found["format"], found["files"], found["bytes"], **pairs)


def model_text(look: Look) -> str:
    """Return the model: types as hints, columns whose names Delta refuses under others."""
    hints = [
        f"{_quoted(name)} {type}"
        for name, type in look.columns
        if look.format in ("json", "csv", "xml") and (type != "string" or _ODD.search(name))
    ]
    odd = [name for name, _ in look.columns if _ODD.search(name)]
    settings = [f"'path': {look.path!r}", f"'format': {look.format!r}"]
    if hints:
        listed = ", ".join(hints).replace("'", "\\'")
        settings.append(f"'schema_hints': '{listed}'")
    left_out = ", ".join([*map(_quoted, odd), "_metadata"])
    columns = [
        f"* except ({left_out})",
        *(f"{_quoted(name)} as {_snake(name)}" for name in odd),
        "_metadata.file_path as source_file",
        "current_timestamp() as loaded_at",
    ]
    size = f"{look.files:,} file{'' if look.files == 1 else 's'}, {look.bytes / 1e6:,.1f} MB"
    inner = ",\n        ".join(settings)
    selected = ",\n    ".join(columns)
    return (
        f"-- {look.path}: {size} when this was written.\n"
        "-- New columns are added by themselves. What does not fit is in _rescued_data, corrupt\n"
        "-- records are in the table of this name with __quarantine behind it.\n"
        "{{ config(\n    materialized='incremental',\n    incremental_strategy='append',\n"
        f"    files={{\n        {inner},\n    }},\n) }}}}\n\n"
        f"select\n    {selected}\nfrom {{{{ floodmark.new_files() }}}}\n"
    )


def write_model(project: Project, path: str, format: str | None, name: str | None) -> Path:
    """Write the model of a folder into the project; its file.

    Raises:
        UsageError: there is such a model already, or no name follows from the folder's.
        FloodmarkError: the folder cannot be looked at.
    """
    called = name or f"bronze_{_snake(Path(path.rstrip('/*')).name)}"
    if not re.fullmatch(r"[a-z_]\w*", called):
        raise UsageError(f"No model can be called '{called}': name it with --model.")
    taken = [
        one.original_file_path for one in project.manifest.nodes.values() if one.name == called
    ]
    if taken:
        raise UsageError(f"There is a {called} in {taken[0]}: name another model with --model.")
    look = look_at(project, path, format)
    folder = project.folder / "models" / "bronze"
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"{called}.sql"
    try:
        file.write_text(model_text(look), "utf-8")
    except OSError as exc:
        raise FloodmarkError(f"{file} cannot be written: {exc.strerror}.") from exc
    return file


def _quoted(name: str) -> str:
    return name if _PLAIN.fullmatch(name) else "`" + name.replace("`", "``") + "`"


def _snake(name: str) -> str:
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name)
    return re.sub(r"\W+", "_", words).strip("_").lower()
