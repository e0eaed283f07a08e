"""`case_sensitive: false`: columns whose names differ in case alone are one. Without Spark."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.macros import load

SETTINGS: dict[str, Any] = {
    "format": "json",
    "schema": "id int",
    "infers": False,
    "infer_column_types": True,
    "schema_evolution": "none",
    "rescued_data_column": False,
    "single_variant_column": None,
    "options": {},
    "path": "file:/in",
    "glob": "*",
    "recursive": True,
}
FILES = [{"path": "file:/in/a.json"}]


@pytest.mark.parametrize(("is_sensitive", "seen"), [(True, None), (False, "struct<ID:bigint>")])
@pytest.mark.parametrize("format", ["json", "xml"])
def test_a_given_schema_has_its_names_looked_for(
    format: str, is_sensitive: bool, seen: str | None
) -> None:
    floodmark = load(invocation_args_dict={"project_dir": "/p"})
    row = {"path": FILES[0]["path"], "rows": 1, "odd": 0}
    found = "OBJECT<ID: BIGINT>"
    floodmark._query_json = lambda sql: [row | {"seen": "schema_of" in sql and found or None}]
    floodmark._columns_of_files = lambda *_: [{"name": "ID", "ddl": "bigint"}]
    settings = SETTINGS | {"format": format, "case_sensitive": is_sensitive}
    look = getattr(floodmark, f"_look_at_{format}")({"settings": {"files": settings}}, FILES)
    assert look["seen"] == seen
