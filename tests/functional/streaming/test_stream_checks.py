"""What a stream refuses, with its sentence; and how table, ledger and checkpoint may part."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from dbt_floodmark.streaming.service import Service, running
from tests.support.faults import Faults, injected
from tests.support.harness import FULL, Project, Run, incremental, sentence, table
from tests.support.streams import stream

SOURCE = "stream({{ source('raw', 'events') }})"
EVENTS = "id bigint, k string, at timestamp"


pytestmark = [pytest.mark.parametrize("target", ["session"], scope="module"), pytest.mark.edge]


def arrive(project: Project, *numbers: int) -> None:
    rows = ", ".join(f"({n}, 'k{n}', timestamp'2026-01-01')" for n in numbers)
    project.sql(f"insert into {project.schema}.events values {rows}")


def fails(project: Project, *args: str) -> str:
    run = project.dbt("run", *args)
    assert not run.success
    return sentence(run.log)


REFUSED: dict[str, tuple[str, list[str]]] = {
    "settings": (
        stream(
            "select * from stream({{ source('raw', 'events') }}) {% if is_incremental() %} {% endif %}",
            trigger={"processing_time": "soon"},
            output_mode="all",
            watermark={"column": "at"},
            file_format="parquet",
            checkpoint_location="",
            on_schema_change="maybe",
        ),
        [
            "7 problems",
            "trigger.processing_time: got \"soon\"; expected a duration such as '30 seconds'. Units are",
            "output_mode: got \"all\"; expected 'append', 'complete' or 'update'. Use one of them",
            "expected no such setting on a streaming_table. Write it after the stream: from stream(...) watermark ts",
            "file_format: got \"parquet\"; expected 'delta'. Remove the setting",
            "is_incremental(): expected a SELECT without it on a streaming_table. Remove it",
            'checkpoint_location: got ""; expected a folder. Leave it out',
            "on_schema_change: got \"maybe\"; expected 'ignore', 'fail'",
        ],
    ),
    "settings_in_meta": (
        stream(
            f"select * from {SOURCE}",
            meta={
                "floodmark": {"trigger": "never", "output_mode": "all", "checkpoint_location": 1}
            },
        ),
        [
            "3 problems",
            "trigger: got \"never\"; expected 'available_now' or",
            "output_mode: got \"all\"; expected 'append', 'complete' or 'update'. Use one of them",
            "checkpoint_location: got 1; expected a folder. Leave it out",
        ],
    ),
    "trigger": (
        stream(f"select * from {SOURCE}", trigger="continuous"),
        [
            "trigger: got \"continuous\"; expected 'available_now' or {'processing_time': '30 seconds'}. Use one of them"
        ],
    ),
    "no_key": (
        stream(f"select k, count(*) as n from {SOURCE} group by k", output_mode="update"),
        [
            "unique_key: got null; expected a column or a list of columns. output_mode 'update' needs the key"
        ],
    ),
    "complete_cdc": (
        stream(
            f"select * from {SOURCE}",
            output_mode="complete",
            incremental_strategy="cdc",
            unique_key="id",
            cdc={"sequence_by": "id"},
        ),
        [
            "incremental_strategy: got \"cdc\"; expected 'append' with output_mode 'complete'. Leave it out",
            "unique_key: got \"id\"; expected no key with output_mode 'complete'. Remove it",
        ],
    ),
    "overwrite": (
        stream(f"select * from {SOURCE}", incremental_strategy="insert_overwrite"),
        [
            "incremental_strategy: got \"insert_overwrite\"; expected 'append', 'merge' or 'cdc' on a streaming_table"
        ],
    ),
    "no_stream": (
        stream("select * from {{ source('raw', 'events') }}"),
        ["its SELECT reads no stream: read one of its sources with stream(...), such as"],
    ),
    "bad_option": (
        stream("select * from stream(json.`landing`) with (maxFilesPerTrigger)"),
        [
            "got 'maxFilesPerTrigger' in with (...) after stream(): expected options such as maxFilesPerTrigger = 100"
        ],
    ),
    "sorted": (
        stream(f"select * from {SOURCE} order by id"),
        ["an endless stream cannot be sorted: leave ORDER BY out", "Spark says:"],
    ),
    "unbounded": (
        stream(f"select k, count(*) as n from {SOURCE} group by k"),
        [
            "an aggregation can be appended only once its groups are closed: put a watermark on the stream",
            "Spark says:",
        ],
    ),
    "twice": (
        stream(
            f"select n, count(*) as keys from (select k, count(*) as n from {SOURCE} group by k) group by n",
            output_mode="update",
            unique_key="n",
        ),
        [
            "several aggregations or joins, one after another, need output_mode='append' and an event-time watermark"
        ],
    ),
    "nothing_to_complete": (
        stream(f"select * from {SOURCE}", output_mode="complete"),
        [
            "output_mode='complete' rewrites an aggregation in each batch: without GROUP BY use 'append'"
        ],
    ),
    "ranked": (
        stream(f"select *, row_number() over (partition by k order by id) as r from {SOURCE}"),
        [
            "a window function needs all rows at once, which a stream never has: keep the latest row of a key with"
        ],
    ),
    "limited": (
        stream(
            f"select k, count(*) as n from {SOURCE} group by k limit 5",
            output_mode="update",
            unique_key="k",
        ),
        ["LIMIT has no meaning on an endless stream"],
    ),
    "outer": (
        stream(f"select a.id from {SOURCE} as a left join {SOURCE} as b on a.id = b.id"),
        [
            "an outer join of two streams needs an event-time watermark on both and a time range in its condition"
        ],
    ),
    "unreachable": (
        stream(f"select * from {SOURCE}", checkpoint_location="abc://store/checkpoints"),
        [
            "cannot be reached: Spark has no connector for paths that begin with abc://",
        ],
    ),
    "distinct_forever": (
        stream(f"select * from {SOURCE}", unique_key="id"),
        [
            "unique_key on an append stream drops what comes again within the event-time watermark: put a watermark on the stream"
        ],
    ),
    # Keys are used up before the rules judge: a corrected row would vanish behind a bad one.
    "distinct_rules": (
        stream(
            f"select * from {SOURCE} watermark at delay of interval 1 hour",
            unique_key="id",
            expectations=[
                {"name": "positive", "expect": "id > 0", "on_violation": "quarantine"},
                {"name": "named", "expect": "k is not null"},
            ],
        ),
        [
            "unique_key: got \"id\"; expected no key with 'append' where rules drop or quarantine rows (positive). The first row",
            "Use incremental_strategy='merge' and run a model that is loaded once with --full-refresh, or set on_violation to",
        ],
    ),
    "idle": (
        stream(
            f"select * from {SOURCE}", merge_exclude_columns=["at"], incremental_predicates="id > 0"
        ),
        [
            "merge_exclude_columns: got [\"at\"]; expected no such setting with 'append'. Remove it: it does nothing but",
            "incremental_predicates: got \"id > 0\"; expected no such setting with 'append'. Remove it",
        ],
    ),
    "two_lists": (
        stream(
            f"select * from {SOURCE}",
            incremental_strategy="merge",
            unique_key="id",
            merge_update_columns=["k"],
            merge_exclude_columns=["at"],
        ),
        ["merge_update_columns: expected merge_update_columns or merge_exclude_columns, not both"],
    ),
    # The words of the plan, which Spark prints behind its message, are no error.
    "misspelt": (
        stream(
            f"select a.idd from {SOURCE} as a left join {{{{ source('raw', 'moved') }}}} as b on a.id = b.id"
        ),
        ["UNRESOLVED_COLUMN"],
    ),
    # What the first micro-batch would find in a table that is there by then.
    "mistyped_cdc": (
        stream(
            f"select * from {SOURCE}",
            incremental_strategy="cdc",
            unique_key="idd",
            cdc={"sequence_by": "at", "except_column_list": ["note"]},
        ),
        [
            'unique_key: got "idd"; expected a column of the SELECT that the table keeps.',
            'cdc.except_column_list: got "note"; expected columns of the SELECT. Correct the name',
        ],
    ),
    "mistyped_merge": (
        stream(f"select * from {SOURCE}", incremental_strategy="merge", unique_key="iddd"),
        ['unique_key: got "iddd"; expected a column of the SELECT. Add it to the SELECT'],
    ),
    "misruled": (
        stream(
            f"select * from {SOURCE}",
            expectations=[
                {"name": "typo", "expect": "idddd > 0", "on_violation": "quarantine"},
                {"name": "alone", "unique": ["kk"]},
            ],
        ),
        [
            'expectations.typo.expect: got "idddd > 0"; expected a condition of the SELECT\'s columns (id, k, at). ',
            'expectations.alone: got "kk"; expected a column of the SELECT: id, k, at. Correct the name',
        ],
    ),
}


#: How table, ledger and checkpoint part in each. `foreign` has rows of somebody else as `cloned` has.
PARTED = ["dropped", "restored", "cloned", "lost", "kept_aside", "returned"]
if FULL:
    PARTED += ["foreign"]
#: Those that are loaded anew, one of each side: what the refresh does is the same for all.
REFRESHED = PARTED if FULL else ["restored", "lost"]

#: Models whose SELECT or source changes: before, and after.
CHANGED: dict[str, tuple[str, str]] = {
    "filtered": (
        stream(
            f"select id, k from {SOURCE}",
            on_schema_change="append_new_columns",
            checkpoint_location="checkpoints",
        ),
        stream(
            f"select id, k, 'new' as added from {SOURCE} where id <> 2",
            on_schema_change="append_new_columns",
            checkpoint_location="checkpoints",
        ),
    ),
    "grouped": (
        stream(f"select k, count(*) as n from {SOURCE} group by k", output_mode="complete"),
        stream(
            f"select id % 2 = 0 as even, k, count(*) as n from {SOURCE} group by id % 2 = 0, k",
            output_mode="complete",
        ),
    ),
    "distinct_since": (
        stream(f"select id, at from {SOURCE} watermark at delay of interval 1 hour"),
        stream(
            f"select id, at from {SOURCE} watermark at delay of interval 1 hour", unique_key="id"
        ),
    ),
    "updated": (
        stream(f"select k, count(*) as n from {SOURCE} group by k", output_mode="complete"),
        stream(
            f"select k, count(*) as n from {SOURCE} group by k",
            output_mode="update",
            unique_key="k",
        ),
    ),
    "strict": (
        stream(
            f"select id, k from {SOURCE}",
            on_schema_change="fail",
            checkpoint_location="checkpoints",
        ),
        stream(
            f"select id, k, at from {SOURCE}",
            on_schema_change="fail",
            checkpoint_location="checkpoints",
        ),
    ),
    "moving": (
        stream("select * from stream({{ source('raw', 'moved') }})", trigger="once"),
        stream("select * from stream({{ source('raw', 'moved') }})", trigger="once"),
    ),
}

BOUND = """
config: {contract: {enforced: true}}
columns:
  - {name: id, data_type: bigint, constraints: [{type: check, expression: "id < 100", name: small}]}
  - {name: k, data_type: string, constraints: [{type: not_null}]}
