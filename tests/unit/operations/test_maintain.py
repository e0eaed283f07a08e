"""`maintain`: what fails stops nothing else, and partitioned tables come to an end. No Spark."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from tests.support.macros import Refused, called, load


def maintaining(**more):
    """The macros, what they print, and what they warn of."""
    printed, warned = [], []

    def attempt(macro, *arguments):
        try:
            return {"value": called(macro)(*arguments), "error": None}
        except ZeroDivisionError as exc:
            return {"value": None, "error": str(exc)}

    def refuse(message):
        raise Refused(message)

    floodmark = load(
        adapter=SimpleNamespace(floodmark_plugin=True, floodmark_try=attempt),
        exceptions=SimpleNamespace(warn=warned.append, raise_compiler_error=refuse),
        print=printed.append,
        **more,
    )
    floodmark._masked = lambda text: text
    return floodmark, printed, warned


def test_a_table_that_fails_stops_no_other():
    floodmark, printed, warned = maintaining()
    floodmark._check_arguments = floodmark._check_names = lambda *given: None
    floodmark._maintained = lambda models: ["ledger.batch_log", "shop.a", "shop.b"]
    floodmark._maintain_files = lambda models, dry_run: 0
    seen = []

    def table(id, *settings):
        seen.append(id)
        if id == "shop.a":
            raise ZeroDivisionError("no space")
        return 1

    floodmark._maintain_table = table
    with pytest.raises(Refused, match=r"failed for shop\.a, and the warnings above say why"):
        floodmark.maintain()
    assert seen == ["ledger.batch_log", "shop.a", "shop.b"]
    assert printed == ["2 statements ran."]
    assert warned == ["floodmark maintain: shop.a: no space"]


def test_the_ledger_comes_first():
    floodmark, _, _ = maintaining()
    floodmark._managed_nodes = lambda models: {}
    floodmark._ledger_exists = lambda: True
    floodmark.ledger_schema = lambda: "ledger"
    assert floodmark._maintained(None) == ["ledger.batch_log"]
    assert floodmark._maintained(["m"]) == []


@pytest.mark.parametrize(
    ("files", "partitions", "statements"),
    [(30, 30, 0), (36, 30, 0), (37, 30, 1), (8, None, 1), (7, None, 0)],
)
def test_a_small_file_a_partition_is_left(files, partitions, statements):
    """OPTIMIZE compacts within partitions: behind it there is one file in each, however small."""
    floodmark, _, _ = maintaining(
        run_query=lambda sql: SimpleNamespace(rows=[[partitions]]),
    )
    day = {"name": "day"} | ({"is_partition": True} if partitions else {})
    floodmark._columns_of = lambda relation: [{"name": "id"}, day]
    floodmark._detail = lambda id: {"files": files, "bytes": files * 1000}
    floodmark._days_since_vacuum = lambda id: 0
    assert floodmark._maintain_table("shop.a", True, 16, 8, 7) == statements


def test_a_table_may_be_called_as_a_word_of_deltas():
    floodmark, printed, _ = maintaining()
    floodmark._detail = lambda id: {"files": 9, "bytes": 9}
    floodmark._files_left = lambda id: 1
    floodmark._days_since_vacuum = lambda id: 8
    assert floodmark._maintain_table("shop.history", True, 16, 8, 7) == 2
    assert [line.partition(" (")[0] for line in printed] == [
        "would run: optimize shop.`history`",
        "would run: vacuum shop.`history`",
    ]
