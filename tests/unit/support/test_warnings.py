"""Warnings that wait until their batch is committed: with --warn-error the first one ends the node. Without Spark."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from dbt_common.events.functions import WarnErrorOptionsV2
from jinja2 import nodes

from tests.support.macros import Refused, load, parsed_macros

COMMITTED = "The batch is committed: --warn-error fails the node"


def loaded(warn_error: bool = False) -> SimpleNamespace:
    """The macros; `said` has what was warned of, and `logged` what dbt's output had before."""
    said: list[str] = []
    logged: list[str] = []

    def warn(sentence: str) -> None:
        said.append(sentence.removeprefix("floodmark, model 'shop.orders': "))
        if warn_error:
            raise Refused(sentence)

    def log(sentence: str, info: bool) -> None:
        assert info
        logged.append(sentence.removeprefix("floodmark, model 'shop.orders': "))

    floodmark = load(
        flags=SimpleNamespace(WARN_ERROR=warn_error), exceptions=SimpleNamespace(warn=warn), log=log
    )
    floodmark.said = said
    floodmark.logged = logged
    return floodmark


def load_batch(floodmark: SimpleNamespace, run: dict[str, Any]) -> list[str]:
    """Load a batch with two things to warn of; returns what was said before its commit."""
    before: list[str] = []

    def load_planned(run: dict[str, Any], batch: dict[str, Any]) -> dict[str, int]:
        for sentence in ("3 events are tied", "n has no type", "3 events are tied"):
            floodmark._warn_once(run, sentence)
        before.extend(floodmark.said)
        return {"rows_read": 3}

    floodmark._load_planned = load_planned
    assert floodmark._load_batch(run, {}) == {"rows_read": 3}
    return before


def test_warnings_that_end_nothing_are_given_at_once() -> None:
    """A run that dies, or whose batch is rejected, has said them."""
    floodmark = loaded()
    run: dict[str, Any] = {}
    assert load_batch(floodmark, run) == ["3 events are tied", "n has no type"]
    # Each is said once.
    floodmark._tell_warnings(run)
    assert len(floodmark.said) == 2 and floodmark.logged == []


@pytest.mark.parametrize(
    ("flags", "ends"),
    [
        ({"WARN_ERROR": True}, True),
        ({"WARN_ERROR": None, "WARN_ERROR_OPTIONS": {"error": "all"}}, True),
        ({"WARN_ERROR": None, "WARN_ERROR_OPTIONS": {"error": ["JinjaLogWarning"]}}, True),
        ({"WARN_ERROR": None, "WARN_ERROR_OPTIONS": {"error": ["NoNodesForSelectionCriteria"]}}, False),
        ({"WARN_ERROR": None, "WARN_ERROR_OPTIONS": {}}, False),
        ({"WARN_ERROR": False}, False),
    ],
)  # fmt: skip
def test_which_flags_have_a_warning_end_the_node(flags: dict[str, Any], ends: bool) -> None:
    if "WARN_ERROR_OPTIONS" in flags:
        named = {"JinjaLogWarning", "NoNodesForSelectionCriteria"}
        options = WarnErrorOptionsV2(**flags["WARN_ERROR_OPTIONS"], valid_error_names=named)
        flags = dict(flags, WARN_ERROR_OPTIONS=options)
    assert load(flags=SimpleNamespace(**flags))._ends_by_warnings() is ends


def test_under_warn_error_the_node_ends_behind_its_last_commit_with_all_of_them() -> None:
    floodmark = loaded(warn_error=True)
    run: dict[str, Any] = {"total": {"batches": 2}}
    for _ in range(2):
        load_batch(floodmark, run)
    assert floodmark.said == []
    # Something else may end the node before.
    assert floodmark.logged == ["3 events are tied", "n has no type"]
    with pytest.raises(Refused):
        floodmark._tell_violations(run)
    assert floodmark.said == [f"3 events are tied; n has no type. {COMMITTED}"]


def test_tied_events_are_warned_of_later() -> None:
    floodmark = loaded(warn_error=True)
    run = {"settings": {"unique_key": ["k"], "cdc": {"scd_type": 1, "sequence": "seq"}}}
    counts = {"keyless": 0, "unordered": 0, "rows_tied": 2, "tied_keys": ['{"k":1}']}
    floodmark._check_events(run, {"kind": "incremental"}, {"counts": counts})
    [sentence] = run["warnings"]
    assert sentence.startswith("2 events have the key and the sequence of another event but other")


def test_columns_without_a_type_are_warned_of_later_and_once_a_run() -> None:
    floodmark = loaded(warn_error=True)
    run: dict[str, Any] = {}
    floodmark._note_untyped(run, ["n"])
    floodmark._note_untyped(run, ["n"])
    [sentence] = run["warnings"]
    assert sentence.startswith("the SELECT gives n without a type")


@pytest.mark.parametrize(
    ("gaps", "timeout", "waiting", "said"),
    [
        ("warn", "1 hour", True, "1 gap in shop.events.seq, missing: 4"),
        ("wait", "1 hour", False, "1 gap in shop.events.seq, missing: 4. Rows from 4 on wait"),
        ("wait", "0 seconds", True, "missing: 4. They did not arrive within gap_timeout"),
    ],
)
def test_gaps_are_warned_of_later(gaps: str, timeout: str, waiting: bool, said: str) -> None:
    """They are found before the plan: the rows would never be loaded."""
    floodmark = loaded(warn_error=True)
    floodmark._missing_ranges = lambda *_: {"count": 1, "shown": ["4"], "first": 4}
    floodmark._last_wait = lambda run: None
    floodmark._now = lambda: 0
    floodmark._record = lambda *_: None
    run: dict[str, Any] = {
        "settings": {"watermark": SimpleNamespace(gaps=gaps, gap_timeout=timeout)},
        "state": {"last_batch_id": 1},
        "upstream": {"relation": "shop.events", "column": "seq"},
    }
    plan = {
        "family": "sequence", "is_waiting": True, "is_last": True, "ceiling": 5, "start_position": None,
        "first_position": 5, "low_position": 3, "high_position": 5, "high": "5",
    }  # fmt: skip
    floodmark._check_gaps(run, plan)
    assert plan["is_waiting"] is waiting
    [sentence] = run["warnings"]
    assert said in sentence