"""


@dataclass
class Story:
    """One project: a first run in which some models are refused, and a second after which much has changed."""

    project: Project
    #: Rows of `dry` behind a run with --empty, and its batches.
    dry: tuple[list[tuple[object, ...]], list[tuple[object, ...]]]
    first: Run
    #: What there was when the first run had ended: the tables, and who had a batch.
    made: set[str]
    with_batches: set[str]
    second: Run


def latest(project: Project, deletes: str, where: str = "true") -> str:
    """SQL of a cdc stream."""
    return stream(
        f"select * from stream({project.schema}.feed) where {where}",
        incremental_strategy="cdc",
        unique_key="k",
        cdc={"sequence_by": "seq", "apply_as_deletes": deletes},
    )


@pytest.fixture(scope="module")
def story(make_project: Callable[..., Project]) -> Story:
    """Rows 1, 2 and 500 arrive, each before a run."""
    project = make_project("checks")
    s = project.schema
    project.sql(f"create table {s}.events ({EVENTS}) using delta")
    project.sql(f"create table {s}.moved using delta as select 1 as id, 'a' as k")
    project.sql(f"create table {s}.feed (k string, seq int, op string) using delta")
    project.sql(f"insert into {s}.feed values ('a', 10, 'u'), ('a', 20, 'x'), ('b', 10, 'u')")
    project.source("events", "moved")
    arrive(project, 1)
    for name, (sql, _) in (REFUSED | CHANGED).items():
        project.model(name, sql)
    for name in PARTED:
        project.model(name, stream(f"select * from {SOURCE}"))
    project.model("bound", stream(f"select id, k from {SOURCE}"), BOUND)
    project.model("latest", latest(project, "op = 'x'"))
    first = project.dbt("run")
    assert {name for name, status in first.status.items() if status != "success"} == set(REFUSED)
    assert project.sql(f"select k from {s}.latest") == [("b",)]
    made = {row[1] for row in project.sql(f"show tables in {s}")}
    batches = project.sql(f"select distinct model from {s}_floodmark.batches")
    for name in REFUSED:
        (project.root / "models" / f"{name}.sql").unlink()
    project.model("dry", stream(f"select * from {SOURCE}"))
    project.model("dry_mistyped", REFUSED["mistyped_cdc"][0])
    distinct = f"select * from {SOURCE} watermark at delay of interval 1 hour"
    project.model("dry_keyed", stream(distinct, unique_key="nope"))
    project.model("dry_distinct", stream(distinct, unique_key="id"))
    mistyped = ["dry_mistyped", "dry_keyed"]
    empty = project.dbt("run", "--select", "dry", "dry_distinct", *mistyped, "--empty")
    for name in ("dry", "dry_distinct", *mistyped):
        assert empty.status[name] == ("error" if name in mistyped else "success"), name
    assert 'unique_key: got "nope"; expected a column' in sentence(empty.message["dry_keyed"])
    for name in (*mistyped, "dry_distinct"):
        (project.root / "models" / f"{name}.sql").unlink()
    dry = (project.sql(f"select count(*) from {s}.dry"), project.ledger("dry", "batch_id"))
    arrive(project, 2)
    project.build("--select", "dry", *(set(PARTED) - {"dropped", "lost"}))
    _part(project)
    for name, (_, sql) in CHANGED.items():
        project.model(name, sql)
    project.sql(f"drop table {s}.moved")
    project.sql(f"create table {s}.moved using delta as select 2 as id, 'b' as k")
    arrive(project, 500)
    second = project.dbt("run", "--select", *PARTED, *CHANGED, "bound")
    expected = {*PARTED, *CHANGED, "bound"} - {"dropped", "filtered"}
    assert {name for name, status in second.status.items() if status != "success"} == expected
    return Story(project, dry, first, made, {row[0].split(".")[-1] for row in batches}, second)


def _part(project: Project) -> None:
    """Tables and checkpoints go ways of their own."""
    schema = project.schema
    project.build("--select", "returned", "--full-refresh")
    project.sql(f"restore table {schema}.returned to version as of 2")
    project.sql(f"drop table {schema}.dropped")
    project.sql(f"restore table {schema}.restored to version as of 1")
    project.sql(f"drop table {schema}.cloned")
    project.sql(f"create table {schema}.cloned shallow clone {schema}.kept_aside")
    if "foreign" in PARTED:
        project.sql(
            f"create or replace table {schema}.foreign using delta as select * from {schema}.events"
        )
    for path in checkpoints(project, "lost"):
        shutil.rmtree(path)
    for path in checkpoints(project, "kept_aside"):
        for folder in ("offsets", "commits"):
            for file in (path / folder).glob("*1*"):
                file.unlink()
            for file in (path / folder).glob(".*1*"):
                file.unlink()


def checkpoints(project: Project, model: str) -> list[Path]:
    """The folders of a model's checkpoints."""
    (location,) = {
        row[1]
        for row in project.sql(f"describe schema {project.schema}_floodmark")
        if row[0] == "Location"
    }
    base = Path(location.removeprefix("file:")) / "_checkpoints" / f"{project.schema}.{model}"
    return list(base.iterdir())


