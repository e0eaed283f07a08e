"""Columns and fields that a SELECT has twice. Without Spark."""

from __future__ import annotations

import pytest

from tests.support.macros import load


@pytest.mark.parametrize(
    ("columns", "got"),
    [
        ({"id": "int", "s": "struct<a:int,b:struct<a:int>>"}, []),
        ({"id": "int", "ID": "int"}, ["id twice in the SELECT, as id and ID"]),
        ({"s": "struct<a:int,A:int>"}, ["s.a twice in the SELECT, as s.a and s.A"]),
        ({"s": "struct<`a,b`:int,`a:b`:int,`A,b`:int>"},
         ["s.a,b twice in the SELECT, as s.a,b and s.A,b"]),
        ({"l": "array<struct<x:int,m:map<struct<k:int>,struct<v:int,v:int>>>>"},
         ["l.element.m.value.v twice in the SELECT"]),
        # Of columns that come twice Spark does not tell the types exactly.
        ({"S": "struct<a,b:int>", "s": "int"}, ["s twice in the SELECT, as S and s"]),
    ],
)  # fmt: skip
def test_names_that_come_twice(columns: dict[str, str], got: list[str]) -> None:
    given = [{"name": name, "type": ddl.lower(), "ddl": ddl} for name, ddl in columns.items()]
    problems = load()._doubled_problems(given)
    assert [problem["got"] for problem in problems] == [f"a column {one}" for one in got]
