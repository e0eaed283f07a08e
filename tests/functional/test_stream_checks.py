"""What a stream refuses, with its sentence; and how table, ledger and checkpoint may part."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from dbt_floodmark.streaming.service import Service, running
from tests.functional.faults import Faults, injected
from tests.functional.test_streams import stream
from tests.harness import Project, incremental, sentence, table

SOURCE = "stream({{ source('raw', 'events') }})"
EVENTS = "id bigint, k string, at timestamp"


@pytest.fixture(scope="module")
def project(make_project: Callable[..., Project]) -> Iterator[Project]:
    project = make_project("checks")
    project.sql(f"create table {project.schema}.events ({EVENTS}) using delta")
    project.source("events")
    arrive(project, 1)
    yield project


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
            "expected no such setting on a streaming_table. Write it behind the stream: from stream(...) watermark ts",
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
            "got 'maxFilesPerTrigger' in with (...) behind stream(): expected options such as maxFilesPerTrigger = 100"
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
            "several aggregations or joins one after the other need output_mode='append' and an event-time watermark"
        ],
    ),
    "nothing_to_complete": (
        stream(f"select * from {SOURCE}", output_mode="complete"),
        [
            "output_mode='complete' writes an aggregation anew in each batch: without GROUP BY use 'append'"
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
    "distinct_forever": (
        stream(f"select * from {SOURCE}", unique_key="id"),
        [
            "unique_key on an append stream drops what comes again within the event-time watermark: put one on the stream"
        ],
    ),
}


@pytest.mark.parametrize("target", ["session"], scope="module")
def test_what_cannot_run_is_refused_before_anything_is_made(project: Project) -> None:
    for name, (sql, _) in REFUSED.items():
        project.model(name, sql)
    log = fails(project, "--select", *REFUSED)
    for name, (_, sentences) in REFUSED.items():
        for one in sentences:
            assert one in log, (name, one)
        assert not project.sql(f"show tables in {project.schema} like '{name}'"), name
        (project.root / "models" / f"{name}.sql").unlink()
    assert not project.sql(f"select * from {project.schema}_floodmark.batch_log")


@pytest.mark.parametrize("target", ["session"], scope="module")
def test_where_table_and_checkpoint_part_the_run_stops(project: Project) -> None:
    """Each with its sentence, and --full-refresh as the way out."""
    names = ["dropped", "restored", "cloned", "foreign", "lost", "kept_aside", "returned"]
    for name in names:
        project.model(name, stream(f"select * from {SOURCE}"))
    select = ("--select", *names)
    project.build(*select)
    arrive(project, 2)
    project.build(*select)
    schema = project.schema
    project.build("--select", "returned", "--full-refresh")
    project.sql(f"restore table {schema}.returned to version as of 2")
    project.sql(f"drop table {schema}.dropped")
    project.sql(f"restore table {schema}.restored to version as of 1")
    project.sql(f"drop table {schema}.cloned")
    project.sql(f"create table {schema}.cloned shallow clone {schema}.kept_aside")
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
    arrive(project, 3)
    log = fails(project, *select)
    again = "run it once with --full-refresh to load everything again"
    for one in (
        f"{schema}.restored was restored to version 1 after batch 2, so rows that the checkpoint has passed are missing: {again}",
        f"{schema}.cloned has rows that no stream of this model wrote, so nobody can tell which rows of its sources are in it: {again}",
        f"{schema}.returned is not the table that batch 3 left (it was dropped, recreated or replaced by something else): {again}",
        f"{schema}.foreign has rows that no stream of this model wrote, so nobody can tell which rows of its sources are in it: {again}",
        f"is gone, so nobody can tell which rows of its sources are in {schema}.lost: put the checkpoint back, or {again}",
        f"is older than its table, so nobody can tell which rows of its sources are in {schema}.kept_aside: put the checkpoint back, or {again}",
    ):
        assert one in log, one
    project.build(*select, "--full-refresh")
    for name in names:
        # A table that was dropped starts over by itself.
        found = project.sql(f"select id from {schema}.{name} order by id")
        assert [row[0] for row in found] == [1, 2, 3], name
    assert project.ledger("lost", "batch_id, high") == [(1, "0"), (2, "1"), (3, "0")]
    project.model("lost", incremental(table("events"), watermark={"column": "id"}))
    assert (
        f"{schema}.lost was filled by a stream, whose progress is no mark: {again}, or set the mark "
        "with `floodmark reset lost --to <value>`"
    ) in fails(project, "--select", "lost")


def checkpoints(project: Project, model: str) -> list[Path]:
    """The folders of a model's checkpoints."""
    (location,) = {
        row[1]
        for row in project.sql(f"describe schema {project.schema}_floodmark")
        if row[0] == "Location"
    }
    base = Path(location.removeprefix("file:")) / "_checkpoints" / f"{project.schema}.{model}"
    return list(base.iterdir())


