"""cdc where the table alone does not tell: emptied by deletes, truncated, made of other types than the events."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.functional.test_cdc import held
from tests.harness import Project, sentence, table

pytestmark = pytest.mark.long("session")

WIDE = "var('wide', false)"
FEED = "(k string, v decimal(12,4), seq bigint, op string, arrived bigint) using delta"


def model(feed: str, select: str = "*", tracked: str = "", **cdc: object) -> str:
    settings = {
        "sequence_by": "seq",
        "apply_as_deletes": "op = 'd'",
        "except_column_list": ["op", "arrived"],
    } | cdc
    return (
        "{{ config(materialized='incremental', incremental_strategy='cdc', unique_key='k', "
        f"watermark={{'column': 'arrived', 'gaps': 'ignore'}}, cdc=dict({settings!r}{tracked})) }}}}\n"
        f"select {select} from {table(feed)} where {{{{ floodmark.watermark_filter() }}}}"
    )


@pytest.fixture(scope="module")
def project(make_project: Callable[..., Project]) -> Project:
    project = make_project("memory")
    for feed in ("gone", "cut", "feed"):
        project.sql(f"create table {project.schema}.{feed} {FEED}")
    project.source("gone", "cut", "feed")
    return project


def land(project: Project, feed: str, *rows: str) -> None:
    project.sql(f"insert into {project.schema}.{feed} values {', '.join(rows)}")


def test_a_table_that_deletes_left_empty_is_not_new(project: Project) -> None:
    """Its deletes count against what comes late, also when the feed has forgotten them."""
    project.model("latest", model("gone"))
    project.model("tracked", model("gone", stored_as_scd_type=2))
    names = ("latest", "tracked")
    select = ("--select", *names)
    s = project.schema
    land(project, "gone", "('x', null, 20, 'd', 1)")
    project.build(*select)
    before = [project.version(name) for name in names]
    project.sql(f"alter table {s}.latest set tblproperties ('by' = 'hand')")
    quiet = project.build(*select)
    assert [quiet.message[name] for name in names] == ["CDC nothing new"] * 2
    assert [project.version(name) for name in names] == [before[0] + 1, before[1]]
    project.sql(f"delete from {s}.gone")
    land(project, "gone", "('x', 1, 10, 'u', 2)")
    project.build(*select)
    assert held(project, "latest", "k, v") == {}
    assert project.sql(f"select __start_at, __end_at from {s}.tracked") == [(10, 20)]
    assert [row[0] for row in project.ledger("latest", "kind")] == ["first_load", "incremental"]
    #: who empties it by hand wants it loaded again
    project.sql(f"truncate table {s}.tracked")
    land(project, "gone", "('y', 1, 5, 'u', 3)")
    project.build(*select)
    rows = project.sql(f"select k, __start_at, __end_at from {s}.tracked order by k")
    assert rows == [("x", 10, None), ("y", 5, None)]


def test_what_a_truncate_reached_is_not_restated(project: Project) -> None:
    """Its keys may have no event behind it."""
    project.model("cut_off", model("cut", apply_as_truncates="op = 't'"))
    land(project, "cut", "('a', 1, 10, 'u', 1)", "(null, null, 20, 't', 1)", "('c', 1, 30, 'u', 1)")
    project.build("--select", "cut_off")
    run = project.dbt("run", "--select", "cut_off", "--vars", "{floodmark_restate: {from: 20}}")
    assert (
        "there is a truncate at 20, which reaches every key: run it once with --full-refresh, or "
        "restate from a later sequence"
    ) in sentence(run.message["cut_off"])
    project.sql(f"update {project.schema}.cut set v = 2 where k = 'c'")
    project.build("--select", "cut_off", "--vars", "{floodmark_restate: {from: 21}}")
    assert [int(v) for _, v in project.sql(f"select k, v from {project.schema}.cut_off")] == [2]
    #: what was remembered counts without the setting too
    project.model("cut_off", model("cut"))
    land(project, "cut", "('late', 1, 15, 'u', 2)")
    project.build("--select", "cut_off")
    assert held(project, "cut_off", "k").keys() == {"c"}


def test_rows_are_compared_as_the_table_has_them(project: Project) -> None:
    """A SELECT of another type, an expression as sequence, a tracked column that the table does not get."""
    narrow = f"* {{% if not {WIDE} %}}except (v), cast(v as decimal(10,2)) as v{{% endif %}}"
    renamed = f"* except (v), v as {{{{ 'v2' if {WIDE} else 'v' }}}}"
    tracked = f", track_history_column_list=['v2' if {WIDE} else 'v']"
    project.model("narrow", model("feed", narrow, stored_as_scd_type=2))
    project.model(
        "expression", model("feed", stored_as_scd_type=2, sequence_by="cast(seq as bigint)")
    )
    project.model("renamed", model("feed", renamed, tracked, stored_as_scd_type=2))
    select = ("--select", "narrow", "expression", "renamed")
    land(project, "feed", "('a', 1, 10, 'u', 1)")
    project.build(*select)
    land(project, "feed", "('a', 1.5, 20, 'u', 2)", "('a', 1.5000, 30, 'u', 2)")
    run = project.dbt("run", *select, "--vars", "{wide: true}")
    s = project.schema
    rows = project.sql(f"select cast(v as string), __start_at, __end_at from {s}.narrow")
    assert sorted(rows) == [("1.00", 10, 20), ("1.50", 20, None)]
    assert (
        f'cdc.track_history_column_list: got "v2"; expected columns of {s}.renamed. It is new: set '
        "on_schema_change to 'append_new_columns', or run once with --full-refresh"
    ) in sentence(run.message["renamed"])
    land(project, "feed", "('a', 1.5049, 40, 'u', 3)")
    project.build("--select", "expression")
    rows = project.sql(f"select __start_at, __end_at, seq from {s}.expression order by __start_at")
    assert rows == [(10, 20, 10), (20, 30, 20), (30, None, 40)]
