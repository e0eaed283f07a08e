"""One schema of settings: the reference page, the defaults and the checks come from it."""

from __future__ import annotations

import json
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import jsonschema
import pytest
import yaml

from dbt_floodmark.cli.init import create_project
from tests.support.macros import load
from tests.support.reference import EDITORS, PAGE, SCHEMAS, default, editors_schema, page, table

WORDS = {"type", "is_dbts", "required", "default", "without", "choices", "excludes", "needs"}
WORDS |= {"expected", "todo", "meaning"}


@pytest.fixture(scope="module")
def floodmark() -> SimpleNamespace:
    return load()


def test_the_page_is_what_the_schemas_give() -> None:
    """Where this fails: `python -m tests.support.reference` writes the page."""
    text = PAGE.read_text("utf-8")
    assert page(text) == text


def test_a_table_edited_by_hand_is_made_anew() -> None:
    text = PAGE.read_text("utf-8")
    assert page(text.replace("| `glob` |", "| `blob` |")) == text
    with pytest.raises(ValueError, match="no place for watermark"):
        page(text.replace("<!-- settings of watermark -->", ""))


@pytest.mark.parametrize("macro", SCHEMAS.values())
def test_rows_are_whole(floodmark: SimpleNamespace, macro: str) -> None:
    schema = getattr(floodmark, macro)()
    types = floodmark._schema_types()
    for name, row in schema.items():
        assert row.keys() <= WORDS and row["type"] in types and row["meaning"], name
        assert row.get("required") or ("default" in row) != ("without" in row), name
        assert ("choices" in row) == row["type"].startswith("choice"), name
        assert row.get("excludes", name) in schema, name
        if "needs" in row:
            other, value, why = row["needs"]
            assert value in schema[other]["choices"] and why, name
        if row["type"] == "choice" and "default" in row:
            assert floodmark._is_of_type(row["default"], row), name


def test_how_a_default_is_shown() -> None:
    rows: dict[str, dict[str, Any]] = {
        "a": {"meaning": "one", "required": True},
        "b": {"meaning": "two", "default": False},
        "c": {"meaning": "three", "default": "1 day"},
        "d": {"meaning": "four", "without": "all"},
    }
    assert [default(row) for row in rows.values()] == ["required", "`false`", "`1 day`", "all"]
    assert table(rows).splitlines()[2:4] == ["| `a` | one | required |", "| `b` | two | `false` |"]


SCHEMA: dict[str, dict[str, Any]] = {
    "must": {"type": "names", "required": True},
    "kind": {"type": "choice", "choices": ["1", "2"], "default": 1},
    "one": {"type": "text", "excludes": "other"},
    "other": {"type": "text"},
    "late": {"type": "flag", "needs": ["kind", "2", "1 has none"]},
    "most": {"type": "count", "todo": "Leave it out"},
}


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"must": "a"}, []),
        ({"must": ["a"], "kind": 2, "late": True, "most": 3}, []),
        ({}, ["x.must: a list of columns. Write their names"]),
        ({"must": 7}, ["x.must: a list of columns. Write their names"]),
        ({"must": "a", "kind": 3}, ["x.kind: one of 1, 2. Use one of them"]),
        ({"must": "a", "kind": True}, ["x.kind: one of 1, 2. Use one of them"]),
        ({"must": "a", "one": " "}, ["x.one: text. Put it in quotes"]),
        ({"must": "a", "one": "b", "other": "c"}, ["x.one: one or other, not both. Remove one"]),
        ({"must": "a", "late": True}, ["x.late: kind 2 with it. Remove it: 1 has none"]),
        ({"must": "a", "late": "yes"}, ["x.late: true or false. Write it without quotes", "x.late: kind 2 with it. Remove it: 1 has none"]),
        ({"must": "a", "kind": 9, "late": True}, ["x.kind: one of 1, 2. Use one of them"]),
        ({"must": "a", "most": True}, ["x.most: a whole number of at least 1. Leave it out"]),
        ({"must": "a", "mots": 1}, ["x.mots: one of must, kind, one, other, late, most. Remove it or correct its name"]),
    ],
)  # fmt: skip
def test_what_the_checker_says(
    floodmark: SimpleNamespace, given: dict[str, Any], said: list[str]
) -> None:
    problems = floodmark._schema_problems("x", given, SCHEMA)
    assert [f"{one['setting']}: {one['expected']}. {one['todo']}" for one in problems] == said