def test_what_cannot_run_is_refused_before_anything_is_made(story: Story) -> None:
    log = sentence(story.first.log)
    for name, (_, sentences) in REFUSED.items():
        for one in sentences:
            assert one in log, (name, one)
    assert "outer join" not in sentence(story.first.message["misspelt"])
    assert not story.made & set(REFUSED)
    assert not story.with_batches & set(REFUSED)


def test_where_table_and_checkpoint_part_the_run_stops(story: Story) -> None:
    """Each with its sentence."""
    schema, log = story.project.schema, sentence(story.second.log)
    again = "run it once with --full-refresh to load everything again"
    sentences = [
        f"{schema}.restored was restored to version 1 after batch 2, so rows that the checkpoint has passed are missing: {again}",
        f"{schema}.cloned has rows that no stream of this model wrote, so nobody can tell which rows of its sources are in it: {again}",
        f"{schema}.returned is not the table that batch 3 left (it was dropped, recreated or replaced by something else): {again}",
        f"is gone, so nobody can tell which rows of its sources are in {schema}.lost: put the checkpoint back, or {again}",
        f"is older than its table, so nobody can tell which rows of its sources are in {schema}.kept_aside: put the checkpoint back, or {again}",
    ]
    if "foreign" in PARTED:
        sentences.append(
            f"{schema}.foreign has rows that no stream of this model wrote, so nobody can tell which rows of its sources are in it: {again}"
        )
    for one in sentences:
        assert one in log, one
    # A table that was dropped starts over by itself.
    found = story.project.sql(f"select id from {schema}.dropped order by id")
    assert [row[0] for row in found] == [1, 2, 500]


