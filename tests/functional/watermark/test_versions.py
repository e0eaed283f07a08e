"""Watermark kind `version`: updates and deletes of the upstream flow on, and nothing is ever late."""

from __future__ import annotations

import json
import random
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.support.harness import FULL, Project, Runs, sentence, table

pytestmark = [pytest.mark.long("thrift"), pytest.mark.edge]

FEED = "tblproperties ('delta.enableChangeDataFeed' = 'true')"


def versioned(select: str, strategy: str = "merge", key: str = "id", **watermark: object) -> str:
    settings = {"kind": "version"} | watermark
    unique = f", unique_key='{key}'" if strategy == "merge" else ""
    return (
        f"{{{{ config(materialized='incremental', incremental_strategy='{strategy}'{unique}, "
        f"watermark={settings!r}) }}}}\n{select}\n"
    )


CHANGES = "{{ floodmark.changes(source('raw', 'orders')) }}"
PREIMAGES = "{{ floodmark.changes(source('raw', 'orders'), preimages=true) }}"
MODELS = {
    "mirror": versioned(f"select * from {CHANGES}"),
    "stepped": versioned(f"select * from {CHANGES} as c", step=2),
    "from_start": versioned(f"select * from {CHANGES}", start=2),
    "big_ones": versioned(f"select * from {PREIMAGES} where amount >= 20"),
    "moved_keys": versioned(
        f"select amount, id, _change_type, _commit_version from {PREIMAGES}", key="amount"
    ),
    "totals": versioned(
        f"with touched as (select distinct grp from {PREIMAGES})\n"
        "select touched.grp, count(o.amount) as n, sum(o.amount) as amount,\n"
        "    if(count(o.amount) = 0, 'delete', 'insert') as _change_type\n"
        f"from touched left join {table('orders')} as o on o.grp <=> touched.grp group by touched.grp",
        key="grp",
    ),
    "change_log": versioned(
        f"select id, _change_type as change_type, _commit_version as version from {CHANGES}",
        strategy="append",
    ),
    "downstream": versioned(
        "select id, amount * 2 as doubled, _change_type, _commit_version "
        "from {{ floodmark.changes(ref('mirror')) }}"
    ),
    "named": versioned(
        "select c.*, l.label from {{ floodmark.changes(source('raw', 'orders')) }} as c "
        f"left join {table('labels')} as l using (grp)"
    ),
    "shouted": versioned(
        f"SELECT ID, GRP, AMOUNT, _CHANGE_TYPE, _COMMIT_VERSION from {CHANGES}", start=0
    ),
    "everything": versioned(f"select * from {CHANGES}", strategy="append"),
    "no_feed": versioned("select * from {{ floodmark.changes(source('raw', 'silent')) }}"),
    "lost_files": versioned("select * from {{ floodmark.changes(source('raw', 'lost')) }}"),
}
#: The delete of a group that is empty now has no amount.
TOTALS_CONTRACT = """\
config: {contract: {enforced: true}, on_schema_change: append_new_columns}
columns:
  - {name: grp, data_type: string}
  - {name: n, data_type: bigint}
  - {name: amount, data_type: bigint, constraints: [{type: not_null}]}
"""

QUIET = ("mirror", "totals")
#: What the third run takes: the others have shown in the second what they are for.
THIRD = (*QUIET, "stepped", "downstream", "lost_files")


@dataclass
class Story(Runs):
    rows: dict[str, dict[str, Counter]] = field(default_factory=dict)
    versions: dict[str, dict[str, int]] = field(default_factory=dict)

    def run(self, name: str, *args: str) -> None:
        super().run(name, *args)
        present = {row[1] for row in self.project.sql(f"show tables in {self.project.schema}")}
        built = [model for model in [*MODELS, "orders"] if model in present]
        self.rows[name] = {model: self.project.rows(model) for model in built}
        self.versions[name] = {m: self.project.version(m) for m in QUIET}


def lose_files(project: Project, name: str) -> None:
    """Change a table, then take the files of the change from it, as VACUUM does, and leave the log."""
    s = project.schema
    project.sql(f"update {s}.{name} set amount = 3 where id = 1")
    project.sql(f"delete from {s}.{name} where id = 2")
    location = Path(project.sql(f"describe detail {s}.{name}")[0][4].removeprefix("file:"))
    for file in (location / "_change_data").glob("*.parquet"):
        file.unlink()
    for file in location.glob("deletion_vector*"):
        file.unlink()


