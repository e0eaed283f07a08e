"""Of two rows of one time, or two events of one sequence, the same wins however they are split into batches."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import pytest

from tests.support.harness import Project, Run, incremental, table

pytestmark = [pytest.mark.long("thrift"), pytest.mark.edge]

KEYS = 20
#: `extra` comes when the tables are there and do not take it: it must not decide.
SELECT = "* except (arrived{% if not var('wide', false) %}, extra{% endif %})"
LOOKBACK = {"column": "ts", "lookback": "1 day"}
CDC = {"sequence_by": "ts", "except_column_list": ["arrived"]}


def merged(upstream: str, **config: object) -> str:
    return incremental(
        table(upstream),
        SELECT,
        incremental_strategy="merge",
        unique_key="id",
        watermark=LOOKBACK,
        **config,
    )


def applied(upstream: str) -> str:
    return incremental(
        table(upstream),
        SELECT.replace("arrived", "w"),
        incremental_strategy="cdc",
        unique_key="id",
        watermark={"column": "arrived", "gaps": "ignore"},
        cdc=CDC,
    )


MODELS = {
    "merged_once": merged("once"),
    "merged_twice": merged("twice"),
    "kept_once": merged("once", merge_exclude_columns=["w"]),
    "kept_twice": merged("twice", merge_exclude_columns=["w"]),
    "applied_once": applied("once"),
    "applied_twice": applied("twice"),
    "first_time": merged("later", merge_exclude_columns=["ts"]),
}


@dataclass
class Story:
    project: Project
    runs: list[Run] = field(default_factory=list)

    def run(self, *args: str) -> None:
        self.runs.append(self.project.build(*args))

    def winners(self, model: str) -> list[tuple[int, str]]:
        return sorted(self.project.sql(f"select id, v from {self.project.schema}.{model}"))


@pytest.fixture(scope="module")
def story(make_project: Callable[..., Project]) -> Story:
    """A row apart, then two rows a key, in one batch and in two; of `later` a later row, then an equal one."""
    project = make_project("story")
    s = project.schema

    def land(upstream: str, rows: str) -> None:
        project.sql(f"insert into {s}.{upstream} select {rows}")

    def tied(value: str, arrived: int) -> str:
        return (
            f"id, '{value}' || id, '{value}', timestamp'2024-01-01 12:00:00Z', {arrived}, "
            f"sha('{value}' || id) from range({KEYS})"
        )

    for upstream in ("once", "twice", "later"):
        project.sql(
            f"create table {s}.{upstream} (id bigint, v string, w string, ts timestamp, "
            "arrived bigint, extra string) using delta"
        )
        land(upstream, "100, 'seed', 'seed', timestamp'2024-01-01 00:00:00Z', 1, null")
    project.source("once", "twice", "later")
    for name, sql in MODELS.items():
        project.model(name, sql)
    story = Story(project)
    story.run()
    wide = ("--vars", "{wide: true}")
    land("once", tied("a", 2))
    land("once", tied("b", 2))
    land("twice", tied("a", 2))
    land("later", "100, 'later', 'w', timestamp'2024-01-01 06:00:00Z', 2, null")
    story.run(*wide)
    land("twice", tied("b", 3))
    land("later", "100, 'seed', 'w', timestamp'2024-01-01 00:00:00Z', 3, null")
    again = [name for name in MODELS if not name.endswith("_once")]
    story.run(*wide, "--select", *again)
    return story


@pytest.mark.parametrize("way", ["merged", "kept", "applied"])
def test_ties_are_decided_alike_in_one_batch_and_in_two(story: Story, way: str) -> None:
    """By what the table holds and a match updates, not by a column that it lacks or keeps."""
    once = [row for row in story.winners(f"{way}_once") if row[0] < KEYS]
    twice = [row for row in story.winners(f"{way}_twice") if row[0] < KEYS]
    assert once == twice
    assert {value[0] for _, value in once} == {"a", "b"}


def test_a_row_whose_time_is_not_updated_wins_once(story: Story) -> None:
    """Its time in the table stays the first, so every lookback finds it later; equal rows are not written again."""
    assert (100, "later") in story.winners("first_time")
    updated = story.project.ledger("first_time", "rows_read, rows_updated")
    assert updated[1][1] == 1
    assert updated[2][0] > 0 and updated[2][1] == 0