def test_a_changed_query_and_a_recreated_source(story: Story) -> None:
    """What the checkpoint can follow goes on; what it cannot gets a sentence and the choice."""
    schema, log = story.project.schema, sentence(story.second.log)
    assert story.project.sql(f"select id, added from {schema}.filtered order by id") == [
        (1, None),
        (500, "new"),
    ]
    for one in (
        "the SELECT groups, joins or reads differently from the one that its checkpoint was made with",
        "and its checkpoint has none. If the SELECT did not keep state before, undo the change",
        f"the SELECT and {schema}.strict differ (new: at): on_schema_change is 'fail'",
        "a source of the SELECT is not the table that its checkpoint has read in that place. If the SELECT was changed, undo",
        "If the table was dropped and recreated, run the model with --full-refresh to start over",
        f"output_mode is 'update', and {schema}.updated was filled with 'complete', to which the state in its checkpoint belongs: "
        "rows would come twice, or not at all. Set output_mode back to 'complete', or run it once with --full-refresh",
    ):
        assert one in log, one


def test_an_output_mode_that_a_table_does_not_tell(story: Story) -> None:
    """Tables of earlier versions: the mode of their next run is theirs."""
    project, s = story.project, story.project.schema
    mode = f"show tblproperties {s}.updated ('floodmark.output_mode')"
    assert project.sql(mode)[0][1] == "complete"
    project.sql(f"alter table {s}.updated unset tblproperties ('floodmark.output_mode')")
    project.model("updated", CHANGED["updated"][0])
    project.build("--select", "updated")
    assert project.sql(mode)[0][1] == "complete"
    assert len(project.sql(f"select k from {s}.updated")) == 3


