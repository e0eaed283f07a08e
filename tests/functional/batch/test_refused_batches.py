"""Batches that cannot be applied: failed with their error, never stuck; keys that cannot be one; stages that are not whole."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlparse

import pytest
from dbt_common.exceptions import DbtDatabaseError

from tests.support.faults import Faults, injected
from tests.support.harness import FULL, Project, Run, incremental, sentence, table
from tests.support.rows import AT, rows_of
from tests.support.selection import sample
from tests.support.snapshots import whole
from tests.support.ways import SNAPSHOTS, WAYS, make_source, merged, way_model

pytestmark = [pytest.mark.long("session"), pytest.mark.edge]


KEYS = {
    "mapped": ("map('a', id) as id, v, ts", "unique_key: got", "expected a type that can be compared"),
    "variant": ("parse_json(cast(id as string)) as id, v, ts", "unique_key: got", "a type that can be compared"),
    "nested": ("struct(map('a', id) as m) as id, v, ts", "unique_key: got", "a type that can be compared"),
    "missing": ("v, ts", 'unique_key: got "id"', "expected a column of the SELECT"),
    "ours": ("id, v, ts, 1 as _floodmark_rank", "a column _floodmark_rank", "no column that floodmark writes itself"),
}  # fmt: skip


def stage_files(project: Project, model: str) -> list[Path]:
    """The data files of the stages of a model, those that a crash left."""
    found = []
    for row in project.sql(
        f"show tables in {project.schema}_floodmark like 'stage__*__{model}__*'"
    ):
        described = project.sql(f"describe extended {project.schema}_floodmark.{row[1]}")
        location = next(value for key, value, *_ in described if key == "Location")
        found += sorted(Path(unquote(urlparse(location).path)).glob("part-*.parquet"))
    return found


def lose_all(files: list[Path]) -> None:
    for file in files:
        file.unlink()


def lose_one(files: list[Path]) -> None:
    max(files, key=lambda file: file.stat().st_size).unlink()


def cut_short(files: list[Path]) -> None:
    file = max(files, key=lambda file: file.stat().st_size)
    os.truncate(file, file.stat().st_size // 2)
    file.with_name(f".{file.name}.crc").unlink(missing_ok=True)


CUTS = {
    "merge": "before: merge into",
    "overwrite": "before: insert into .* replace where",
    "latest": "before: merge into",
    "periods": "before: merge into",
}

EVERY = (*WAYS, *SNAPSHOTS)
#: Ways whose table refuses a row, whose SELECT fails, and whose first SELECT does. Elsewhere: test_made_by_hand.py has
#: constraints in the other ways, test_row_values.py values that stop a batch.
CHECKED = EVERY if FULL else sample(("merge", "periods", "extract"), 1)
BOMBS = EVERY if FULL else sample(("merge", "extracts"), 1)
FIRSTS = EVERY if FULL else sample(("append", "latest", "extract"), 1)
#: What happens to the stage of a batch that was cut before it was applied, and to that of one half applied.
TAMPERS = {"all": lose_all, "one": lose_one, "short": cut_short}
STAGES = (
    [(tamper, way) for tamper in TAMPERS for way in CUTS]
    if FULL
    else sample(
        [("all", "overwrite"), ("one", "latest"), ("short", "merge"), ("short", "periods")], 2
    )
)
HALVES = (
    [(tamper, way) for tamper in ("one", "short") for way in ("latest", "periods")]
    if FULL
    else sample([("one", "periods"), ("short", "latest")], 1)
)
#: Merges that are cut before they are applied, and what their models become: `overwrite` reads and replaces whole days,
#: and `append` has no lookback. The rows of the first stand in its stage, those of the second in its table of judged rows.
RULED = {"expectations": [{"name": "counted", "expect": "id > 0"}]}
TURNED = {
    "turned_overwrite": (
        incremental(
            table("turned"),
            incremental_strategy="merge",
            unique_key="id",
            partition_by="day",
            watermark={"column": "ts"},
        ),
        way_model("overwrite", "turned"),
    ),
    "turned_append": (
        merged("turned", **RULED),
        incremental(table("turned"), watermark={"column": "ts"}, **RULED),
    ),
}
BOMB = "cast(raise_error('went off') as int)"
#: Three files a stage.
SPREAD = "/*+ repartition(3, id) */ *"


@dataclass
class Story:
    """Four runs: first loads; what fails or is cut; what is mended; a full refresh of what has to have one."""

    project: Project
    runs: list[Run] = field(default_factory=list)
    failed: dict[str, list[dict[str, Any]]] = field(default_factory=dict)


@pytest.fixture(scope="module")
def story(make_project: Callable[..., Project]) -> Story:
    project = make_project("story")
    s = project.schema
    make_source(project, "constrained", "bombed", "clean", "staged", "halved", "turned")
    checked = [f"checked_{way}" for way in CHECKED]
    bombs = [f"bomb_{way}" for way in BOMBS]
    firsts = [f"first_{way}" for way in FIRSTS]
    stages = [f"stage_{tamper}_{way}" for tamper, way in STAGES]
    halves = [f"half_{tamper}_{way}" for tamper, way in HALVES]
    for way in CHECKED:
        project.model(f"checked_{way}", way_model(way, "constrained"))
    for way in BOMBS:
        select = f"id, if(v = 13, {BOMB}, v) as v, day, ts"
        project.model(f"bomb_{way}", way_model(way, "bombed", select))
    for way in FIRSTS:
        project.model(f"first_{way}", way_model(way, "clean", f"id, {BOMB} as v, day, ts"))
    for tamper, way in STAGES:
        project.model(f"stage_{tamper}_{way}", way_model(way, "staged", SPREAD))
    for tamper, way in HALVES:
        project.model(f"half_{tamper}_{way}", way_model(way, "halved", SPREAD))
    for name, (before, _) in TURNED.items():
        project.model(name, before)
    for name, (select, _, _) in KEYS.items():
        project.model(
            f"key_{name}",
            incremental(
                table("clean"),
                select,
                incremental_strategy="merge",
                unique_key="id",
                watermark={"column": "ts"},
            ),
        )
    project.model(
        "uncontracted",
        merged("clean", on_schema_change="append_new_columns"),
        "config: {contract: {enforced: true}}\ncolumns: [{name: id, data_type: int}]",
    )
    project.sql(f"create view {s}.first_latest as select 1 as id")
    story = Story(project)
    story.runs.append(project.dbt("run"))

    for name in checked:
        project.sql(f"alter table {s}.{name} add constraint positive check (v > 0 or v is null)")
    late = f"date'2024-05-02', {AT} + interval 1 day"
    project.sql(f"insert into {s}.constrained values (3, -3, {late}), (4, -4, {late})")
    project.sql(f"insert into {s}.bombed values (5, 13, {late})")
    for way in FIRSTS:
        project.model(f"first_{way}", way_model(way, "clean"))
    rows = ", ".join(f"({i}, {i}, {late})" for i in range(10, 22))
    project.sql(f"insert into {s}.staged values {rows}")
    project.sql(
        f"insert into {s}.halved values {rows}, (3, -3, {late}), "
        f"(1, 7, date'2024-04-01', {AT} - interval 1 day)"
    )
    project.sql(f"insert into {s}.turned values (3, 3, date'2024-05-01', {AT} + interval 1 hour)")
    cuts: dict[str, int | str] = {
        name: CUTS[way] for name, (_, way) in zip(stages, STAGES, strict=True)
    } | {name: f"before: (merge|insert) into {s}\\.{name}\\b(?!__)" for name in (*halves, *TURNED)}
    with injected(Faults(cuts)):
        story.runs.append(
            project.dbt("run", "--select", *checked, *bombs, *firsts, *stages, *halves, *TURNED)
        )
    story.failed = {name: rows_of(project, name) for name in (*checked, *bombs)}

    for name, (tamper, _) in zip(stages + halves, STAGES + HALVES, strict=True):
        files = stage_files(project, name)
        assert files, name
        TAMPERS[tamper](files)
    project.sql(f"update {s}.constrained set v = 4 where id = 4")
    project.sql(f"update {s}.constrained set v = 3 where id = 3")
    project.sql(f"update {s}.bombed set v = 5 where id = 5")
    for name, (_, after) in TURNED.items():
        project.model(name, after)
    story.runs.append(project.dbt("run", "--select", *checked, *bombs, *stages, *halves, *TURNED))
    story.runs.append(project.build("--select", *halves, "--full-refresh"))
    return story


def failed_and_loaded(story: Story, name: str) -> str:
    """The error of the batch that failed, behind a first load and before one that was committed."""
    (first, _), (failed, error), *_, (last, _) = story.project.ledger(name, "state, error")
    assert (first, failed, last) == ("committed", "failed", "committed"), name
    return str(error)


def ids(story: Story, name: str) -> set[int]:
    return {row["id"] for row in rows_of(story.project, name)}


def test_what_the_table_refuses_is_failed_and_planned_anew(story: Story) -> None:
    """A CHECK constraint added by hand: once the row upstream is mended, the next run loads."""
    for way in CHECKED:
        name = f"checked_{way}"
        assert story.runs[1].status[name] == "error", name
        assert "positive" in failed_and_loaded(story, name).lower(), name
        assert len(story.failed[name]) == 2, name
        assert ids(story, name) == {1, 2, 3, 4}, name


def test_a_select_that_fails_leaves_its_error(story: Story) -> None:
    """The ledger says what stopped the batch; nothing of it is left to finish."""
    for way in BOMBS:
        name = f"bomb_{way}"
        assert story.runs[1].status[name] == "error", name
        assert "went off" in story.runs[1].message[name], name
        assert "went off" in failed_and_loaded(story, name), name
        assert ids(story, name) == {1, 2, 5}, name


def test_a_first_load_that_fails_leaves_its_error(story: Story) -> None:
    """Where there is no table yet, or a view, too."""
    for way in FIRSTS:
        name = f"first_{way}"
        assert story.runs[0].status[name] == "error", name
        assert story.project.ledger(name, "state")[0] == ("failed",), name
        assert story.runs[1].status[name] == "success", story.runs[1].message[name]
        assert ids(story, name) == {1, 2}, name


def test_a_select_that_breaks_the_contract_leaves_its_error(story: Story) -> None:
    assert "This model has an enforced contract that failed" in sentence(
        story.runs[0].message["uncontracted"]
    )
    batches = story.project.ledger("uncontracted", "state, error")
    assert batches == [("failed", "the SELECT breaks the contract")]


def test_keys_that_cannot_be_one_are_refused_before_anything_is_written(story: Story) -> None:
    """No table, no stage: a map, a variant, a column that is not there."""
    for name, (_, got, expected) in KEYS.items():
        said = sentence(story.runs[0].message[f"key_{name}"])
        assert got in said and expected in said, said
    s = story.project.schema
    assert not story.project.sql(f"show tables in {s} like 'key_*'")
    assert not story.project.sql(f"show tables in {s}_floodmark like 'stage__*key_*'")


def test_a_stage_that_is_not_whole_is_staged_anew(story: Story) -> None:
    """Nothing is applied yet: the next run reads the rows again and loses none."""
    for tamper, way in STAGES:
        name = f"stage_{tamper}_{way}"
        assert story.runs[1].status[name] == "error", name
        assert story.runs[2].status[name] == "success", story.runs[2].message[name]
        assert ids(story, name) == {1, 2, *range(10, 22)}, name
        assert story.project.ledger(name, "state")[-1] == ("committed",), name


def test_a_batch_is_read_anew_by_another_strategy(story: Story) -> None:
    """What the strategy of before has read is more or less than what today's must read: rows came twice, or went."""
    for name in TURNED:
        assert "cut before statement" in story.runs[1].message[name], name
        assert sorted(row["id"] for row in rows_of(story.project, name)) == [1, 2, 3], name
        assert story.project.ledger(name, "state") == [("committed",)] * 2, name


