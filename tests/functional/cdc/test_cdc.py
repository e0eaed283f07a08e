"""SEMANTICS.md, "CDC": every case by name, and random histories against an oracle in plain Python."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

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
from tests.support.cdc_oracle import Event, parse, scd1, scd2
from tests.support.golden import golden
from tests.support.harness import FILTERED, FULL, Project
from tests.support.rows import by_first, held

pytestmark = pytest.mark.long("thrift")

SCD_1 = {
    "1": ("ua@10 ub@20", "b"),
    "2": ("ub@20 / ua@10", "b"),
    "3": ("ua@10 / d@20 / ux@15", None),
    "4": ("d@20 / ux@10", None),
    "5": ("d@20 / ux@30", "x"),
    "6": ("d@20 / ux@20", "x"),
    "7": ("ua@10 / d@10", "a"),
    "8": ("ua@20 / d@15", "a"),
    "9": ("d@10 / d@5 / ux@8", None),
    "deleted_twice": ("ua@10 d@20 / ub@30 / d@40 / ux@35", None),
    "deleted_twice_long_ago": ("ua@10 d@20 / ub@30 / d@40 / ux@25", None),
    "lifted_and_deleted": ("d@20 / ua@30 / d@25 d@31 / ux@30", None),
    "lifted_and_not_deleted": ("d@20 / ua@30 / d@25", "a"),
}
SCD_2 = {
    "1": ("ua@10 ub@20 d@30 uc@40", "a[10,20) b[20,30) c[40,-)"),
    "2": ("ua@10 / ub@5", "b[5,10) a[10,-)"),
    "3": ("ua@10 uc@20 / ub@15", "a[10,15) b[15,20) c[20,-)"),
    "4": ("ua@10 ub@30 / d@20", "a[10,20) b[30,-)"),
    "5": ("ua@10 d@20 / d@15", "a[10,15)"),
    "6": ("ua@10 d@20 / d@15 / ux@17", "a[10,15) x[17,20)"),
    "7": ("d@20 / ux@10", "x[10,20)"),
    "8": ("d@20 / ux@30", "x[30,-)"),
    "9": ("ua@10 ua@20 / ub@30", "a[10,30) b[30,-)"),
    "10": ("ua@10 / ua@10", "a[10,-)"),
    "11": ("ua@10 d@10", ""),
    "split_run": ("ua@10 ua@30 / ub@20", "a[10,20) b[20,30) a[30,-)"),
    "joined_runs": ("ua@10 ub@20 ua@30 / d@40 / ua@5", "a[5,20) b[20,30) a[30,40)"),
    "deleted_inside": ("ua@10 ua@20 ua@30 / d@15 / d@20 / ux@25", "a[10,15) x[25,30) a[30,-)"),
}


#: The customers of tests/golden/cdc: (batch, customer, event).
GOLDEN = [
    (batch, customer, Event(op, sequence, (city,) if city else ()))
    for batch, customer, sequence, op, city in golden("cdc", "events")
]


def rows_of(text: str) -> list[tuple[Any, ...]]:
    """`a[10,20) b[20,-)` as rows."""
    found = [part.replace("[", ",").rstrip(")").split(",") for part in text.split()]
    return [(value, int(start), None if end == "-" else int(end)) for value, start, end in found]


def numbered(cases: dict[str, tuple[str, Any]]) -> list[tuple[int, str, Event]]:
    return [
        (arrived, name, event)
        for name, (history, _) in cases.items()
        for arrived, batch in enumerate(parse(history), start=1)
        for event in batch
    ]


def orderly(seed: int, events: list[tuple[str, Event]]) -> list[tuple[int, str, Event]]:
    """Each batch above the ones before, but the last one: a fifth of the events, late."""
    chance = random.Random(seed)
    last, width = (4, 4) if FULL else (3, 6)
    return [
        (last if chance.random() < 0.2 else 1 + (event.sequence - 1) // width, key, event)
        for key, event in events
    ]


#: What runs in full alone: `tracked` in any order, and the other pairs of setting and way of loading. For ignored NULLs a
#: list is what `true` comes to, so a list in any order shows SCD 1, and a list at once and `true` in order show SCD 2.
ONLY_V = {"stored_as_scd_type": 2, "track_history_column_list": ["v"]}
TRACKED = ("tracked_steps", "tracked_once") if FULL else ()
IGNORING: dict[str, tuple[Any, tuple[int, ...]]] = {"all": (True, (0, 1)), "one": (["v"], (0,))}
#: Name -> feed and step of a model that ignores NULLs.
PARTIAL: dict[str, tuple[str, int | None]] = {
    "scd1_one": ("nulls", 1),
    "scd2_one": ("nulls", None),
    "scd2_all_in_order": ("nulls_in_order", 1),
}
if FULL:
    PARTIAL |= {f"scd{scd}_all": ("nulls", 1) for scd in (1, 2)}
    PARTIAL |= {f"scd{scd}_all_once": ("nulls", None) for scd in (1, 2)}
    PARTIAL |= {"scd1_one_once": ("nulls", None), "scd2_one_steps": ("nulls", 1)}
    PARTIAL |= {"scd2_one_in_order": ("nulls_in_order", 1)}


@dataclass
class Story:
    """All models, loaded in one run; and the events of each key of the random feeds."""

    project: Project
    feed: dict[str, list[Event]]
    in_order: dict[str, list[Event]]
    nulls: dict[str, list[Event]]

    def held(self, model: str, columns: str, cases: str = "random") -> dict[str, Any]:
        """The rows of the random keys, of the cases that have a `name`, or of the `golden` customers."""
        customers = {customer for _, customer, _ in GOLDEN}
        return {
            key: found
            for key, found in held(self.project, model, columns).items()
            if cases == ("random" if key in self.feed else "golden" if key in customers else "name")
        }


@pytest.fixture(scope="module")
def story(make_project: Callable[..., Project]) -> Story:
    """Rows cost nothing and batches do: the cases arrive together with the random histories."""
    project = make_project("story")
    histories = random_histories(7, 240)
    once_each = list({(key, event.sequence): (key, event) for key, event in histories}.values())
    nulls = random_histories(11, 240, nulls=True)
    land(project, "one", GOLDEN + numbered(SCD_1) + shuffled(1, histories))
    land(project, "two", GOLDEN + numbered(SCD_2) + shuffled(1, histories))
    land(project, "in_order", orderly(2, once_each))
    land(project, "nulls", shuffled(3, nulls))
    land(project, "nulls_in_order", orderly(4, nulls))
    project.source("one", "two", "in_order", "nulls", "nulls_in_order")
    for kind, step in {"steps": 1, "once": None}.items():
        project.model(f"scd1_{kind}", cdc("one", step=step))
        project.model(f"scd2_{kind}", cdc("two", step=step, stored_as_scd_type=2))
        if f"tracked_{kind}" in TRACKED:
            project.model(f"tracked_{kind}", cdc("two", step=step, **ONLY_V))
    project.model("tracked_in_order", cdc("in_order", **ONLY_V))
    for model, (feed, step) in PARTIAL.items():
        ignored = IGNORING[model.split("_")[1]][0]
        settings = {"stored_as_scd_type": int(model[3]), "ignore_null_updates": ignored}
        project.model(model, cdc(feed, step=step, **settings))
    project.build(*FILTERED)
    return Story(project, by_key(histories), by_key(once_each), by_key(nulls))


def test_every_case_of_the_rules(story: Story) -> None:
    project = story.project
    expected_1 = {name: [(row,)] for name, (_, row) in SCD_1.items() if row}
    expected_2 = {
        name: sorted(rows_of(rows), key=repr) for name, (_, rows) in SCD_2.items() if rows
    }
    for kind in ("steps", "once"):
        assert story.held(f"scd1_{kind}", "k, v", "name") == expected_1
        found = story.held(f"scd2_{kind}", "k, v, __start_at, __end_at", "name")
        assert found == expected_2
    columns = [row[0] for row in project.sql(f"describe {project.schema}.scd2_steps")]
    assert columns == ["k", "v", "w", "__start_at", "__end_at", "_floodmark_sequence"]
    columns = [row[0] for row in project.sql(f"describe {project.schema}.scd1_steps")]
    assert columns == ["k", "v", "w", "_floodmark_sequence"]
    for name, (history, row) in SCD_1.items():
        assert scd1(e for batch in parse(history) for e in batch) == ((row,) if row else None), name
    for name, (history, rows) in SCD_2.items():
        assert scd2(e for batch in parse(history) for e in batch) == rows_of(rows), name


def test_the_golden_tables(story: Story) -> None:
    for kind in ("steps", "once"):
        latest = story.held(f"scd1_{kind}", "k, v", "golden")
        assert latest == by_first(golden("cdc", "latest"))
        history = story.held(f"scd2_{kind}", "k, v, __start_at, __end_at", "golden")
        assert history == by_first(golden("cdc", "history"))


def test_nulls_that_are_ignored_in_any_order(story: Story) -> None:
    for model in PARTIAL:
        ignoring = IGNORING[model.split("_")[1]][1]
        if model.startswith("scd1"):
            rows = held(story.project, model, "k, v, w")
            assert rows == latest_rows(story.nulls, ignoring), model
        else:
            rows = held(story.project, model, HISTORY)
            assert rows == history_rows(story.nulls, ignoring=ignoring), model


def test_any_order_and_any_split_give_the_oracles_table(story: Story) -> None:
    project, tracked = story.project, slice(0, 1)
    for kind in ("steps", "once"):
        assert story.held(f"scd1_{kind}", "k, v, w") == latest_rows(story.feed)
        assert story.held(f"scd2_{kind}", HISTORY) == history_rows(story.feed)
    for model in TRACKED:
        assert story.held(model, HISTORY) == history_rows(story.feed, tracked=tracked)
    in_order = history_rows(story.in_order, tracked=tracked)
    assert held(project, "tracked_in_order", HISTORY) == in_order
    # Every batch once more, in the other order: nothing changes, and nothing is written.
    models = ("scd1_once", "scd2_once")
    before = {model: project.rows(model) for model in models}
    version = project.version("scd2_once")
    for feed in ("one", "two"):
        project.sql(f"update {project.schema}.{feed} set arrived = 11 - arrived")
    project.build("--select", *models)
    assert {model: project.rows(model) for model in models} == before
    assert project.version("scd2_once") == version