@pytest.mark.parametrize(
    ("column", "said"),
    [
        ("my col", "1 column has a name that Delta takes"),
        ("_metadata", "columns that cannot be read: '_metadata'. Their values"),
    ],
)
def test_columns_of_files_are_warned_of_later(column: str, said: str) -> None:
    floodmark = loaded(warn_error=True)
    floodmark._missed_separator = lambda *_: None
    run: dict[str, Any] = {"settings": {"files": {"rescued_data_column": None, "infers": True}}}
    floodmark._warn_of_names(run, f"struct<id:int,`{column}`:int>", "struct<id:int>")
    [sentence] = run["warnings"]
    assert said in sentence


@pytest.mark.parametrize(("rescued", "warns"), [("rest", 1), (False, 0)])
def test_what_spark_cannot_read_is_warned_of_where_it_would_be_rescued(
    rescued: str | bool, warns: int
) -> None:
    """Beside a `schema`, whose columns leave out what they do not name."""
    floodmark = loaded(warn_error=False)
    floodmark._missed_separator = lambda *_: None
    run: dict[str, Any] = {"settings": {"files": {"rescued_data_column": rescued, "infers": False}}}
    floodmark._warn_of_names(run, "struct<id:int,`my col`:int,``:int>", "struct<id:int>")
    assert len(run.get("warnings", [])) == warns
    assert all(
        "columns that cannot be read: ''. Their values" in sentence
        for sentence in run.get("warnings", [])
    )


@pytest.mark.parametrize("warn_error", [False, True])
def test_a_run_without_a_batch_warns_at_its_end(warn_error: bool) -> None:
    """Its result line is there by then, and what is due of its files is done."""
    floodmark = loaded(warn_error)
    run: dict[str, Any] = {
        "is_untouched": False, "is_stale": False, "recovered": None, "restate": None,
        "backfill": None, "replay": None, "waits_for": None,
    }  # fmt: skip
    done: list[str] = []
    floodmark._begin_run = lambda *_, **__: run
    floodmark._relax_constraints = lambda run: None
    floodmark._next_batch = lambda run: floodmark._warn_once(run, "rows from 4 on wait") or None
    floodmark._tidy_files = lambda *_: done.append("tidied") or 0
    floodmark._report = lambda *_: done.append("reported")
    settings = SimpleNamespace(strategy="append", files=SimpleNamespace(on_loaded="archive"))
    assert floodmark._load(settings, "select") is run
    if warn_error:
        with pytest.raises(Refused):
            floodmark._tell_violations(run)
    assert floodmark.said == ["rows from 4 on wait"]
    assert done == ["tidied", "reported"]


@pytest.mark.parametrize("severity", ["error", "warn"])
def test_a_live_stream_goes_on_behind_what_fails_its_node(severity: str) -> None:
    """Its micro-batch is committed, so the next start finds nothing wrong."""
    floodmark, passing = loaded(warn_error=True), []

    def stop(sentence: str, is_passing: bool = False) -> None:
        passing.append(is_passing)
        raise Refused(sentence)

    floodmark._stop = stop
    floodmark._result_sentence = lambda rule, result: "positive: 1 of 2 rows violates"
    floodmark._violated_rules = lambda batch: [[{"severity": severity}, {}]]
    batch = {"kind": "stream", "judged": {"results": [{}]}}
    with pytest.raises(Refused, match="expectation positive: 1 of 2 rows violates"):
        floodmark._note_violations({}, batch)
    assert passing == [True]


@pytest.mark.parametrize("kind", ["incremental", "replay"])
@pytest.mark.parametrize("severity", ["error", "warn"])
def test_a_run_fails_behind_its_last_batch(severity: str, kind: str) -> None:
    """Each run would load one batch, and what stands behind the batches would never be reached."""
    floodmark = loaded(warn_error=True)
    floodmark._stop = lambda sentence, is_passing: floodmark._warn(sentence)
    floodmark._result_sentence = lambda rule, result: f"{result} violates"
    floodmark._violated_rules = lambda batch: [[{"severity": severity}, batch["judged"]["of"]]]
    run: dict[str, Any] = {"total": {"batches": 2}}
    for of in ("1", "2"):
        floodmark._note_violations(run, {"kind": kind, "judged": {"results": [1], "of": of}})
    assert floodmark.said == []
    # A later batch may be rejected, and end the node without them.
    assert floodmark.logged == ["expectation 1 violates", "expectation 2 violates"]
    with pytest.raises(Refused):
        floodmark._tell_violations(run)
    told = "expectation 1 violates; expectation 2 violates"
    assert floodmark.said[0].startswith(f"{told}. The batch is committed: ")


def test_nothing_warns_before_the_commit() -> None:
    """What the settings alone say ends each run with --warn-error, until they are corrected."""
    direct = {
        name
        for name, (_, macro) in parsed_macros().items()
        for call in macro.find_all(nodes.Call)
        if isinstance(call.node, nodes.Getattr) and call.node.attr == "_warn"
    }
    assert direct == {"_warn_once", "_tell_warnings", "_stream_settings"}