def test_half_a_batch_whose_stage_is_not_whole_names_the_way_out(story: Story) -> None:
    """cdc has written what it remembers: the other half is refused, and a full refresh loads all."""
    for tamper, way in HALVES:
        name = f"half_{tamper}_{way}"
        assert story.runs[1].status[name] == "error", name
        said = sentence(story.runs[2].message[name])
        assert "half of batch 2 is written, and its staging table" in said, (name, said)
        assert "so the other half cannot be written: run the model once with --full-refresh" in said
        assert ids(story, name) == {1, 2, *range(10, 22)}, name


def losing_a_task(name: str, point: str) -> Faults:
    """Spark loses a task of a statement, and the run dies before it records the batch as failed."""
    faults = Faults(cuts={name: point})
    lost: list[str] = []

    def lose() -> None:
        if not lost:
            lost.append(name)
            raise DbtDatabaseError("Job aborted: executor 3 is gone")
        sent = faults.sent[name][-1]
        if sent.startswith("insert") and "'failed'" in sent:
            raise RuntimeError("cut")

    faults.act = lose
    return faults


def test_a_batch_that_was_fenced_and_not_failed_is_planned_anew(
    make_project: Callable[..., Project],
) -> None:
    """Its transaction id is used up: sent again under it, its statement would be skipped by every run."""
    project = make_project("fenced")
    make_source(project)
    names = ("append", "merge", "overwrite")
    for name in names:
        project.model(name, way_model(name))
    project.build()
    late = f"date'2024-05-02', {AT} + interval 1 day"
    project.sql(f"insert into {project.schema}.src values (3, 3, {late})")
    for name in names:
        point = f"before: (merge|insert) into {project.schema}\\.{name}\\b(?!__)"
        with injected(losing_a_task(name, point)) as faults:
            run = project.dbt("run", "--select", name)
        assert "executor 3 is gone" in run.message[name], run.log[-3000:]
        assert "'failed'" in faults.sent[name][-1], name
        assert project.ledger(name, "state")[-1] == ("planned",), name
    project.build()
    for name in names:
        assert {row["id"] for row in rows_of(project, name)} == {1, 2, 3}, name
        batches = project.ledger(name, "state, error")
        assert [state for state, _ in batches] == ["committed", "failed", "committed"], name
        assert batches[1][1].startswith("an earlier run gave the batch up"), name


