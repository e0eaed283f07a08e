"""What `floodmark status` asks again where a source or a quarantine cannot be read; without Spark."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from dbt_floodmark.cli.status import _rows
from dbt_floodmark.errors import FloodmarkError
from tests.support.macros import load

MODELS = [
    SimpleNamespace(model_id=f"shop.{name}", unique_id=f"model.shop.{name}")
    for name in ("orders", "stores")
]


@pytest.mark.parametrize(
    ("broken", "told"),
    [
        (set(), "True, True"),
        ({"source"}, "False, True"),
        ({"quarantine"}, "True, False"),
        ({"source", "quarantine"}, "False, False"),
    ],
)
def test_what_cannot_be_read_hides_nothing_else(broken: set[str], told: str) -> None:
    def query(text: str) -> list[dict[str, Any]]:
        asked = text.partition("_status_sql(")[2].partition("]")
        reads = asked[2].removeprefix(", ").split(")")[0] or "True, True"
        source, quarantine = reads.split(", ")
        if "orders" in asked[0]:
            for name, is_read in (("source", source), ("quarantine", quarantine)):
                if name in broken and is_read == "True":
                    raise FloodmarkError(f"no {name}")
        models = [one.model_id for one in MODELS if one.unique_id in asked[0]]
        return [{"model": model, "reads": reads} for model in models]

    rows = _rows(cast(Any, SimpleNamespace(query=query)), cast(Any, MODELS))
    orders, stores = rows
    assert (orders["model"], orders["reads"]) == ("shop.orders", told)
    assert bool(orders["source_error"]) == bool(broken)
    assert (stores["model"], stores["reads"], stores["source_error"]) == (
        "shop.stores",
        "True, True",
        None,
    )


@pytest.mark.parametrize("counts_open", [True, False])
def test_no_quarantine_is_read_where_none_is_asked_for(counts_open: bool) -> None:
    floodmark = load(execute=True)
    floodmark._ledger_exists = lambda: False
    floodmark._managed_nodes = lambda models=None: {}
    floodmark._nodes_with_quarantine = lambda models: [{"name": "orders"}]
    floodmark._node_id = lambda node: "shop.orders"
    floodmark._quarantine_of = lambda node: "shop.orders__quarantine"
    floodmark._check_arguments = lambda *given: None
    floodmark.ledger_schema = lambda: "ledger"
    sql = floodmark._status_sql(None, True, counts_open)
    assert ("from shop.orders__quarantine where _floodmark_state = 'open'" in sql) == counts_open


NOW = 1_700_000_000_000_000


@pytest.mark.parametrize(
    ("family", "greatest", "max_future", "waiting", "asked"),
    [
        ("timestamp", "2023-11-15 22:13:20.000000", None, 0, None),
        ("timestamp", "2023-11-15 22:13:20.000001", None, 7, "timestamp'2023-11-15 22:13:20.000000+00:00'"),
        ("timestamp", "2023-11-14 23:13:20.000001", "1 hour", 7, "timestamp'2023-11-14 23:13:20.000000+00:00'"),
        ("date", "2023-11-17 00:00:00.000000", "1 day", 7, "date'2023-11-15'"),
        ("timestamp", "+11476-08-15 05:20:00.000000", None, 7, "timestamp'2023-11-15 22:13:20.000000+00:00'"),
        ("timestamp", "2024-01-01 00:00:00.000000", "soon", None, None),
        ("timestamp", None, None, 0, None),
        ("sequence", "5", None, 0, None),
        ("version", "5", None, 0, None),
        (None, None, None, None, None),
    ],
)  # fmt: skip
def test_rows_that_wait_are_counted_in_the_source(
    family: str | None, greatest: str | None, max_future: str | None, waiting: int | None, asked: str | None
) -> None:  # fmt: skip
    """Also those that came since the last batch; a run that had nothing to load has none."""
    sent: list[str] = []
    floodmark = load(run_query=lambda sql: sent.append(sql) or SimpleNamespace(rows=[[7]]))
    floodmark._now = lambda: NOW
    given = {"column": "at"} | ({"max_future": max_future} if max_future else {})
    node = {"config": {"watermark": given}}
    upstream = {"relation": "shop.events", "column": "at", "family": family}
    assert floodmark._rows_ahead(SimpleNamespace(**node), upstream, greatest) == waiting
    assert sent == (
        [f"select count(*) as n from shop.events where `at` > {asked}"] if asked else []
    )
    assert floodmark._rows_ahead(SimpleNamespace(**node), None, None) is None
