"""Rows that come again in merge: corrections in place, the user's own predicates and columns, names as dbt-spark users write them."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from tests.support.faults import Faults, injected
from tests.support.harness import FULL, Project, Run, incremental, sentence, table
from tests.support.rows import AT, rows_of
from tests.support.ways import merged

pytestmark = [pytest.mark.long("thrift"), pytest.mark.edge]


#: Ways in which a merge may meet a correction: model -> what its row shows of `v`.
CORRECTED = {
    "plain": merged("src"),
    "guarded": merged("src", guard=True),
    "updates": merged("src", merge_update_columns=["v"]),
    "excludes": merged("src", merge_exclude_columns=["id"]),
    "stepped": merged("src", watermark={"step": "1 hour"}),
    "unbounded": "{{ config(materialized='incremental', incremental_strategy='merge', unique_key='id', "
    "watermark={'column': 'ts', 'nulls': 'include', 'lookback': '1 day'}) }} "
    "select * from {{ source('raw', 'src') }} where {{ floodmark.watermark_filter() }}",
    "nested": merged("src", "id, ts, map(array(v), struct(v as v)) as v"),
}

PREDICATES = {
    "or_list": {
        "incremental_predicates": ["DBT_INTERNAL_DEST.a is null or DBT_INTERNAL_DEST.a > 1"]
    },
    "or_text": {"incremental_predicates": "DBT_INTERNAL_DEST.a is null or DBT_INTERNAL_DEST.a > 1"},
    "commented": {
        "incremental_predicates": [
            "DBT_INTERNAL_DEST.a is null /* ) */ or DBT_INTERNAL_DEST.a > 1 -- or true\n;"
        ]
    },
    "two": {
        "predicates": [
            "DBT_INTERNAL_DEST.a is null or DBT_INTERNAL_DEST.a > 1",
            "DBT_INTERNAL_DEST.a is null or DBT_INTERNAL_DEST.a > 0",
        ]
    },
}

BROKEN = {
    "unbalanced": ({"incremental_predicates": ["a > 1)"]}, "incremental_predicates", "a parenthesis"),
    "opened": ({"predicates": ["(a > 1"]}, "predicates", "a parenthesis"),
    "semicolon": ({"incremental_predicates": ["a > 1; drop table x"]}, "incremental_predicates", "a semicolon"),
    "quote": ({"incremental_predicates": ["a > 'x"]}, "incremental_predicates", "a quote or a comment without an end"),
    "comment": ({"incremental_predicates": ["a > 1 /* x"]}, "incremental_predicates", "a quote or a comment without an end"),
    "nothing": ({"incremental_predicates": [" -- a > 1"]}, "incremental_predicates", "no SQL"),
    "high": ({"watermark": {"sql": "max(ts)) from x --"}}, "watermark.sql", "a parenthesis"),
    "scope": (
        {"incremental_strategy": "snapshot_diff", "watermark": None, "snapshot_diff": {"scope": "a > (1"}},
        "snapshot_diff.scope",
        "a parenthesis",
    ),
    "deletes": (
        {"incremental_strategy": "cdc", "cdc": {"sequence_by": "ts", "apply_as_deletes": "a = 1; --"}},
        None,
        None,
    ),
    "truncates": (
        {"incremental_strategy": "cdc", "cdc": {"sequence_by": "ts)", "apply_as_truncates": "a = '"}},
        "cdc.apply_as_truncates",
        "a quote or a comment without an end",
    ),
}  # fmt: skip

OWN_NAMES = {
    "merged": {"incremental_strategy": "merge", "unique_key": "id"},
    "events": {"incremental_strategy": "cdc", "unique_key": "id", "cdc": {"sequence_by": "ts"}},
    "periods": {
        "incremental_strategy": "cdc",
        "unique_key": "id",
        "cdc": {"sequence_by": "ts", "stored_as_scd_type": 2},
    },
    "appended": {},
}

QUOTED: dict[str, dict[str, Any]] = {
    "key": {"incremental_strategy": "merge", "unique_key": "`id`"},
    "keys": {
        "incremental_strategy": "merge",
        "unique_key": ['"id"', "`day`"],
        "merge_update_columns": ["`v`", '"ts"'],
    },
    "parted": {"incremental_strategy": "insert_overwrite", "partition_by": '"day"'},
    "latest": {
        "incremental_strategy": "cdc",
        "unique_key": "`id`",
        "cdc": {"sequence_by": '"ts"', "except_column_list": ["`day`"]},
    },
    "periods": {
        "incremental_strategy": "cdc",
        "unique_key": "`id`",
        "cdc": {
            "sequence_by": ["`ts`", '"id"'],
            "stored_as_scd_type": 2,
            "track_history_column_list": ['"v"'],
            "start_at": "`valid_from`",
        },
    },
}

#: A merge whose watermark, a number, is a text in a table made by hand.
WORDED = {
    "worded": merged("ties", unique_key="v", watermark={"column": "id", "lookback": 1}),
}

#: One model a clause of the MERGE and a setting with names, or all with FLOODMARK_LAB=full; test_merge.py has a predicate with a comment.
if not FULL:
    CORRECTED = {name: CORRECTED[name] for name in ("plain", "updates", "unbounded")}
    PREDICATES = {name: PREDICATES[name] for name in ("two",)}
    OWN_NAMES = {name: OWN_NAMES[name] for name in ("merged", "periods")}
    QUOTED = {name: QUOTED[name] for name in ("keys", "parted", "latest", "periods")}


def _quoted_models() -> dict[str, str]:
    """Names in backticks or double quotes, and a SELECT that ends in a semicolon."""
    models = {}
    for name, config in QUOTED.items():
        sql = incremental(table("quoted"), watermark={"column": '"ts"'}, **config)
        models[f"quoted_{name}"] = sql.rstrip("\n") + "\n;  -- the end;\n/* of ; all */ ;\n"
    models["quoted_extract"] = (
        "{{ config(materialized='incremental', incremental_strategy='snapshot_diff', unique_key='`id`', "
        "snapshot_diff={'except_columns': ['\"ts\"']}) }} "
        f"select id, max_by(v, ts) as v, max(day) as day, max(ts) as ts from {table('quoted')} group by id; -- x"
    )
    return models


def _named_models() -> dict[str, str]:
    mark = {"column": "ts"}
    models = {
        f"named_{name}": incremental(table("named"), watermark=mark, **config)
        for name, config in OWN_NAMES.items()
    }
    merge = {"incremental_strategy": "merge", "unique_key": "id", "change_feed": True}
    return models | {"fed": incremental(table("named"), watermark=mark, **merge)}


def _broken_model(config: dict[str, Any]) -> str:
    settings = {key: value for key, value in config.items() if value is not None}
    if "snapshot_diff" in settings:
        arguments = ", ".join(f"{key}={value!r}" for key, value in settings.items())
        return f"{{{{ config(materialized='incremental', unique_key='id', {arguments}) }}}} select * from {table('nobody')}"
    watermark = settings.pop("watermark", {})
    base = {"lookback": None} if "cdc" in settings else {}
    return merged("nobody", watermark=base | watermark, **settings)


@dataclass
class Story:
    """One project: its first run, one with news, one with none but for a batch that was cut, a backfill."""

    project: Project
    runs: list[Run]
    tied: list[list[dict[str, Any]]]
    versions: list[dict[str, int]]


@pytest.fixture(scope="module")
def story(make_project: Callable[..., Project]) -> Story:
    project = make_project("story")
    s = project.schema
    for name, columns in {
        "src": "id int, ts timestamp, v string",
        "repaired": "id int, ts timestamp, v string",
        "ties": "id int, ts timestamp, v string",
        "picked": "id int, a int, ts timestamp",
        "nobody": "id int, a int, ts timestamp",
        "named": "id int, _change_type string, _commit_version bigint, ts timestamp",
        "quoted": "id int, v string, day date, ts timestamp",
    }.items():
        project.sql(f"create table {s}.{name} ({columns}) using delta")
    project.source("src", "repaired", "ties", "picked", "nobody", "named", "quoted")
    repaired = {
        "backfilled": merged("repaired"),
        "cut": merged("repaired", watermark={"lookback": "20 days"}),
    }
    later = {
        **CORRECTED,
        "tied": merged("ties"),
        **{name: merged("picked", **config) for name, config in PREDICATES.items()},
        **_named_models(),
        **_quoted_models(),
        "cut": repaired["cut"],
    }
    clauses = {f"clause_{name}": _broken_model(config) for name, (config, *_) in BROKEN.items()}
    project.sql(f"create table {s}.worded (id string, ts timestamp, v string) using delta")
    for name, sql in (later | repaired | clauses | WORDED).items():
        project.model(name, sql)

    def arrive(hour: int, kind: str, value: str) -> None:
        at = f"{AT} + interval {hour} hours"
        project.sql(f"insert into {s}.named values (1, '{kind}', {hour}, {at})")
        project.sql(f"insert into {s}.quoted values (1, 'x;{value}', date'2024-05-01', {at})")

    def mend(name: str, seven: str, nine: str) -> None:
        project.sql(f"update {s}.{name} set v = if(id = 7, '{seven}', '{nine}') where id in (7, 9)")

    def tied() -> list[dict[str, Any]]:
        return [row for row in rows_of(project, "tied") if row["id"] == 7]

    project.sql(
        f"insert into {s}.src values (7, {AT}, 'p'), (9, {AT}, 'q'), (8, {AT} + interval 2 hours, 'x')"
    )
    project.sql(
        f"insert into {s}.repaired values (7, {AT}, 'p'), (9, {AT}, 'q'), (11, {AT} + interval 9 days, 'z')"
    )
    project.sql(f"insert into {s}.ties values (7, {AT}, 'p'), (7, {AT}, 'q'), (7, {AT}, 'r')")
    project.sql(
        f"insert into {s}.picked values (1, null, {AT}), (2, 5, {AT}), (3, 7, {AT}), (4, 9, {AT})"
    )
    arrive(0, "insert", "a")
    runs = [project.dbt("run")]
    story = Story(project, runs, [tied()], [])

    mend("src", "q", "p")
    mend("repaired", "a", "b")
    project.sql(f"insert into {s}.ties values (1, {AT}, 'new')")
    project.sql(f"insert into {s}.picked values (2, 6, {AT} + interval 1 hour)")
    arrive(1, "delete", "b")
    with injected(Faults({"cut": "before: merge into"})):
        runs.append(project.dbt("run", "--select", *later))
    story.tied.append(tied())
    story.versions.append({name: project.version(name) for name in CORRECTED})

    # What is read again is as it stands; `cut` has staged another reading of the source than this one.
    project.sql(f"insert into {s}.src select * from {s}.src where false")
    mend("repaired", "b", "a")
    runs.append(project.build("--select", *CORRECTED, "cut"))
    story.versions.append({name: project.version(name) for name in CORRECTED})

    mend("repaired", "q", "p")
    day = "{floodmark_backfill: {from: '2024-05-01', to: '2024-05-02'}}"
    runs.append(project.build("--select", "backfilled", "--vars", day))
    return story


def test_a_correction_in_place_is_followed_both_ways(story: Story) -> None:
    """Of two rows of one time the one that was read later stays, whatever their hashes say."""
    for name in CORRECTED:
        found = {row["id"]: json.dumps(row["v"]) for row in rows_of(story.project, name)}
        assert sorted(found) == [7, 8, 9], name
        assert "q" in found[7] and "p" in found[9], (name, found)
    assert story.versions[0] == story.versions[1]


def test_a_correction_below_the_mark_by_backfill_and_after_a_crash(story: Story) -> None:
    """Neither a backfill nor a batch that another run finishes lets an older reading win."""
    found = {row["id"]: row["v"] for row in rows_of(story.project, "backfilled")}
    assert found == {7: "q", 9: "p", 11: "z"}
    # The batch that read 'a' and 'b' was staged and then applied by the next run, which read again.
    assert story.runs[1].status["cut"] == "error"
    found = {row["id"]: row["v"] for row in rows_of(story.project, "cut")}
    assert found == {7: "b", 9: "a", 11: "z"}


def test_within_a_batch_the_hash_decides_and_ties_are_counted(story: Story) -> None:
    """Rows of one key and one time that stay upstream side by side: one wins, in every run the same."""
    assert len(story.tied[0]) == 1
    assert story.tied[1] == story.tied[0]
    assert story.project.ledger("tied", "rows_tied")[0] == (2,)


def test_a_predicate_with_an_or_touches_no_other_row(story: Story) -> None:
    """What the user joins to the key stands in parentheses."""
    expected = {1: None, 2: 6, 3: 7, 4: 9}
    for name in PREDICATES:
        found = {row["id"]: row.get("a") for row in rows_of(story.project, name)}
        assert found == expected, name


def test_a_clause_that_would_break_out_is_refused(story: Story) -> None:
    """Before anything is sent; a semicolon and a comment behind the clause do no harm."""
    run = story.runs[0]
    for name, (_, setting, wrong) in BROKEN.items():
        if setting is None:
            assert run.status[f"clause_{name}"] == "success", run.message[f"clause_{name}"]
            continue
        said = sentence(run.message[f"clause_{name}"])
        assert (
            f"{setting}: got" in said and f"expected a SQL expression, but this has {wrong}" in said
        )


def test_a_text_of_a_number_does_not_say_which_row_is_the_latest(story: Story) -> None:
    """Of texts 9 is above 10."""
    s = story.project.schema
    for name, column in {"worded": "id"}.items():
        assert (
            f'watermark.column: got "{column} string"; expected the type that it has upstream: of texts, 9 is above 10. Leave '
            f"it in the SELECT as it is, and give {s}.{name} a column of that type, by hand or with --full-refresh"
        ) in sentence(story.runs[0].message[name])
    assert not rows_of(story.project, "worded")


def test_columns_called_like_those_of_a_change_feed_stay(story: Story) -> None:
    """Only what changes() puts beside a row is ours; a table with such columns has no feed of its own."""
    for run in story.runs[:2]:
        said = sentence(run.message["fed"])
        assert "change_feed: got true; expected no column _change_type or _commit_version" in said
    for name in OWN_NAMES:
        rows = rows_of(story.project, f"named_{name}")
        newest = [row for row in rows if row["_commit_version"] == 1]
        assert [row["_change_type"] for row in newest] == ["delete"], name


def test_names_in_quotes_and_semicolons_as_dbt_spark_users_write_them(story: Story) -> None:
    """``id`` in backticks or double quotes is the column id, and a SELECT may end in a semicolon."""
    project = story.project
    for name in ("key", "keys", "latest"):
        if name in QUOTED:
            assert [row["v"] for row in rows_of(project, f"quoted_{name}")] == ["x;b"], name
    assert [row["v"] for row in rows_of(project, "quoted_extract")] == ["x;b"]
    periods = rows_of(project, "quoted_periods")
    assert sorted(row["v"] for row in periods) == ["x;a", "x;b"]
    assert "valid_from" in periods[0]
    assert len(rows_of(project, "quoted_parted")) == 2


def test_everything_else_succeeded(story: Story) -> None:
    refused = {f"clause_{name}" for name, (_, setting, _) in BROKEN.items() if setting}
    failed = [{n for n, status in run.status.items() if status != "success"} for run in story.runs]
    assert failed == [refused | {"fed", *WORDED}, {"fed", "cut"}, set(), set()], story.runs[0].log[
        -3000:
    ]


def test_rows_without_a_time_need_a_table_that_knows_times(
    make_project: Callable[..., Project],
) -> None:
    """They come again in each run, and would replace rows that are newer."""
    project = make_project("timeless")
    s = project.schema
    project.sql(f"create table {s}.src (id int, v string, ts timestamp) using delta")
    project.sql(f"insert into {s}.src values (1, 'old', null), (2, 'x', {AT})")
    project.source("src")
    merge = {
        "incremental_strategy": "merge",
        "unique_key": "id",
        "watermark": {"column": "ts", "nulls": "include"},
    }
    project.model("late", incremental(table("src"), "id, v", **merge))
    project.build()
    project.sql(f"insert into {s}.src values (1, 'new', {AT} + interval 1 hour)")
    project.model("late", incremental(table("src"), "id, v, ts", **merge))
    said = sentence(project.dbt("run").message["late"])
    assert (
        f'watermark.nulls: got "include"; expected the watermark column ts in {s}.late. Rows without'
        in said
    )
    project.build("--full-refresh")
    project.build()
    assert rows_of(project, "late", "id, v") == [{"id": 1, "v": "new"}, {"id": 2, "v": "x"}]