def test_everything_else_succeeded(story: Story) -> None:
    failed = [{n for n, status in run.status.items() if status != "success"} for run in story.runs]
    names = {
        what: {f"{what}_{rest}" for rest in rests}
        for what, rests in {
            "key": KEYS,
            "first": FIRSTS,
            "checked": CHECKED,
            "bomb": BOMBS,
            "stage": ["_".join(pair) for pair in STAGES],
            "half": ["_".join(pair) for pair in HALVES],
        }.items()
    }
    assert failed == [
        names["key"] | names["first"] | {"uncontracted"},
        names["checked"] | names["bomb"] | names["stage"] | names["half"] | {*TURNED},
        names["half"],
        set(),
    ], story.runs[0].log[-3000:]


def test_a_warning_that_ends_the_node_leaves_no_batch_open(
    make_project: Callable[..., Project],
) -> None:
    """Tied events, a column without a type, one that a snapshot no longer has, a gap: said behind the commit."""
    project = make_project("warnings")
    s = project.schema
    project.sql(f"create table {s}.events (k int, seq bigint, v string) using delta")
    project.sql(f"insert into {s}.events values (1, 10, 'a'), (1, 10, 'b'), (2, 13, 'c')")
    project.sql(f"create table {s}.snaps using delta as select 1 as k, 'a' as a, 'b' as b")
    project.source("events", "snaps")
    watermark = {"column": "seq", "gaps": "ignore"}
    project.model(
        "tied",
        incremental(
            table("events"),
            incremental_strategy="cdc",
            unique_key="k",
            watermark=watermark,
            cdc={"sequence_by": "seq"},
        ),
    )
    project.model("untyped", incremental(table("events"), "k, seq, null as n", watermark=watermark))
    project.model(
        "gappy",
        incremental(table("events"), incremental_strategy="append", watermark={"column": "seq"}),
    )
    project.model("gone", whole("snaps"))
    project.build("--select", "gone")
    project.model("gone", whole("snaps", "k, a"))
    said = {
        "tied": "1 event has the key and the sequence of another event but other values",
        "untyped": "the SELECT gives n without a type",
        "gone": "the SELECT no longer has b: rows keep the value they have",
        "gappy": f"1 gap in {s}.events.seq, missing: 11-12",
    }
    run = project.dbt("--warn-error", "run")
    for name, warning in said.items():
        assert run.status[name] == "error", name
        told = sentence(run.message[name])
        assert warning in told, told
        assert "The batch is committed: --warn-error fails the node" in told, told
        assert {state for (state,) in project.ledger(name, "state")} == {"committed"}, name
    assert project.ledger("tied", "rows_read, rows_tied") == [(3, 1)]
    assert project.ledger("gappy", "rows_read") == [(3,)]
    assert not project.sql(f"show tables in {s}_floodmark like 'stage__*'")
    run = project.dbt("--warn-error", "run")
    assert run.success, run.log[-3000:]
