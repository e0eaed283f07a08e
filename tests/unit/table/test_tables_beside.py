"""What a table beside the model's (state, quarantine) is made with, and gets later; without Spark."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from tests.support.macros import Refused, load

MODE = "delta.columnMapping.mode"
MAPPED = {MODE: "name"}
BESIDE = "shop.orders__quarantine"


def columns_of(types: dict[str, str]) -> list[dict[str, Any]]:
    return [{"name": name, "type": ddl.lower(), "ddl": ddl} for name, ddl in types.items()]


def made_with(types: dict[str, str], config: dict[str, str] | None = None) -> dict[str, str]:
    floodmark = load(config={"tblproperties": config})
    return floodmark._beside_properties(
        [*columns_of(types), {"name": "_floodmark_kind", "type": "string"}]
    )


@pytest.mark.parametrize("name", ["customer id", "a,b", "a;b", "{a}", "(a)", "a=b", "a\tb", "a\nb"])
def test_names_that_need_a_mapping_get_one(name: str) -> None:
    """The model's table may leave the column out, and a first load has none yet."""
    assert made_with({"id": "int", name: "int"}) == MAPPED
    assert made_with({"id": "int", "p": f"array<struct<a:int,`{name}`:int>>"}) == MAPPED


def test_other_names_need_none() -> None:
    assert made_with({"id": "int", "über-1": "int", "p": "struct<`a-b`:int,`c-d`:string>"}) == {}
    assert made_with({"id": "int"}, {MODE: "none"}) == {}


def test_a_model_that_has_one_gives_it_to_the_tables_beside_it() -> None:
    """By name, also where the model's is by id, which a table that is there cannot turn to."""
    assert made_with({"id": "int"}, MAPPED) == MAPPED
    assert made_with({"id": "int"}, {MODE: "id"}) == MAPPED


def beside(properties: dict[str, str], known: dict[str, str]) -> tuple[SimpleNamespace, list[str]]:
    """The macros beside a table with these columns, and what they send."""
    sent: list[str] = []
    floodmark = load()
    floodmark._execute = sent.extend
    floodmark._properties_of = lambda relation: properties
    floodmark._columns_of = lambda relation: columns_of(known)
    return floodmark, sent


@pytest.mark.parametrize(
    ("properties", "added", "is_set"),
    [
        ({}, {"new": columns_of({"net amount": "int"}), "fields": []}, True),
        ({MODE: "none"}, {"new": columns_of({"net amount": "int"}), "fields": []}, True),
        ({}, {"new": [], "fields": [{"name": "p.net amount", "ddl": "int"}]}, True),
        (MAPPED, {"new": columns_of({"net amount": "int"}), "fields": []}, False),
        ({}, {"new": columns_of({"net": "int"}), "fields": []}, False),
        ({}, {"new": [], "fields": []}, False),
    ],
)
def test_such_a_name_may_come_later(
    properties: dict[str, str], added: dict[str, list[dict[str, Any]]], is_set: bool
) -> None:
    floodmark, sent = beside(properties, {})
    floodmark._add_columns_beside(BESIDE, added)
    setting = f"alter table {BESIDE} set tblproperties ('{MODE}' = 'name')"
    assert sent[:1] == [setting] if is_set else setting not in sent
    assert len(sent) - is_set == bool(added["new"] + added["fields"])


@pytest.mark.parametrize(
    ("name", "properties"),
    [
        ("net amount", f" tblproperties ('{MODE}' = 'name')"),
        ("_metadata", " tblproperties ('delta.enableDeletionVectors' = 'false')"),
        ("_change_type", " tblproperties ('delta.enableChangeDataFeed' = 'false')"),
        ("amount", ""),
    ],
)
def test_a_quarantine_is_made_with_what_its_names_need(name: str, properties: str) -> None:
    types = {"id": "int", name: "int"}
    floodmark, sent = beside({}, types | {"_floodmark_id": "string"})
    floodmark._make_quarantine(BESIDE, columns_of(types))
    [made] = sent
    assert made.startswith(f"create table if not exists {BESIDE} (`id` int, `{name}` int, ")
    assert made.endswith(f"`_floodmark_id` string) using delta{properties}")


def test_a_table_of_the_user_gets_no_columns() -> None:
    floodmark, sent = beside({}, {"id": "int"})
    with pytest.raises(Refused, match="another table has that name: rename the other table"):
        floodmark._make_quarantine(BESIDE, columns_of({"amount": "int"}))
    assert [one.partition(" (")[0] for one in sent] == [f"create table if not exists {BESIDE}"]


@pytest.mark.parametrize(
    ("columns", "node", "is_ours"),
    [
        (["id", "_floodmark_id"], "orders", True),
        (["id", "_floodmark_state"], "orders", False),
        # A node may copy a quarantine; Spark sees no capitals.
        (["id", "_floodmark_id"], "Orders__Quarantine", False),
        # One that has lost its files.
        ([], "orders", True),
    ],
)
def test_whose_a_quarantine_is(columns: list[str], node: str, is_ours: bool) -> None:
    config = SimpleNamespace(materialized="table")
    known = SimpleNamespace(
        resource_type="model", schema="shop", name=node, alias=None, config=config
    )
    floodmark = load(
        graph=SimpleNamespace(nodes={f"model.shop.{node}": known}),
        run_query=lambda sql: SimpleNamespace(rows=[["shop", "orders__quarantine", False]]),
    )
    floodmark._describe = lambda relation: {"columns": columns_of(dict.fromkeys(columns, "int"))}
    beside = SimpleNamespace(schema="shop", identifier="orders__quarantine")
    assert floodmark._has_quarantine(beside) == is_ours


@pytest.mark.parametrize(
    ("name", "vectors", "mapping"),
    [
        ("id", "true", ""),
        ("customer id", "true", f", '{MODE}' = 'name'"),
        ("_metadata", "false", ""),
    ],
)
def test_a_state_table_is_made_with_what_its_names_need(
    name: str, vectors: str, mapping: str
) -> None:
    sql = load(this="shop.orders")._state_properties_sql(columns_of({name: "int"}))
    assert sql.endswith(f" tblproperties ('delta.enableDeletionVectors' = '{vectors}'{mapping})")


@pytest.mark.parametrize("strategy", ["merge", "cdc", "snapshot_diff"])
@pytest.mark.parametrize(
    ("ddl", "is_refused"),
    [("map<int,int>", True), ("variant", True), ("int", False), ("void", False)],
)
def test_a_key_that_is_refused_makes_no_quarantine(
    strategy: str, ddl: str, is_refused: bool
) -> None:
    """It would keep that type. What has no type yet may have one in the table."""
    floodmark, made = load(), []
    floodmark._quarantine = lambda *_, **__: made.append(BESIDE)
    floodmark._held_part = lambda batch: {}
    floodmark._leaves_open = lambda *_: False
    floodmark._select_columns = lambda run, sql: columns_of({"id": ddl})
    snapshot = {"version": None, "compared": [], "excepted": []}
    settings = {"strategy": strategy, "unique_key": ["ID"], "files": None, "snapshot": snapshot}
    settings["cdc"] = {"sequence_by": ["id"], "column_list": [], "except_column_list": []}
    run = {"settings": settings, "sql": "select 1"}
    judged = {"columns": columns_of({"id": ddl}), "rows_quarantined": 1}
    batch = {"kind": "incremental", "judged": judged}
    if is_refused:
        with pytest.raises(Refused, match="expected a type that can be compared"):
            floodmark._quarantine_held(run, batch, "select 1")
    else:
        floodmark._quarantine_held(run, batch, "select 1")
    assert made == [BESIDE] * (not is_refused)
