"""Whether the hashes that a table of snapshots keeps are of the types that its columns have now; without Spark."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from tests.support.macros import Refused, load


@pytest.fixture
def floodmark() -> SimpleNamespace:
    return load()


def source_of(types: dict[str, str], known: dict[str, Any]) -> dict[str, Any]:
    columns = [{"name": name, "type": ddl.lower(), "ddl": ddl} for name, ddl in types.items()]
    names = sorted(name.lower() for name in types)
    return {"columns": columns, "compared": names[:1], "beside": names[1:], "hashed": known}


@pytest.mark.parametrize(
    ("before", "now", "retyped"),
    [
        ("int", "int", False),
        ("STRING", "string", False),
        ("int", "bigint", True),
        ("decimal(10,2)", "decimal(12,2)", True),
        ("float", "double", True),
        ("date", "timestamp_ntz", True),
        ("array<int>", "array<bigint>", True),
        ("map<string,int>", "map<string,bigint>", True),
        ("map<int,string>", "map<bigint,string>", True),
        ("struct<a:int,b:string>", "struct<a:bigint,b:string>", True),
        ("array<struct<p:struct<a:int>>>", "array<struct<p:struct<a:bigint>>>", True),
        # A field behind the others is NULL in all rows before it.
        ("struct<a:int>", "struct<a:int,b:string>", False),
        ("array<struct<a:int>>", "array<struct<A:int,b:struct<c:int>>>", False),
        # By hand a field may go, or stand elsewhere.
        ("struct<a:int,b:int>", "struct<a:int>", True),
        ("struct<a:int,b:int>", "struct<b:int,a:int>", True),
        # What had no type was NULL.
        ("void", "int", False),
    ],
)
def test_a_value_of_another_type_has_another_hash(
    floodmark: SimpleNamespace, before: str, now: str, retyped: bool
) -> None:
    for columns in ({"V": now}, {"a": "int", "V": now}):
        known = {name.lower(): "int" for name in columns} | {"v": before}
        source = source_of(columns, {"types": known})
        assert floodmark._has_retyped_hash(source) is retyped, columns


def test_a_table_of_earlier_code_keeps_no_types(floodmark: SimpleNamespace) -> None:
    source = source_of({"v": "bigint"}, {"compared": ["v"], "beside": [], "added": []})
    assert floodmark._has_retyped_hash(source) is False


def test_a_column_that_came_since_is_told_by_its_name(floodmark: SimpleNamespace) -> None:
    assert floodmark._has_retyped_hash(source_of({"v": "int"}, {"types": {}})) is False


def test_the_table_says_what_its_hashes_are_of(floodmark: SimpleNamespace) -> None:
    floodmark._snapshot_made_by = lambda snapshot, key: "SCD 2 by id"
    run = {"settings": {"snapshot": {}, "unique_key": ["id"]}}
    source = source_of({"A": "int", "p": "struct<X:int>"}, {}) | {"added": ["n"], "scoped": []}
    kept = floodmark._snapshot_properties(run, source)["floodmark.compared"]
    assert '"types": {"a": "int", "p": "struct<X:int>"}' in floodmark._from_property(kept)


def test_a_field_stands_in_the_struct_that_has_it(floodmark: SimpleNamespace) -> None:
    """xxhash64 passes over NULLs and takes the fields of a struct one after another: its end tells whose a field is."""
    ddl = "struct<home:struct<phone:int>,phone:int>"
    sql = floodmark._hashed_value_sql("v", ddl)
    home, phone = (
        "if(v.`home` is null, null, ",
        "if(v.`home`.`phone` is null, null, 'phone'), v.`home`.`phone`",
    )
    assert sql == (
        f"if(v is null, null, struct(0, {home}'home'), {home}struct(0, {phone}, 1)), "
        "if(v.`phone` is null, null, 'phone'), v.`phone`, 1))"
    )


@pytest.mark.parametrize(
    ("mode", "said"),
    [("fail", "differ (gone: b)"), ("sync_all_columns", "differ (gone: b)"), ("ignore", None)],
)
def test_a_table_whose_select_is_refused_still_says_what_its_hashes_are_of(
    floodmark: SimpleNamespace, mode: str, said: str | None
) -> None:
    """By that a later run knows which column is gone."""
    written: list[str] = []
    floodmark._set_properties = lambda properties: written.append("properties")
    floodmark._snapshot_properties = lambda run, source: {}
    floodmark._snapshot_hash_sql = lambda source, columns: "hash"
    floodmark._execute = lambda statements: written.append("hashes")
    floodmark._target_columns = lambda run, columns: columns
    types = {"k": "int", "a": "int", "_floodmark_hash": "struct<a:bigint,b:bigint>"}
    table = [{"name": name, "type": ddl, "ddl": ddl} for name, ddl in {**types, "b": "int"}.items()]
    snapshot = {"output": "table", "scd_type": 1, "on_missing": "delete"}
    settings = {"snapshot": snapshot, "on_schema_change": mode, "strategy": "snapshot_diff"}
    run = {"settings": settings, "table_columns": table}
    source = source_of({"k": "int", "a": "int"}, {"compared": ["a", "b"], "beside": []})
    source |= {"rehash": True, "added": [], "version_type": "timestamp", "table": table}
    if said:
        with pytest.raises(Refused) as found:
            floodmark._align_snapshot(run, source)
        assert said in str(found.value)
    else:
        floodmark._align_snapshot(run, source)
    assert written == ([] if said else ["properties", "hashes", "properties"])
