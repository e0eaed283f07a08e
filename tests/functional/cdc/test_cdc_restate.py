"""`restate`: rows made anew from a corrected feed are those of a full refresh, and of its oracle."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.support.cdc import (
    HISTORY,
    by_key,
    cdc,
    history_rows,
    land,
    latest_rows,
    random_histories,
    shuffled,
)
from tests.support.cdc_oracle import Event
from tests.support.harness import FULL, Project, sentence
from tests.support.rows import held

pytestmark = [pytest.mark.long("session"), pytest.mark.edge]

WAYS = {
    "latest": {},
    "partial_tracked": {"stored_as_scd_type": 2, "ignore_null_updates": True},
}
#: The others: SCD 2 is restated alike with and without ignored NULLs, whose memory is the wider one.
if FULL:
    WAYS |= {"tracked": {"stored_as_scd_type": 2}, "partial": {"ignore_null_updates": True}}
RESTATE = ("--vars", "{floodmark_restate: {from: 7}}")
SELECT = ("--select", *WAYS)


def test_a_corrected_feed_is_restated_from_a_sequence_on(
    make_project: Callable[..., Project],
) -> None:
    project = make_project("restate")
    wrong = random_histories(21, 60, nulls=True)
    # Correct below 7 is what it was; from 7 on other events, none for some keys, and keys that are new.
    other = [
        (key.replace("k1", "new"), event) for key, event in random_histories(22, 60, nulls=True)
    ]
    right = [(k, e) for k, e in wrong if e.sequence < 7] + [
        (k, e) for k, e in other if e.sequence >= 7
    ]
    land(project, "feed", shuffled(1, wrong))
    land(project, "corrected", shuffled(2, right))
    project.source("feed")
    for way, settings in WAYS.items():
        project.model(way, cdc("feed", step=2 if FULL else None, **settings))
    project.model("parts", cdc("feed", step=None, sequence_by=["seq", "arrived"]))
    check_what_cannot_be_restated(project)
    marks = {way: project.mark(way) for way in WAYS}
    project.sql(f"delete from {project.schema}.feed")
    project.sql(f"insert into {project.schema}.feed select * from {project.schema}.corrected")
    run = project.build(*RESTATE, *SELECT)
    assert all("CDC" in run.message[way] for way in WAYS)
    keys = by_key(right)

    def expect() -> None:
        latest = {"latest": (), "partial": (0, 1)}
        histories = {"tracked": (), "partial_tracked": (0, 1)}
        for way in WAYS:
            if way in latest:
                rows = latest_rows(keys, latest[way])
                assert held(project, way, "k, v, w") == rows, way
            else:
                rows = history_rows(keys, ignoring=histories[way])
                assert held(project, way, HISTORY) == rows, way

    expect()
    assert {way: project.mark(way) for way in WAYS} == marks
    for way in WAYS:
        kinds = [tuple(row) for row in project.ledger(way, "kind, reason, state")]
        assert kinds[-1] == ("backfill", "restate from 7", "committed")
    # What is remembered was made anew too: a full refresh of all events says the same after older ones came late.
    late = [(9, key, Event("u", 0, ("late", 1))) for key in list(keys)[:30]]
    land(project, "late", late)
    project.sql(f"insert into {project.schema}.feed select * from {project.schema}.late")
    project.build(*SELECT)
    for _, key, event in late:
        keys[key].append(event)
    expect()


def check_what_cannot_be_restated(project: Project) -> None:
    """What was not loaded yet, by a value that is no sequence, and where the sequence has several parts."""
    select = ("--select", "latest", "parts")
    run = project.dbt("run", *RESTATE, *select)
    expected = 'floodmark_restate: got {"from": 7}; expected {from: <sequence>} on a cdc model that reads a table and was loaded before. Run the model first'
    assert expected in sentence(run.message["latest"]), run.message["latest"]
    project.build()
    run = project.dbt("run", "--vars", "{floodmark_restate: {from: soon}}", *select)
    assert (
        'floodmark_restate.from: got "soon"; expected a value of the sequence, bigint. Write it as text'
        in sentence(run.message["latest"])
    )
    assert "A sequence of several parts has no such value: use --full-refresh" in sentence(
        run.message["parts"]
    )


def test_a_backfill_finds_the_deletes_that_are_forgotten(
    make_project: Callable[..., Project],
) -> None:
    """They lie behind its range, or before it."""
    project = make_project("forgotten")
    events = [
        (1, "behind", Event("u", 10, ("a", 1))),
        (3, "behind", Event("d", 20)),
        (1, "before", Event("d", 20)),
        (2, "before", Event("u", 15, ("late", 1))),
        (2, "kept", Event("u", 10, ("b", 1))),
    ]
    land(project, "feed", events)
    project.source("feed")
    ways = {"brief": {}, "brief_partial": {"ignore_null_updates": True}}
    for name, settings in ways.items():
        project.model(name, cdc("feed", step=None, tombstone_ttl="1 microsecond", **settings))
    project.build()
    for first in (1, 2):
        for name in ways:
            # As if the deletes had been applied long ago.
            project.sql(
                f"update {project.schema}.{name}__cdc_state set _floodmark_at = timestamp'2000-01-01'"
            )
        project.build("--vars", f"{{floodmark_backfill: {{from: {first}, to: {first + 1}}}}}")
        for name in ways:
            assert held(project, name, "k, v") == {"kept": [("b",)]}, (first, name)
    for name in ways:
        assert project.ledger(name, "kind, high")[1:] == [("backfill", "1"), ("backfill", "2")]


def test_a_replay_finds_the_deletes_of_rows_that_came_late_and_waited(
    make_project: Callable[..., Project],
) -> None:
    """Both took less than the deletes are remembered, and the sum is more."""
    project = make_project("waiting")
    s = project.schema
    deletes = [(1, key, Event("d", 20)) for key in ("held", "long_gone")]
    land(project, "feed", [(1, "kept", Event("u", 10, ("b", 1))), *deletes])
    project.source("feed")
    rule = {"name": "positive", "expect": "w > 0", "on_violation": "quarantine"}
    config = {"expectations": [rule]}
    project.model("brief", cdc("feed", step=None, tombstone_ttl="30 days", config=config))
    project.build()
    late = [(2, key, Event("u", 15, ("late", -1))) for key in ("held", "long_gone")]
    land(project, "late", late)
    project.sql(f"insert into {s}.feed select * from {s}.late")
    project.build()
    # As if the delete had been applied 32 days ago, and the row had come five days later; another delete was over then.
    project.sql(
        f"update {s}.brief__cdc_state set _floodmark_at = current_timestamp() - "
        "if(k = 'held', interval 32 days, interval 60 days)"
    )
    project.sql(
        f"update {s}.brief__quarantine set _floodmark_quarantined_at = current_timestamp() - interval 27 days"
    )
    project.build("--vars", "{floodmark_replay: {set: {w: '1'}}}")
    assert held(project, "brief", "k, v") == {"kept": [("b",)], "long_gone": [("late",)]}
