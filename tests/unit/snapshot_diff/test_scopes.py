"""A scope is asked of the SELECT and of the table: one that the table cannot answer is refused; without Spark."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import pytest

from tests.support.macros import load


def columns_of(*names: str) -> list[dict[str, str]]:
    return [{"name": name, "type": "string", "ddl": "string"} for name in names]


@pytest.mark.parametrize(
    ("scope", "missing"),
    [
        (None, []),
        ("a = 'Region'", []),
        ("Region = 'EU'", ["region"]),
        ("`region`.code = 'EU' and note is null", ["region", "note"]),
        ("a.region = 'EU'", []),
    ],
)
def test_a_scope_names_columns_that_the_table_has(scope: str | None, missing: list[str]) -> None:
    """Its rows are asked before columns are added to it."""
    source = {"columns": columns_of("k", "a", "region", "note"), "table": columns_of("K", "A")}
    problems = load(this="shop.orders")._scope_problems(scope, source)
    assert [(problem["setting"], problem["got"], problem["expected"]) for problem in problems] == [
        ("snapshot_diff.scope", scope, f"columns of shop.orders, which has no {name}")
        for name in missing
    ]
    full = source | {"table": columns_of("k", "a", "region", "note")}
    assert load(this="shop.orders")._scope_problems(scope, full) == []


def test_the_table_is_asked_with_the_rest() -> None:
    floodmark = load(this="shop.orders")
    refused: list[list[dict[str, str]]] = []
    made = {"floodmark.snapshot_diff": floodmark._to_property("as it was made")}
    floodmark._properties_of = lambda relation: made
    floodmark._snapshot_type_problems = lambda run, source: []
    floodmark._refuse = lambda problems, rejects: refused.append(problems)
    run = {"settings": {"snapshot": {"scope": "region = 'EU'"}, "unique_key": ["k"]}}
    floodmark._scope_problems = lambda scope, source: [{"setting": scope}]
    floodmark._snapshot_made_by = lambda snapshot, key: "as it was made"
    floodmark._check_snapshot_table(run, {"table": [], "columns": []})
    assert refused == [[{"setting": "region = 'EU'"}]]


@pytest.mark.parametrize(
    ("settings", "scd_type", "compared", "beside"),
    [
        ({"compared": ["a"]}, 1, ["a", "region"], []),
        ({"excepted": ["region"]}, 1, ["a", "note", "region"], []),
        ({"compared": ["a"]}, 2, ["a"], ["note", "region"]),
        ({}, 2, ["a", "note", "region"], []),
    ],
)
@pytest.mark.parametrize("came_later", [False, True])
def test_what_a_scope_names_is_kept_up(
    settings: dict[str, list[str]],
    scd_type: int,
    compared: list[str],
    beside: list[str],
    came_later: bool,
) -> None:
    """A key that moved would lie in its old scope for ever. Hashes without the column are made anew once."""
    floodmark = load(this="shop.orders")
    snapshot = {"version": None, "scope": "Region = 'EU'", "compared": [], "excepted": [],
                "scd_type": scd_type, "output": "table"} | settings  # fmt: skip
    run: dict[str, Any] = {"settings": {"snapshot": snapshot, "unique_key": ["k"], "files": None,
                           "on_schema_change": "append_new_columns"}}  # fmt: skip
    names = columns_of("k", "a", "Region", "note")
    before = {"compared": ["a"], "beside": [], "added": ["region"] if came_later else []}
    source = {"columns": names, "table": names, "hashed": before, "scd_type": scd_type}
    floodmark._choose_compared(run, {"replaces": False}, source)
    assert (source["compared"], source["beside"]) == (compared, beside)
    assert source["rehash"]
    assert source["added"] == []
    told = "rows that have not changed since region came are NULL there"
    assert [told in text for text in run.get("warnings", [])] == [True] * came_later
    known = kept_by(floodmark, run, source)
    again = source | {"hashed": known}
    floodmark._choose_compared(run, {"replaces": False}, again)
    assert not again["rehash"]
    # Nor does a run without scope leave the column out, which would lie in an old scope for the next one.
    snapshot["scope"] = None
    run.pop("warnings", None)
    floodmark._choose_compared(run, {"replaces": False}, again)
    assert not again["rehash"] and again["compared"] == compared and not run.get("warnings")


def kept_by(floodmark: SimpleNamespace, run: dict[str, Any], source: Any) -> Any:
    """What the table says of its hashes behind such a batch."""
    kept = floodmark._snapshot_properties(run, source)["floodmark.compared"]
    return json.loads(floodmark._from_property(kept))