def test_defaults_stand_where_nothing_is_given(floodmark: SimpleNamespace) -> None:
    found = floodmark._with_defaults({"must": "a", "late": False, "kind": None}, SCHEMA)
    assert found == {
        "must": "a",
        "kind": 1,
        "one": None,
        "other": None,
        "late": False,
        "most": None,
    }


def test_a_whole_number_is_one_however_it_is_written(floodmark: SimpleNamespace) -> None:
    """Jinja reads 1e3 as a float, and no list is cut by one."""
    given = {"must": "a", "most": 1e3}
    assert floodmark._schema_problems("x", given, SCHEMA) == []
    assert repr(floodmark._with_defaults(given, SCHEMA)["most"]) == "1000"


def test_the_schema_for_editors_is_what_the_schemas_give() -> None:
    """Where this fails: `python -m tests.support.reference` writes it."""
    assert EDITORS.read_text("utf-8") == editors_schema()


@pytest.fixture(scope="module")
def editor() -> jsonschema.Draft7Validator:
    schema = json.loads(EDITORS.read_text("utf-8"))
    jsonschema.Draft7Validator.check_schema(schema)
    return jsonschema.Draft7Validator(schema)


@pytest.mark.parametrize(
    "config",
    [
        "materialized: incremental\nunique_key: id\nwatermark: {column: ts, lookback: 2 hours, step: 100}",
        "incremental_strategy: cdc\nunique_key: [a, b]\ncdc: {sequence_by: seq, stored_as_scd_type: 2}",
        "incremental_strategy: cdc\ncdc: {sequence_by: [a, b], stored_as_scd_type: '2'}",
        "watermark: {kind: version, from: orders}",
        "files: {path: /landing, schema: a int, max_files_per_batch: \"{{ var('most') }}\"}",
        "snapshot_diff: {max_delete_fraction: 0.1, allow_empty: true}",
        "incremental_strategy: microbatch\nbatch_size: day",
        "materialized: table\ntags: [a]",
    ],
)
def test_an_editor_accepts_what_the_code_does(
    editor: jsonschema.Draft7Validator, config: str
) -> None:
    models = {"models": [{"name": "m", "config": yaml.safe_load(config)}]}
    assert list(editor.iter_errors(models)) == []


@pytest.mark.parametrize(
    "config",
    [
        "watermark: {}",
        "watermark: created_at",
        "watermark: {column: ts, nulls: maybe}",
        "watermark: {column: ts, look_back: 1 day}",
        "cdc: {sequence_by: seq, stored_as_scd_type: 3}",
        "cdc: {stored_as_scd_type: 1}",
        "files: {path: /landing, max_files_per_batch: 0}",
        "files: {path: /landing, allow_overwrites: true}",
        "snapshot_diff: {max_delete_fraction: 10}",
        "snapshot_diff: {allow_empty: 'yes'}",
        "meta: {floodmark: {watermark: {column: ts, nulls: maybe}}}",
        "unique_key: {a: 1}",
    ],
)
def test_an_editor_marks_what_the_code_refuses(
    editor: jsonschema.Draft7Validator, config: str
) -> None:
    models = {"models": [{"name": "m", "config": yaml.safe_load(config)}]}
    assert len(list(editor.iter_errors(models))) == 1


def test_a_new_project_names_the_schema(tmp_path: Path, editor: jsonschema.Draft7Validator) -> None:
    create_project(tmp_path / "shop")
    page = tmp_path / "shop" / "models" / "events.yml"
    named = re.match(r"# yaml-language-server: \$schema=(\S+)\n", page.read_text("utf-8"))
    assert named and (page.parent / named[1]).read_text("utf-8") == editors_schema()
    assert list(editor.iter_errors(yaml.safe_load(page.read_text("utf-8")))) == []