@pytest.mark.parametrize("target", ["session"], scope="module")
def test_a_changed_query_and_a_recreated_source(project: Project) -> None:
    """What the checkpoint can follow goes on; what it cannot gets a sentence and the choice."""
    schema = project.schema
    project.sql(f"create or replace table {schema}.moved using delta as select 1 as id, 'a' as k")
    project.source("events", "moved")
    project.model(
        "filtered", stream(f"select id, k from {SOURCE}", on_schema_change="append_new_columns")
    )
    project.model(
        "grouped",
        stream(f"select k, count(*) as n from {SOURCE} group by k", output_mode="complete"),
    )
    project.model("strict", stream(f"select id, k from {SOURCE}", on_schema_change="fail"))
    project.model("moving", stream("select * from stream({{ source('raw', 'moved') }})"))
    names = ("--select", "filtered", "grouped", "strict", "moving")
    project.build(*names)
    before = [row[0] for row in project.sql(f"select id from {schema}.filtered order by id")]
    arrive(project, 20, 21)
    project.model(
        "filtered",
        stream(
            f"select id, k, 'new' as added from {SOURCE} where id <> 20",
            on_schema_change="append_new_columns",
        ),
    )
    project.model(
        "grouped",
        stream(
            f"select id % 2 = 0 as even, k, count(*) as n from {SOURCE} group by id % 2 = 0, k",
            output_mode="complete",
        ),
    )
    project.model("strict", stream(f"select id, k, at from {SOURCE}", on_schema_change="fail"))
    project.sql(f"drop table {schema}.moved")
    project.sql(f"create table {schema}.moved using delta as select 2 as id, 'b' as k")
    log = fails(project, *names)
    assert project.sql(f"select id, added from {schema}.filtered order by id") == [
        *((id_, None) for id_ in before),
        (21, "new"),
    ]
    for one in (
        "the SELECT groups, joins or reads differently from the one that its checkpoint was made with",
        f"the SELECT and {schema}.strict differ (new: at): on_schema_change is 'fail'",
        "the source table was dropped and made again, so the checkpoint, which counts its versions, does not fit it",
    ):
        assert one in log, one
    project.build(*names, "--full-refresh")
    assert project.sql(f"select * from {schema}.moving") == [(2, "b")]


HISTORY = {"sequence_by": "id", "stored_as_scd_type": 2}


@pytest.mark.parametrize("target", ["session"], scope="module")
@pytest.mark.parametrize(
    ("name", "settings", "point"),
    [
        (
            "again",
            {"incremental_strategy": "merge"},
            "before: create table .*stage__.*__again__2__",
        ),
        ("lined", {"incremental_strategy": "cdc", "cdc": HISTORY}, "before: merge into .*lined"),
    ],
)
def test_a_stream_that_starts_again_goes_on_where_it_was(
    project: Project, name: str, settings: dict[str, object], point: str
) -> None:
    """In `floodmark stream` a table is made, and the stream fails and starts again, in one dbt invocation."""
    select = f"select * from {SOURCE} with (maxFilesPerTrigger = 1)"
    project.model(name, stream(select, unique_key="id", **settings))
    arrive(project, 30 if name == "again" else 31)
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
    assert f"checks.{name}  failed, starts again in 1 s: " in failed[0]
    ids = f"select id from {project.schema}.{{}} order by id"
    assert project.sql(ids.format(name)) == project.sql(ids.format("events"))
    marks = [row[0] for row in project.ledger(name, "high")]
    assert marks == [str(number) for number in range(len(marks))]


