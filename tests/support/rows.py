"""The rows of a table, as tests compare them."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from tests.support.harness import Project

#: When the first rows of a source happened.
AT = "timestamp'2024-05-01 08:00:00Z'"


def rows_of(project: Project, model: str, columns: str = "*") -> list[dict[str, Any]]:
    """The rows of a table, sorted by their text."""
    return [json.loads(text) for (text,) in sorted(project.rows(model, columns).elements())]


def held(project: Project, model: str, columns: str) -> dict[str, list[tuple[Any, ...]]]:
    """The rows of a model by key, each a tuple of these columns."""
    found = project.sql(
        f"select to_json(struct({columns}), map('ignoreNullFields', 'false')) from {project.schema}.{model}"
    )
    return by_first(json.loads(text).values() for (text,) in found)


def by_first(rows: Iterable[Iterable[Any]]) -> dict[str, list[tuple[Any, ...]]]:
    """The rows by their first column, those of a key sorted by their text."""
    found: dict[str, list[tuple[Any, ...]]] = {}
    for key, *rest in rows:
        found.setdefault(key, []).append(tuple(rest))
    return {key: sorted(rest, key=repr) for key, rest in found.items()}
