"""A scope is asked of the SELECT and of the table: one that the table cannot answer is refused; without Spark."""

from __future__ import annotations

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
