"""What dbt docs says of a model's rules."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import pytest

from dbt_floodmark.adapter import rule_docs
from dbt_floodmark.adapter.rule_docs import describe


def node(rules: Any, in_meta: bool = False, description: str = "Invoices.", **config: Any) -> Any:
    columns = {
        name: SimpleNamespace(description=text)
        for name, text in (("amount", "In rupees."), ("store_id", ""), ("total_amount", "The sum."))
    }
    config = {"materialized": "incremental", **config}
    return SimpleNamespace(
        description=description,
        columns=columns,
        config=config if in_meta else {"expectations": rules, **config},
        meta={"floodmark": {"expectations": rules}} if in_meta else {},
    )


def in_relation(column: str, relation: list[str], its: str) -> str:
    asked = {"column": column, "relation": relation, "its": its}
    return f"floodmark_in_relation('{json.dumps(asked).encode().hex()}')"


@pytest.mark.parametrize("in_meta", [False, True])
def test_rules_stand_behind_the_description_and_at_their_columns(in_meta: bool) -> None:
    model = node(
        [
            {
                "name": "positive",
                "expect": "amount > 0",
                "on_violation": "quarantine",
                "tags": ["finance", "daily"],
            },
            {
                "name": "known",
                "expect": in_relation("store_id", ["s", "stores"], "id"),
                "where": "Amount < 9",
            },
            {"name": "once", "unique": ["store_id", "amount"]},
            {
                "name": "fresh",
                "fresh_within": "1 day",
                "column": "loaded_at",
                "on_violation": "fail",
            },
            {"name": "some", "rows": {"min": 1, "max": 9}, "tags": "arrival"},
        ],
        in_meta,
    )
    describe(model)
    assert model.description == (
        "Invoices.\n\n**Expectations**\n\n"
        "- `positive` (quarantine): `amount > 0` (tags: finance, daily)\n"
        "- `known` (warn): `store_id in s.stores.id` where `Amount < 9`\n"
        "- `once` (warn): `store_id`, `amount` unique in a batch\n"
        "- `fresh` (fail): `loaded_at` not older than 1 day\n"
        "- `some` (warn): rows in a batch: min 1, max 9 (tags: arrival)"
    )
    assert model.columns["amount"].description == (
        "In rupees. Expected: `amount > 0` (quarantine); `store_id in s.stores.id` where `Amount < 9` (warn); "
        "`store_id`, `amount` unique in a batch (warn)."
    )
    assert model.columns["store_id"].description.startswith("Expected: `store_id in s.stores.id`")
    assert model.columns["total_amount"].description == "The sum."


@pytest.mark.parametrize(
    "rules", [None, [], "amount > 0", ["amount > 0"], [{"expect": "amount > 0"}]]
)
def test_what_is_no_rule_says_nothing(rules: Any) -> None:
    model = node(rules, description="")
    describe(model)
    assert model.description == "" and model.columns["amount"].description == "In rupees."


@pytest.mark.parametrize("materialized", ["view", "table", "ephemeral", "snapshot", "seed"])
@pytest.mark.parametrize("in_meta", [False, True])
def test_rules_that_nobody_checks_are_not_listed(materialized: str, in_meta: bool) -> None:
    rules = [{"name": "positive", "expect": "amount > 0"}]
    other = node(rules, in_meta, materialized=materialized)
    describe(other)
    assert other.description == "Invoices." and other.columns["amount"].description == "In rupees."


@pytest.mark.parametrize(
    ("persisted", "of_model", "of_column"),
    [
        ({"relation": True}, False, True),
        ({"columns": True}, True, False),
        ({"relation": True, "columns": True}, False, False),
        ({"relation": False}, True, True),
    ],
)
def test_what_dbt_persists_and_compares_stays(
    persisted: dict[str, bool], of_model: bool, of_column: bool
) -> None:
    model = node([{"name": "positive", "expect": "amount > 0"}], persist_docs=persisted)
    describe(model)
    assert ("positive" in model.description) is of_model
    assert ("Expected" in model.columns["amount"].description) is of_column


@pytest.mark.parametrize("compiles", [True, False])
def test_the_manifest_of_the_command_before_stays_where_dbt_keeps_it(
    monkeypatch: pytest.MonkeyPatch, compiles: bool
) -> None:
    written: list[Any] = []
    monkeypatch.setattr(rule_docs, "write_manifest", lambda *given: written.append(given))
    task = SimpleNamespace(
        manifest=SimpleNamespace(nodes={}),
        config=SimpleNamespace(project_target_path="target"),
        args=SimpleNamespace(compile=compiles),
    )
    assert rule_docs.list_rules(lambda self: "catalog")(task) == "catalog"  # type: ignore[arg-type, return-value]
    assert bool(written) is compiles


def test_rules_that_the_config_takes_out_are_not_described() -> None:
    """An empty list in the config goes before rules in meta: a run asks none."""
    model = node([{"name": "positive", "expect": "amount > 0"}], in_meta=True, expectations=[])
    describe(model)
    assert model.description == "Invoices."
