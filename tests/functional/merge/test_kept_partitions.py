"""insert_overwrite whose partitions follow from the watermark in another way than those of the table."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.support.harness import Project, Runs, incremental, table

pytestmark = [pytest.mark.long("session"), pytest.mark.edge]

DAY, MONTH = "cast(ts as date)", "cast(date_trunc('month', ts) as date)"
TEXT = "date_format(ts, '{}')"


def overwriting(part: str, name: str = "part", step: str = "", **config: object) -> str:
    return incremental(
        table("events"),
        f"id, ts, {part} as {name}",
        incremental_strategy="insert_overwrite",
        partition_by=name,
        watermark={"column": "ts"} | ({"step": step} if step else {}),
        **config,
    )


#: How a model begins and how it goes on: what the second is taken for, and what the first is known as.
CHANGED = {
    "coarser": (overwriting(DAY), overwriting(MONTH), "part by month", "part by day"),
    "finer": (overwriting(MONTH), overwriting(DAY), "part by day", "part by month"),
    "spelt": (
        overwriting(TEXT.format("yyyy-MM-dd")),
        overwriting(TEXT.format("yyyyMMdd")),
        "part by yyyyMMdd",
        "part by yyyy-MM-dd",
    ),
    "unsaid": (overwriting(DAY), overwriting(MONTH), "part by month", "partitions"),
    # The first step has a row of New Year's Day alone, a Monday: as if the table were by month, too.
    "stepped": (
        overwriting(DAY, step="1 day"),
        overwriting(MONTH, step="1 day"),
        "part by month",
        "part by day",
    ),
}
ADDED = overwriting(DAY, "other", on_schema_change="append_new_columns")


def known(project: Project, model: str) -> dict[str, Any] | None:
    """What the table says of its partitions."""
    properties = dict(project.sql(f"show tblproperties {project.schema}.{model}"))
    said = properties.get("floodmark.partitions")
    return json.loads(bytes.fromhex(said)) if said else None


@pytest.fixture(scope="module")
def story(make_project: Callable[..., Project]) -> Runs:
    """A load, changed SELECTs and a row, the SELECTs of before."""
    project = make_project("kept")
    s = project.schema
    project.sql(f"create table {s}.events (id int, ts timestamp) using delta")
    project.sql(
        f"insert into {s}.events values (1, timestamp'2024-01-01 08:00:00Z'), (2, timestamp'2024-01-20 08:00:00Z')"
    )
    project.source("events")
    for name, (first, _, _, _) in CHANGED.items():
        project.model(name, first)
    for name in ("added", "adopted"):
        project.model(name, overwriting(DAY))
    project.model("narrowed", overwriting(MONTH))
    story = Runs(project)
    story.run("first")
    for name in ("unsaid", "adopted"):
        project.sql(f"alter table {s}.{name} unset tblproperties ('floodmark.partitions')")
    left = json.dumps({"column": "part", "ways": ["day"]}).encode().hex()
    project.sql(f"alter table {s}.narrowed set tblproperties ('floodmark.partitions' = '{left}')")
    for name, (_, later, _, _) in CHANGED.items():
        project.model(name, later)
    project.model("added", ADDED)
    project.sql(f"insert into {s}.events values (3, timestamp'2024-01-25 08:00:00Z')")
    story.run("changed")
    for name, (first, _, _, _) in CHANGED.items():
        project.model(name, first)
    project.model("added", overwriting(DAY))
    story.run("as before")
    project.model("coarser", CHANGED["coarser"][1])
    story.run("refreshed", "--full-refresh", "--select", "coarser")
    return story


def ids(story: Runs, model: str) -> list[int]:
    return sorted(
        row for (row,) in story.project.sql(f"select id from {story.project.schema}.{model}")
    )


@pytest.mark.parametrize("name", CHANGED)
def test_rows_would_be_there_twice_or_lost(story: Runs, name: str) -> None:
    _, _, got, kept = CHANGED[name]
    assert (
        f'partition_by: got "{got}"; expected {kept} as the rows of {story.project.schema}.{name} have them. '
        "Change partition_by and its column in the SELECT back, or run once with --full-refresh: otherwise rows would be there twice, or lost"
    ) in story.said("changed", name)


def test_a_partition_that_the_rows_do_not_have(story: Runs) -> None:
    assert (
        f'partition_by: got "other"; expected a column of {story.project.schema}.added. Run once with --full-refresh: '
        "the rows that are there have no value in it, so a batch would load them a second time"
    ) in story.said("changed", "added")


@pytest.mark.parametrize("name", [*CHANGED, "added"])
def test_nothing_was_written_and_the_select_of_before_loads_on(story: Runs, name: str) -> None:
    assert story.runs["changed"].status[name] == "error"
    assert story.runs["as before"].status[name] == "success", story.said("as before", name)
    assert ids(story, name) == [1, 2, 3]


def test_a_table_that_says_nothing_takes_what_its_rows_follow(story: Runs) -> None:
    assert story.runs["changed"].status["adopted"] == "success", story.said("changed", "adopted")
    assert known(story.project, "adopted") == {"column": "part", "ways": ["day"]}
    assert ids(story, "adopted") == [1, 2, 3]


def test_a_property_that_a_failed_batch_left_narrower_gives_way_to_the_rows(story: Runs) -> None:
    assert story.runs["changed"].status["narrowed"] == "success", story.said("changed", "narrowed")
    found = known(story.project, "narrowed")
    assert found and "month" in found["ways"] and "day" not in found["ways"]
    assert ids(story, "narrowed") == [1, 2, 3]


def test_a_full_refresh_begins_anew(story: Runs) -> None:
    assert story.runs["refreshed"].success
    said = known(story.project, "coarser")
    assert said and "month" in said["ways"] and "day" not in said["ways"]