def test_models_that_name_one_folder_have_a_checkpoint_each(story: Story) -> None:
    folders = sorted(path.name for path in (story.project.root / "checkpoints").iterdir())
    assert folders == [f"{story.project.schema}.filtered", f"{story.project.schema}.strict"]


def test_once_is_a_deprecated_name(story: Story) -> None:
    assert "trigger 'once' is Spark's deprecated name for 'available_now': use that" in sentence(
        story.first.log
    )


def test_empty_makes_the_table_alone(story: Story) -> None:
    assert story.dry == ([(0,)], [])
    found = story.project.sql(f"select id from {story.project.schema}.dry order by id")
    assert found == [(1,), (2,)]


def test_a_contract_holds_from_the_first_row_on(story: Story) -> None:
    project = story.project
    assert "small" in sentence(story.second.message["bound"])
    assert project.sql(f"select id from {project.schema}.bound") == [(1,)]
    assert {row[0] for row in project.ledger("bound", "state")} == {"committed"}


def test_a_stream_begins_with_a_version_that_is_there(story: Story) -> None:
    """From `latest` on each run of dbt would begin behind the newest version; floodmark names the number to write."""
    project, table = story.project, f"{story.project.schema}.versions"
    project.sql(f"create table {table} using delta as select 1 as id")
    project.sql(f"insert into {table} values (2)")
    select = f"select * from stream({table}) with (startingVersion = {{}})"
    project.model("begun", stream(select.format("'latest'")))
    said = fails(project, "--select", "begun")
    assert f"it reads {table} with startingVersion = 'latest', which begins after" in said
    assert "number of the first version to read, such as 1, the newest" in said
    project.model("begun", stream(select.format(1)))
    project.build("--select", "begun")
    project.model("begun", stream(select.format("'latest'")))
    project.sql(f"insert into {table} values (3)")
    project.build("--select", "begun")
    assert project.sql(f"select id from {project.schema}.begun order by id") == [(2,), (3,)]


AGREED = """
config: {contract: {enforced: true}}
columns:
  - {name: id, data_type: bigint}
  - {name: k, data_type: string}
"""