@pytest.fixture(scope="module")
def story(make_project: Callable[..., Project]) -> Story:
    """A first load; changes of every kind, an OPTIMIZE, nothing; a full refresh at the end."""
    project = make_project("story")
    s = project.schema
    project.sql(f"create table {s}.orders (id bigint, grp string, amount int) using delta {FEED}")
    project.sql(f"create table {s}.labels using delta as select 'a' as grp, 'first' as label")
    project.sql(f"create table {s}.silent using delta as select 1L as id")
    project.sql(f"create table {s}.lost (id bigint, grp string, amount int) using delta {FEED}")
    project.source("orders", "labels", "silent", "lost")
    for name, sql in MODELS.items():
        project.model(name, sql, TOTALS_CONTRACT if name == "totals" else None)
    story = Story(project)
    project.sql(
        f"insert into {s}.orders values (1,'a',10), (2,'a',20), (3,'b',30), (4,null,40), (null,'n',5)"
    )
    project.sql(f"insert into {s}.lost values (1, 'a', 1), (2, 'a', 2)")
    story.run("first")
    project.sql(f"update {s}.orders set amount = 12 where id = 2")
    project.sql(f"delete from {s}.orders where id = 3")
    project.sql(f"insert into {s}.orders values (5, 'c', 50)")
    project.sql(f"update {s}.orders set amount = 41 where id = 4")
    story.run("second", "--exclude", "everything", "no_feed", "lost_files")
    project.sql(f"optimize {s}.orders")
    story.run("optimized", "--select", *QUIET)
    story.run("quiet", "--select", *QUIET)
    project.sql(f"delete from {s}.orders where id = 1")
    project.sql(f"insert into {s}.orders values (1, 'z', 1)")
    project.sql(f"update {s}.orders set grp = 'y' where id is null")
    lose_files(project, "lost")
    story.run("third", "--select", *THIRD)
    story.run("refreshed", "--full-refresh", "--select", "mirror", "totals")
    return story


def test_names_in_capitals_are_the_feeds_own(story: Story) -> None:
    """From version 0 on, so that its first load has the deletes too: no such row, no such column, and a feed."""
    s = story.project.schema
    assert {row[0] for row in story.project.sql(f"describe {s}.shouted") if row[0]} == {
        "ID",
        "GRP",
        "AMOUNT",
    }
    assert story.project.rows("shouted", "id, grp, amount") == story.rows["second"]["orders"]
    properties = dict(story.project.sql(f"show tblproperties {s}.shouted"))
    assert properties["delta.enableChangeDataFeed"] == "true"


def test_updates_and_deletes_reach_the_copy(story: Story) -> None:
    for run in story.runs:
        assert story.rows[run]["mirror"] == story.rows[run]["orders"], run
        assert (
            story.rows[run]["stepped"]
            == story.rows["third" if run == "refreshed" else run]["orders"]
        )


def test_a_step_is_a_number_of_versions(story: Story) -> None:
    bounds = story.project.ledger("stepped", "low, high")
    assert bounds == [(None, "1"), ("1", "3"), ("3", "5"), ("5", "7"), ("7", "9")]


def test_start_reads_the_changes_from_a_version_on(story: Story) -> None:
    """The table as it was before version 2 is not in it."""
    ids = story.project.sql(f"select id from {story.project.schema}.from_start order by id")
    assert ids == [(2,), (4,), (5,)]


def test_preimages_take_away_what_left_the_filter(story: Story) -> None:
    """2 fell from 20 to 12."""
    rows = story.project.sql(f"select id from {story.project.schema}.big_ones order by id")
    assert rows == [(4,), (5,)]


def test_preimages_take_away_the_row_of_the_old_key(story: Story) -> None:
    held, expected = (
        sorted(json.loads(row)["amount"] for (row,) in story.rows["second"][model].elements())
        for model in ("moved_keys", "orders")
    )
    assert held == expected


def test_an_aggregate_recomputes_only_what_changed_and_empty_groups_go(story: Story) -> None:
    s = story.project.schema
    expected = story.project.rows("orders", "grp")
    assert set(story.project.rows("totals", "grp")) == set(expected)
    batches = story.project.ledger("totals", "rows_read")
    assert batches[1] == (4,)  # a, b, c and the NULL group; n did not change
    assert story.rows["third"]["totals"] == story.rows["refreshed"]["totals"]
    assert story.project.sql(f"select n, amount from {s}.totals where grp = 'z'") == [(1, 1)]


def test_an_append_keeps_every_change_as_a_row(story: Story) -> None:
    kinds = story.project.sql(
        f"select change_type, count(*) from {story.project.schema}.change_log group by 1 order by 1"
    )
    assert kinds == [("delete", 1), ("insert", 6), ("update_postimage", 2)]


def test_changes_flow_through_two_models(story: Story) -> None:
    s = story.project.schema
    assert story.project.sql(f"select id, doubled from {s}.downstream order by id") == (
        story.project.sql(f"select id, amount * 2 from {s}.orders order by id")
    )


def test_the_upstream_of_changes_is_the_one_it_names(story: Story) -> None:
    rows = story.project.sql(f"select id, label from {story.project.schema}.named order by id")
    assert rows == [(None, None), (1, "first"), (2, "first"), (4, None), (5, None)]


