"""`floodmark diff` of structs: fields meet by name, whatever their order, at whatever depth."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from click.testing import CliRunner

from dbt_floodmark.cli import main
from tests.support.harness import Project

pytestmark = [pytest.mark.long("session"), pytest.mark.edge]

A = """
    select id, named_struct('x', id, 'Y', 'y' || id) as s, array(named_struct('p', id, 'q', named_struct('c', 1, 'd', id))) as l,
        map('k', named_struct('m', map('n', id), 'o', id)) as m, map(named_struct('e', id, 'f', 1), 'v') as mk,
        named_struct('first-name', id, 'w', 1) as odd, named_struct('a,b', id, 'c:d', 1, 'e`f', 'x') as marks
    from range(3)
"""
#: The same rows, each struct's fields in another order and case.
B = """
    select id, named_struct('y', 'y' || id, 'x', id) as s, array(named_struct('q', named_struct('d', id, 'c', 1), 'p', id)) as l,
        map('k', named_struct('o', id, 'm', map('n', id))) as m, map(named_struct('f', 1, 'e', id), 'v') as mk,
        named_struct('w', 1, 'first-name', id) as odd, named_struct('c:d', 1, 'e`f', 'x', 'a,b', id) as marks
    from range(3)
"""
SAME = ["s", "l", "m", "mk", "odd"]


@pytest.fixture(scope="module")
def project(make_project: Callable[..., Project]) -> Project:
    project = make_project("structs")
    for name, rows in {"a": A, "b": B}.items():
        mapping = "tblproperties ('delta.columnMapping.mode' = 'name')"
        project.sql(
            f"create table {project.schema}.{name} using delta {mapping} as select * from ({rows})"
        )
    return project


def diff(project: Project, a: str, b: str, *options: str) -> dict[str, Any]:
    folder = str(project.root)
    words = ["diff", a, b, *options, "--json", "--project-dir", folder, "--profiles-dir", folder]
    result = CliRunner().invoke(main, words, prog_name="floodmark")
    assert result.exit_code in (0, 1), result.output
    return json.loads(result.stdout)


def test_fields_meet_by_name(project: Project) -> None:
    found = diff(project, "a", "b", "--key", "id")
    assert found["equal"] and found["unchanged"] == 3
    assert found["types"] == []


def test_a_struct_as_key(project: Project) -> None:
    found = diff(project, "a", "b", "--key", "s", "--key", "l")
    assert found["equal"] and found["unchanged"] == 3


def test_what_differs_still_does(project: Project) -> None:
    s = project.schema
    mapped = "tblproperties ('delta.columnMapping.mode' = 'name')"
    project.sql(f"create or replace table {s}.c using delta {mapped} as select * from {s}.b")
    project.sql(
        f"update {s}.c set l = array(named_struct('q', named_struct('d', 9L, 'c', 1), 'p', 1L)) where id = 1"
    )
    project.sql(f"update {s}.c set s = null where id = 2")
    found = diff(project, "a", "c", "--key", "id")
    assert {name for name, rows in found["columns"].items() if rows} == {"l", "s"}
    assert (found["updated"], found["unchanged"]) == (2, 1)


def test_types_within_structs_meet_as_text(project: Project) -> None:
    s = project.schema
    project.sql(
        f"create or replace table {s}.d using delta as select id, named_struct('Y', s.y, 'x', cast(s.x as int)) as s from {s}.b"
    )
    found = diff(project, "a", "d", "--key", "id", "--columns", "s")
    assert found["equal"] and [one["column"] for one in found["types"]] == ["s"]
