"""``floodmark init --files``: a bronze model for a folder, after a look at what is in it."""

from __future__ import annotations

import itertools
import json
import os
import re
import unicodedata
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dbt_floodmark.errors import FloodmarkError, UsageError
from dbt_floodmark.project.ledger import failure
from dbt_floodmark.project.project import Project
from dbt_floodmark.project.runner import project_settings
from dbt_floodmark.texts import jinja_literal

#: Names that a Delta table has without column mapping, and that SQL takes without quotes.
_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_ODD = re.compile(r"[ ,;{}()\n\t=]")
_PATTERN = re.compile(r"[*?\[{]")


@dataclass(frozen=True)
class Look:
    """What a folder holds: format, options of its reader, files, columns and their types."""

    path: str
    format: str
    files: int
    bytes: int
    columns: list[tuple[str, str]] = field(default_factory=list)
    partitions: list[tuple[str, str]] = field(default_factory=list)
    options: dict[str, Any] = field(default_factory=dict)

    def text(self) -> str:
        """What was found, as a part of a sentence."""
        options = "".join(f", {name} {value!r}" for name, value in self.options.items())
        folders = f", {len(self.partitions)} of them from folders" if self.partitions else ""
        count = len(self.columns) + len(self.partitions)
        columns = f"{count} column{'' if count == 1 else 's'}{folders}"
        return f"{self.size()} of {self.format}{options}: {columns}"

    def size(self) -> str:
        """Number and size of the files."""
        counted = f"{self.files:,} file{'' if self.files == 1 else 's'}"
        if self.bytes < 100_000:
            return f"{counted} ({self.bytes:,} bytes)"
        return f"{counted} ({self.bytes / 1e6:,.1f} MB)"


def look_at(project: Project, path: str, format: str | None) -> Look:
    """Return what a folder holds.

    Raises:
        UsageError: there is no file in it.
        FloodmarkError: its files cannot be read, or their names do not tell the format.
    """
    settings: dict[str, Any] = {"path": path} | ({"format": format} if format else {})
    rows = project.query(
        "{{ floodmark._folder_look_sql(fromjson(" + jinja_literal(json.dumps(settings)) + ")) }}",
        lambda result, _: _failed(path, result),
    )
    found = json.loads(rows[0]["look"])
    if not found.get("files"):
        raise UsageError(f"There is no file in {path}: put one there, so that it can be looked at.")
    pairs = {
        key: [(one["name"], one["type"]) for one in found[key]] for key in ("columns", "partitions")
    }
    options = found["options"]
    return Look(path, found["format"], found["files"], found["bytes"], options=options, **pairs)


def _failed(path: str, result: Any) -> FloodmarkError:
    """Say why a folder could not be looked at."""
    error = failure(result, f"The files in {path} could not be looked at")
    names = re.search(r"the names of the files do not agree \(.*\)(?=\. Add it)", str(error))
    if names is None:
        return error
    return UsageError(
        f"In {path}, {names[0]}: name those of one format, such as --files '{path}/*.csv', or say "
        "with --format what all of them are."
    )


def path_in(project: Path, path: str, here: Path) -> str:
    """Return a path as a model of the project has it: a relative one is from the project's folder.

    People name it from where they are (``here``); what is only in the project is meant from there.
    """
    if os.path.isabs(path) or re.match(r"[\w+.-]+:", path) or not _is_there(here, path):
        return path
    # Both without links: from a link, `..` leads to where its target is.
    return os.path.relpath(here.resolve() / path, project.resolve())


def _is_there(folder: Path, path: str) -> bool:
    """Whether the path leads to something from a folder: of a pattern, what is before it."""
    fixed = itertools.takewhile(lambda part: not _PATTERN.search(part), Path(path).parts)
    return (folder / path).exists() or folder.joinpath(*fixed).is_dir()