def test_versions_without_data_move_the_mark_in_the_ledger_alone(story: Story) -> None:
    assert story.runs["optimized"].success
    last = story.project.ledger("mirror", "high, target_version, rows_read")[2]
    assert last == ("6", None, 0)
    assert story.versions["optimized"] == story.versions["second"]


def test_a_run_with_nothing_new_makes_no_commit(story: Story) -> None:
    assert story.versions["quiet"] == story.versions["optimized"]
    assert story.runs["quiet"].message["mirror"] == "MERGE nothing new"
    assert story.rows["quiet"] == story.rows["optimized"]


def test_the_mark_is_a_version(story: Story) -> None:
    marks = story.project.ledger("mirror", "watermark_value, kind", "watermarks")
    assert marks == [("9", "version")]


def test_append_refuses_columns_that_say_more_than_new(story: Story) -> None:
    assert (
        "- incremental_strategy: got \"append with a column _change_type\"; expected 'merge', or "
        "another name for the column. merge applies updates and deletes; to keep every change as a "
        "row, write _change_type as change_type"
    ) in story.said("first", "everything")
    assert "everything" not in story.rows["third"]


def test_a_source_without_a_change_feed_is_refused_with_the_statement_that_helps(
    story: Story,
) -> None:
    s = story.project.schema
    assert (
        f'- watermark.kind: got "version"; expected a change feed on {s}.silent. Switch it on: '
        f"alter table {s}.silent set tblproperties ('delta.enableChangeDataFeed' = 'true')"
    ) in story.said("first", "no_feed")


def test_versions_whose_files_are_gone_say_so(story: Story) -> None:
    """VACUUM keeps the log and takes the files: the run stops and names both ways out."""
    message = story.said("third", "lost_files")
    assert re.search(r"the file \S+\.(parquet|bin), which its table's log names, is gone", message)
    assert "run it once with --full-refresh" in message and "`floodmark reset`" in message


def test_everything_else_succeeded(story: Story) -> None:
    expected = {"first": {"everything", "no_feed"}, "third": {"lost_files"}}
    for name, run in story.runs.items():
        failed = {node for node, status in run.status.items() if status == "error"}
        assert failed == expected.get(name, set()), name


def test_a_table_without_a_mark_keeps_what_was_deleted(
    make_project: Callable[..., Project],
) -> None:
    """Another ledger, as behind `dbt clone`: the load says so, and a reset to the table's version brings the deletes."""
    project = make_project("unmarked")
    s = project.schema
    project.sql(f"create table {s}.orders (id bigint, grp string, amount int) using delta {FEED}")
    project.source("orders")
    project.model("mirror", MODELS["mirror"])
    project.sql(f"insert into {s}.orders values (1, 'a', 10), (2, 'a', 20)")
    other = ("--vars", f"{{floodmark_schema: {s}_other}}")
    ids = f"select id from {s}.mirror order by id"
    said = f"{s}.mirror has rows, but the ledger has no mark for it, so this load reads {s}.orders as it is now"
    assert said not in sentence(project.build().log)
    project.sql(f"delete from {s}.orders where id = 2")
    project.sql(f"insert into {s}.orders values (3, 'c', 30)")
    log = sentence(project.build(*other).log)
    assert f"{said}: rows that were deleted there before stay" in log
    assert "or set the mark with `floodmark reset mirror --to <value>`" in log
    assert project.sql(ids) == [(1,), (2,), (3,)]
    arguments = ("--args", "{model: mirror, to: '1'}", *other)
    assert project.dbt("run-operation", "floodmark.reset", *arguments).success
    assert said not in sentence(project.build(*other).log)
    assert project.sql(ids) == [(1,), (3,)]
    project.sql(f"drop schema {s}_other cascade")


def test_random_changes_and_random_runs(make_project: Callable[..., Project]) -> None:
    """Whatever is done upstream between two runs, the copy is the source."""
    # This seed has changes of each kind before the second run.
    rng = random.Random(24)
    project = make_project("random")
    s = project.schema
    project.sql(f"create table {s}.orders (id bigint, grp string, amount int) using delta {FEED}")
    project.source("orders", "labels")
    project.model("mirror", MODELS["mirror"])
    project.model("stepped", versioned(f"select * from {CHANGES}", step=2))
    for _ in range(4 if FULL else 2):
        for _ in range(rng.randint(1, 4) if FULL else rng.randint(4, 6)):
            key = rng.randint(1, 6)
            project.sql(
                rng.choice(
                    [
                        f"delete from {s}.orders where id = {key}",
                        f"update {s}.orders set amount = {rng.randint(1, 99)} where id >= {key}",
                        f"merge into {s}.orders t using (select id, 'g' as grp, 7 as amount from "
                        f"range({key}, {key + 3})) u on t.id = u.id when matched then delete "
                        "when not matched then insert *",
                    ]
                )
            )
        project.build()
        for model in ("mirror", "stepped"):
            assert project.rows(model) == project.rows("orders")