@pytest.mark.parametrize("target", ["session"], scope="module")
def test_a_full_refresh_forgets_what_cdc_remembered(project: Project) -> None:
    """However many commits that are no batch's came since."""
    s = project.schema
    project.sql(f"create table {s}.feed (k string, seq int, op string) using delta")
    project.sql(f"insert into {s}.feed values ('a', 10, 'u'), ('a', 20, 'x'), ('b', 10, 'u')")

    def model(deletes: str, where: str = "true") -> str:
        return stream(
            f"select * from stream({s}.feed) where {where}",
            incremental_strategy="cdc",
            unique_key="k",
            cdc={"sequence_by": "seq", "apply_as_deletes": deletes},
        )

    project.model("latest", model("op = 'x'"))
    project.build("--select", "latest")
    assert project.sql(f"select k from {s}.latest") == [("b",)]
    for number in range(11):
        project.sql(f"alter table {s}.latest__cdc_state set tblproperties ('n' = '{number}')")
    project.model("latest", model("op = 'd'", "op = 'u'"))
    project.build("--select", "latest", "--full-refresh")
    assert project.sql(f"select k from {s}.latest order by k") == [("a",), ("b",)]


@pytest.mark.parametrize("target", ["session"], scope="module")
def test_models_that_name_one_folder_have_a_checkpoint_each(project: Project) -> None:
    for name in ("one", "other"):
        project.model(name, stream(f"select id from {SOURCE}", checkpoint_location="checkpoints"))
    project.build("--select", "one", "other")
    folders = sorted(path.name for path in (project.root / "checkpoints").iterdir())
    assert folders == [f"{project.schema}.one", f"{project.schema}.other"]
    counts = [
        project.sql(f"select count(*) from {project.schema}.{t}")
        for t in ("one", "other", "events")
    ]
    assert counts[0] == counts[1] == counts[2]


@pytest.mark.parametrize("target", ["session"], scope="module")
def test_once_is_a_deprecated_name(project: Project) -> None:
    project.model("once", stream(f"select * from {SOURCE}", trigger="once"))
    run = project.build("--select", "once")
    assert "trigger 'once' is Spark's deprecated name of 'available_now': write that" in sentence(
        run.log
    )


@pytest.mark.parametrize("target", ["session"], scope="module")
def test_empty_makes_the_table_alone(project: Project) -> None:
    project.model("dry", stream(f"select * from {SOURCE}"))
    project.build("--select", "dry", "--empty")
    assert project.sql(f"select count(*) from {project.schema}.dry") == [(0,)]
    assert project.ledger("dry", "batch_id") == []
    project.build("--select", "dry")
    assert project.sql(f"select count(*) from {project.schema}.dry") == project.sql(
        f"select count(*) from {project.schema}.events"
    )


@pytest.mark.parametrize("target", ["session"], scope="module")
def test_a_contract_holds_from_the_first_row_on(project: Project) -> None:
    project.model(
        "bound",
        stream(f"select id, k from {SOURCE}"),
        """
        config: {contract: {enforced: true}}
        columns:
          - {name: id, data_type: bigint, constraints: [{type: check, expression: "id < 100", name: small}]}
          - {name: k, data_type: string, constraints: [{type: not_null}]}
        """.replace("        ", ""),
    )
    select = ("--select", "bound")
    project.build(*select)
    before = project.sql(f"select count(*) from {project.schema}.bound")
    arrive(project, 500)
    assert "small" in fails(project, *select)
    assert project.sql(f"select count(*) from {project.schema}.bound") == before
    assert {row[0] for row in project.ledger("bound", "state")} == {"committed"}


@pytest.mark.parametrize("target", ["thrift"], scope="module")
def test_on_thrift_a_stream_is_refused(make_project: Callable[..., Project]) -> None:
    project = make_project("thrift")
    project.source("events")
    project.model("streamed", stream(f"select * from {SOURCE}"))
    assert (
        "materialized: got \"streaming_table\"; expected a target with method: session, and 'thrift' has method: thrift. "
        "Run it with a target whose Spark lives in the dbt process, such as -t session"
    ) in fails(project)
    assert not project.sql(f"show tables in {project.schema}")
