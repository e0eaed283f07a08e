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
        adapter=SimpleNamespace(floodmark_plugin=True, floodmark_outlast=attempt),
        exceptions=SimpleNamespace(warn=warned.append, raise_compiler_error=refuse),
        print=printed.append,
        **more,
    )
    floodmark._masked = lambda text: text
    return floodmark, printed, warned


def test_a_table_that_fails_stops_no_other():
    """Nor do the files of a model. One error names all, since a warning may end the command (warn_error)."""
    floodmark, printed, warned = maintaining()
    floodmark._check_arguments = floodmark._check_names = lambda *given: None
    floodmark._maintained = lambda models: ["ledger.batch_log", "shop.a", "shop.b"]
    config = SimpleNamespace(materialized="incremental")
    floodmark._managed_nodes = lambda models: {
        name: SimpleNamespace(schema="shop", alias=name, name=name, config=config)
        for name in ("a", "b")
    }
    floodmark._node_setting = lambda node, name: {"path": "in"}
    floodmark._node_files = lambda node: {"on_loaded": "archive"}
    seen = []

    def table(id, *settings):
        seen.append(id)
        if id == "shop.a":
            raise ZeroDivisionError("another run wrote shop.a at the same time")
        return 1

    def tidy(id, settings, dry_run):
        seen.append(f"files of {id}")
        if id == "shop.a":
            raise ZeroDivisionError("a warning is an error")
        return 2

    floodmark._maintain_table, floodmark._tidy_files = table, tidy
    with pytest.raises(Refused) as refused:
        floodmark.maintain()
    assert str(refused.value) == (
        "floodmark, operation 'maintain': it failed for\n"
        "  - shop.a: another run wrote shop.a at the same time\n"
        "  - files of shop.a: a warning is an error\n"
        "All else is done. Correct the cause, and run it again"
    )
    assert seen == [
        *("ledger.batch_log", "shop.a", "shop.b"),
        *("files of shop.a", "files of shop.b"),
    ]
    assert printed == ["archived 2 files that shop.b has loaded", "2 statements ran."]
    assert warned == []


def test_the_ledger_comes_first():
    floodmark, _, _ = maintaining()
    floodmark._managed_nodes = lambda models: {}
    floodmark._ledger_exists = lambda: True
    floodmark.ledger_schema = lambda: "ledger"
    assert floodmark._maintained(None) == ["ledger.batch_log"]
    assert floodmark._maintained(["m"]) == []


@pytest.mark.parametrize(
    ("part", "strategy", "is_quarantine", "is_maintained"),
    [
        ("__cdc_state", "cdc", False, True),
        ("__cdc_state", "merge", True, False),
        ("__quarantine", "merge", True, True),
        ("__quarantine", "cdc", False, False),
        # It cannot be read: `maintain` fails for it, and says so.
        ("__quarantine", "merge", None, True),
    ],
)
def test_a_table_of_the_user_beside_a_model_is_left(part, strategy, is_quarantine, is_maintained):
    def answer(relation):
        return is_quarantine if is_quarantine is not None else 1 / 0

    floodmark, _, _ = maintaining()
    floodmark._is_quarantine = answer
    node = SimpleNamespace(config={"incremental_strategy": strategy})
    assert floodmark._is_maintained(node, part, "beside") == is_maintained


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