def model_text(look: Look) -> str:
    """Return the model: types as hints, columns whose names Delta refuses under others."""
    # Formats that say what types their values have need a hint only for names that Delta refuses.
    is_typed = look.format not in ("json", "csv", "xml")
    hints = [
        f"{_quoted(name)} {type}"
        for name, type in look.columns + ([] if is_typed else look.partitions)
        if _ODD.search(name) or (not is_typed and type != "string")
    ]
    own, others = _other_names([name for name, _ in look.columns + look.partitions])
    settings = [f"'path': {look.path!r}", f"'format': {look.format!r}"]
    if hints:
        lines = ",".join(f"\n            {hint}" for hint in hints) + "\n        "
        listed = (lines if len(hints) > 1 else hints[0]).replace("\\", "\\\\").replace("'", "\\'")
        settings.append(f"'schema_hints': '{listed}'")
    if look.options:
        settings.append(f"'options': {look.options!r}")
    left_out = ", ".join([*map(_quoted, others), "_metadata"])
    selected = [
        f"* except ({left_out})",
        *(f"{_quoted(name)} as {_quoted(other)}" for name, other in others.items()),
        f"_metadata.file_path as {own['source_file']}",
        f"current_timestamp() as {own['loaded_at']}",
    ]
    inner = ",\n        ".join(settings)
    selected_text = ",\n    ".join(selected)
    return (
        f"-- {_without_tags(look.path)}: {look.size()} when this was written.\n"
        "-- New columns are added by themselves. What does not fit is in _rescued_data, corrupt\n"
        "-- records are in the table of this name with __quarantine behind it.\n"
        "{{ config(\n    materialized='incremental',\n    incremental_strategy='append',\n"
        f"    files={{\n        {inner},\n    }},\n) }}}}\n\n"
        f"select\n    {_without_tags(selected_text)}\nfrom {{{{ floodmark.new_files() }}}}\n"
    )


def write_model(
    project: Project, path: str, format: str | None, name: str | None, here: Path
) -> tuple[Path, Look]:
    """Write the model of a folder, named from ``here``, into the project; its file, and the look.

    Raises:
        UsageError: there is such a model or file already, or no name follows from the folder's.
        FloodmarkError: the folder cannot be looked at.
    """
    parts = [part for part in Path(path).parts if not _PATTERN.search(part)]
    subject = parts[-1].partition(".")[0] if (here / path).is_file() else "".join(parts[-1:])
    called = name or f"bronze_{_plain_letters(_snake(subject))}"
    if not re.fullmatch(r"[a-z_]([a-z0-9_]*[a-z0-9])?", called):
        raise UsageError(
            f"'{called}' cannot be a model's name: use lower-case letters, digits and underscores, "
            "and begin with a letter. --model names it."
        )
    taken = [
        one.original_file_path for one in project.manifest.nodes.values() if one.name == called
    ]
    if taken:
        raise UsageError(f"There is a {called} in {taken[0]}: name another model with --model.")
    # dbt reads models from these folders alone; one that is disabled is not in the manifest.
    models = project_settings(project.folder).get("model-paths") or ["models"]
    file = project.folder / models[0] / "bronze" / f"{called}.sql"
    if file.exists():
        raise UsageError(f"There is a {file} already: name another model with --model.")
    look = look_at(project, path_in(project.folder, path, here), format)
    file.parent.mkdir(parents=True, exist_ok=True)
    try:
        file.write_text(model_text(look), "utf-8")
    except OSError as exc:
        raise FloodmarkError(f"{file} cannot be written: {exc.strerror}.") from exc
    return file, look


def _other_names(names: list[str]) -> tuple[dict[str, str], dict[str, str]]:
    """Names that no column has, for what the model adds and for columns that Delta refuses."""
    taken = {name.lower() for name in names}
    own = {name: _free_name(name, taken) for name in ("source_file", "loaded_at")}
    refused = filter(_ODD.search, names)
    return own, {name: _free_name(_snake(name) or "column", taken) for name in refused}


def _free_name(wanted: str, taken: set[str]) -> str:
    """A name that is not taken, and is then."""
    numbered = (f"{wanted}_{number}" for number in itertools.count(2))
    free = next(name for name in itertools.chain([wanted], numbered) if name not in taken)
    taken.add(free)
    return free


def _quoted(name: str) -> str:
    return name if _PLAIN.fullmatch(name) else "`" + name.replace("`", "``") + "`"


def _without_tags(text: str) -> str:
    """A text of a model in which Jinja sees no tag."""
    return re.sub(r"\{(?=[{%#])", "{{ '{' }}", text)


def _plain_letters(name: str) -> str:
    """A name without accents, and without letters that Spark's catalog refuses."""
    return unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode().strip("_")


def _snake(name: str) -> str:
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name)
    return re.sub(r"\W+", "_", words).strip("_").lower()