@pytest.mark.parametrize("mode", ["append", "complete"])
def test_a_contract_holds_for_the_select_of_later_runs(story: Story, mode: str) -> None:
    """Delta's own sink would write what the SELECT gives by then, and leave out a column."""
    project, name = story.project, f"agreed_{mode}"
    project.sql(f"create table {project.schema}.{name}_in using delta as select 1l as id, 'a' as k")
    select = f"select {{}} from stream({project.schema}.{name}_in) group by k"
    if mode == "append":
        select = select.removesuffix(" group by k")
    agreed = "max(id) as id, k" if mode == "complete" else "id, k"
    project.model(name, stream(select.format(agreed), output_mode=mode), AGREED)
    project.build("--select", name)
    for changed in (agreed.replace(", k", ", k, k as more"), agreed.replace(", k", ", 1 as k")):
        project.model(name, stream(select.format(changed), output_mode=mode), AGREED)
        said = fails(project, "--select", name)
        assert "This model has an enforced contract that failed." in said, said
    project.model(name, stream(select.format(agreed), output_mode=mode), AGREED)
    project.build("--select", name)
    assert project.sql(f"select id, k from {project.schema}.{name}") == [(1, "a")]


def test_a_full_refresh_loads_everything_again(story: Story) -> None:
    """It forgets what cdc remembered, however many commits that are no batch's came since."""
    project, s = story.project, story.project.schema
    for number in range(11):
        project.sql(f"alter table {s}.latest__cdc_state set tblproperties ('n' = '{number}')")
    project.model("latest", latest(project, "op = 'd'", "op = 'u'"))
    names = [*REFRESHED, "grouped", "strict", "moving", "latest"]
    project.build("--full-refresh", "--select", *names)
    for name in REFRESHED:
        found = project.sql(f"select id from {s}.{name} order by id")
        assert [row[0] for row in found] == [1, 2, 500], name
    assert project.sql(f"select * from {s}.moving") == [(2, "b")]
    assert project.sql(f"select k from {s}.latest order by k") == [("a",), ("b",)]
    assert project.ledger("lost", "batch_id, high") == [(1, "0"), (2, "0")]
    project.model("lost", incremental(table("events"), watermark={"column": "id"}))
    assert (
        f"{s}.lost was filled by a stream, which leaves no mark: run it once with --full-refresh to load everything "
        "again, or set the mark with `floodmark reset lost --to <value>`"
    ) in fails(project, "--select", "lost")


HISTORY = {"sequence_by": "id", "stored_as_scd_type": 2}
#: Model -> its settings, and where it fails. `again` is cut before its stage, which the crash lab does, too.
CUT = {
    "lined": ({"incremental_strategy": "cdc", "cdc": HISTORY}, "before: merge into .*lined"),
    "again": ({"incremental_strategy": "merge"}, "before: create table .*stage__.*__again__2__"),
}


@pytest.mark.parametrize("name", CUT if FULL else ["lined"])
def test_a_stream_that_starts_again_goes_on_where_it_was(story: Story, name: str) -> None:
    """In `floodmark stream` a table is made, and the stream fails and starts again, in one dbt invocation."""
    project = story.project
    few = f"{project.schema}.few_{name}"
    project.sql(f"create table {few} ({EVENTS}) using delta")
    for number in range(3):
        project.sql(f"insert into {few} values ({number}, 'k', timestamp'2026-01-01')")
    settings, point = CUT[name]
    select = f"select * from stream({few}) with (maxFilesPerTrigger = 1)"
    project.model(name, stream(select, unique_key="id", **settings))
    cut: list[int] = []

    def fail_once() -> None:
        cut.append(1)
        if len(cut) == 1:
            raise RuntimeError("cut")

    said: list[str] = []
    service = Service(say=said.append)
    service.wait = lambda seconds: len(said) > 9  # type: ignore[method-assign]
    with running(service), injected(Faults(cuts={name: point}, act=fail_once)):
        project.build("--select", name)
    failed = [line for line in said if "failed" in line]
    assert len(failed) == 1, failed
    assert f"{project.schema}.{name}  failed, starts again in 1 s: " in failed[0]
    ids = "select id from {} order by id"
    assert project.sql(ids.format(f"{project.schema}.{name}")) == project.sql(ids.format(few))
    marks = [row[0] for row in project.ledger(name, "high")]
    assert marks == [str(number) for number in range(len(marks))]
