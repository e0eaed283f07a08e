"""floodmark's own words on both targets: plan, status, history, backfill, reset, reconcile, maintain."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from click.testing import CliRunner, Result

from dbt_floodmark.cli import main
from tests.support.commands import Story
from tests.support.harness import FULL, Project, incremental, sentence, table

pytestmark = pytest.mark.long("thrift")

BY_TS = {"column": "ts"}


def day(number: int) -> str:
    return f"timestamp'2024-01-{number:02} 00:00:00Z'"


def bare(key: str) -> str:
    """A model whose table does not have its watermark column."""
    merge = {"incremental_strategy": "merge", "unique_key": "id"}
    return incremental(table("events"), f"{key} as id, v", watermark=BY_TS, **merge)


@pytest.fixture(scope="module")
def story(make_project: Callable[..., Project]) -> Story:
    """Ten days loaded; late rows, a repeated row and new ones since."""
    project = make_project("story")
    s = project.schema
    project.sql(
        f"create table {s}.events (id bigint, v string, ts timestamp, seq bigint) using delta "
        "tblproperties ('delta.enableChangeDataFeed' = 'true')"
    )
    project.source("events")
    events = table("events")
    project.model(
        "merged",
        incremental(events, incremental_strategy="merge", unique_key="id", watermark=BY_TS)
        + "-- with a comment at its end",
    )
    project.model(
        "appended", incremental(events, "id, v, ts", watermark=BY_TS | {"step": "6 days"})
    )
    project.model(
        "overwritten",
        incremental(
            events,
            "id, v, ts, cast(ts as date) as day",
            incremental_strategy="insert_overwrite",
            partition_by="day",
            watermark=BY_TS,
        ),
    )
    project.model("numbered", incremental(events, "id, seq", watermark={"column": "seq"}))
    project.model("bare", bare("id"))
    project.model(
        "versioned",
        "{{ config(materialized='incremental', incremental_strategy='merge', unique_key='id', "
        "watermark={'kind': 'version'}) }}\n"
        "select * from {{ floodmark.changes(source('raw', 'events')) }}",
    )
    landing = project.root / "landing"
    landing.mkdir()
    (landing / "a.json").write_text('{"id": 1}\n{"id": 2}\n')
    project.model(
        "filed",
        "{{ config(materialized='incremental', files={'path': '" + str(landing) + "', "
        "'schema': 'id bigint'}) }}\nselect id from {{ floodmark.new_files() }}",
    )
    project.model("plain", f"{{{{ config(materialized='table') }}}} select id from {events}")
    story = Story(project)
    rows = ", ".join(f"({i}, 'v{i}', {day(i)}, {i})" for i in range(1, 11))
    project.sql(f"insert into {s}.events values {rows}")
    story.said["plan first"] = story("plan", "--json")
    project.build()
    project.sql(
        f"insert into {s}.events values (20, 'late', {day(4)}, 4), (11, 'new', {day(11)}, 11)"
    )
    (landing / "b.json").write_text('{"id": 3}\n')
    return story


def by_name(result: Result) -> dict[str, dict]:
    return {one["name"]: one for one in json.loads(result.stdout)["models"]}


def test_plan_before_the_first_run(story: Story) -> None:
    plans = by_name(story.said["plan first"])
    assert set(plans) == {
        "merged",
        "appended",
        "overwritten",
        "numbered",
        "versioned",
        "filed",
        "bare",
    }
    assert {one["kind"] for one in plans.values()} == {"first_load"}
    assert plans["merged"]["rows"] == plans["appended"]["rows"] == plans["versioned"]["rows"] == 10
    assert plans["appended"]["high"] == "2024-01-10 00:00:00.000000"
    assert (plans["filed"]["files"], plans["filed"]["bytes"]) == (1, 20)


def test_plan_tells_what_the_next_run_would_load_and_writes_nothing(story: Story) -> None:
    project = story.project
    before = project.sql(f"select count(*) from {project.schema}_floodmark.batch_log")
    plans = by_name(story("plan", "--json"))
    assert (plans["merged"]["kind"], plans["merged"]["rows"]) == ("incremental", 1)
    assert plans["merged"]["low"] == "2024-01-10 00:00:00.000000"
    assert plans["merged"]["high"] == "2024-01-11 00:00:00.000000"
    assert plans["versioned"]["rows"] == 2
    assert (plans["versioned"]["low"], plans["versioned"]["high"]) == ("1", "2")
    assert plans["filed"]["files"] == 1
    shown = story("plan", "--select", "merged", "--no-count")
    assert shown.exit_code == 0
    assert "merged" in shown.output and "appended" not in shown.output
    assert project.sql(f"select count(*) from {project.schema}_floodmark.batch_log") == before


def test_status_tells_mark_lag_and_last_batch(story: Story) -> None:
    told = {one["name"]: one for one in story.json("status")["models"]}
    merged = told["merged"]
    assert merged["mark"] == "2024-01-10 00:00:00.000000"
    assert merged["source_value"] == "2024-01-11 00:00:00.000000"
    assert (merged["lag"], merged["lag_unit"]) == (86_400, "seconds")
    assert merged["last_batch"]["rows_read"] == 10
    assert (told["numbered"]["lag"], told["numbered"]["lag_unit"]) == (1, "numbers")
    assert (told["versioned"]["lag"], told["versioned"]["lag_unit"]) == (1, "versions")
    assert told["filed"]["mark"] is None
    shown = story("status", "--select", "merged")
    assert "1 d 00:00:00" in shown.output
    assert "numbered" not in shown.output


def test_history_lists_batches_newest_first(story: Story) -> None:
    batches = story.json("history", "appended")["batches"]
    assert [one["batch_id"] for one in batches] == [2, 1]
    assert batches[-1]["kind"] == "first_load"
    assert "first_load" in story("history", "appended").output


def test_reconcile_finds_late_rows_and_names_what_helps(story: Story) -> None:
    result = story("reconcile", "merged")
    assert result.exit_code == 1
    found = story.json("reconcile", "merged")
    assert (found["expected"], found["missing"], found["repeated"]) == (11, 1, 0)
    assert found["sample"] == [{"problem": "missing", "key": '{"id":20}', "expected": 1, "held": 0}]
    assert found["lookback"] == "7 days"
    assert "a lookback of '7 days' would have caught them" in sentence(result.output)
    assert found["backfill"] == (
        "floodmark backfill merged --from '2024-01-04 00:00:00.000000' --to '2024-01-04 00:00:00.000001'"
    )
    assert story.json("reconcile", "appended", "--key", "id")["missing"] == 1


def test_reconcile_of_a_table_without_the_watermark_column(story: Story) -> None:
    """Keys are compared as the table has them; where the rows lie nothing tells. An emptied table lacks all."""
    project = story.project
    project.model("bare", bare("cast(id as string)"))
    found = story.json("reconcile", "bare")
    assert (found["expected"], found["missing"]) == (11, 1)
    assert found["sample"] == [{"problem": "missing", "key": '{"id":20}', "expected": 1, "held": 0}]
    assert found["backfill"] == "floodmark run --select package:shop,file:bare.sql --full-refresh"
    project.sql(f"delete from {project.schema}.bare")
    emptied = story("reconcile", "bare", "--json")
    assert (emptied.exit_code, json.loads(emptied.stdout)["missing"]) == (1, 11)


def test_backfill_repairs_what_reconcile_found(story: Story) -> None:
    project = story.project
    before = project.mark("merged")
    words = ("backfill", "merged", "--from", "2024-01-04", "--to", "2024-01-05")
    result = story(*words)
    assert result.exit_code == 0, result.output
    assert story("reconcile", "merged").exit_code == 0
    assert project.mark("merged") == before
    batches = project.ledger("merged", "kind, low, high, rows_inserted, recorded_by is not null")
    assert batches[-1] == (
        "backfill",
        "2024-01-03 23:59:59.999999",
        "2024-01-04 23:59:59.999999",
        1,
        True,
    )
    # Nobody asked for the others.
    assert {recorded for kind, *_, recorded in batches if kind != "backfill"} == {False}
    story(*words)
    assert project.sql(f"select count(*) from {project.schema}.merged where id = 20") == [(1,)]


@pytest.mark.edge
@pytest.mark.parametrize("model", ["appended", "overwritten"])
def test_backfill_by_delete_and_insert_may_be_repeated(story: Story, model: str) -> None:
    project = story.project
    s = project.schema
    project.sql(
        f"insert into {s}.{model} (id, v, ts{', day' if model == 'overwritten' else ''}) "
        f"select id, 'twice', ts{', cast(ts as date)' if model == 'overwritten' else ''} from {s}.{model} where id = 5"
    )
    assert story.json("reconcile", model, "--key", "id")["repeated"] == 1
    for _ in range(2 if FULL or model == "appended" else 1):  # both delete and insert
        result = story("backfill", model, "--from", "2024-01-03", "--to", "2024-01-07")
        assert result.exit_code == 0, result.output
    assert project.sql(f"select id, v from {s}.{model} order by id, v") == project.sql(
        f"select id, v from {s}.events where id <> 11 order by id, v"
    )


@pytest.mark.edge
def test_a_backfill_that_died_goes_on_behind_its_last_batch(story: Story) -> None:
    """The second batch meets a constraint; mended, the same command does only what is left."""
    project = story.project
    s = project.schema
    project.sql(f"alter table {s}.merged add constraint no_five check (id <> 5 or v <> 'changed')")
    project.sql(
        f"update {s}.events set v = 'changed', ts = ts + interval 1 second where id in (2, 5)"
    )
    words = ("backfill", "merged", "--from", "2024-01-02", "--to", "2024-01-06", "--step", "2 days")
    assert story(*words).exit_code == 1
    done = project.ledger("merged", "high, state")[-2:]
    assert [state for _, state in done] == ["committed", "failed"]
    project.sql(f"alter table {s}.merged drop constraint no_five")
    assert story(*words).exit_code == 0
    lows = [low for (low,) in project.ledger("merged", "low") if low]
    assert lows.count("2024-01-01 23:59:59.999999") == 1
    changed = project.sql(f"select id from {s}.merged where v = 'changed' order by id")
    assert changed == [(2,), (5,)]


def test_after_it_all_a_run_loads_what_is_new_once(story: Story) -> None:
    project = story.project
    project.build()
    for model in ("merged", "appended", "overwritten", "numbered", "versioned", "filed"):
        rows = project.sql(
            f"select id, count(*) from {project.schema}.{model} group by id having count(*) > 1"
        )
        assert rows == [], model
    assert project.sql(f"select count(*) from {project.schema}.filed") == [(3,)]
    assert {one["kind"] for one in by_name(story("plan", "--json")).values()} == {"nothing new"}


def test_reset_moves_the_mark(story: Story) -> None:
    result = story("reset", "merged", "--to", "2024-01-09", "--reason", "a test")
    assert result.exit_code == 0, result.output
    assert story.project.mark("merged") == "2024-01-09 00:00:00.000000"
    assert story.plan("merged", "--select", "merged")["rows"] == 2


def test_maintain_says_and_does(story: Story) -> None:
    project = story.project
    words = ("maintain", "--select", "appended", "--min-small-files", "2", "--vacuum-days", "0")
    version = project.version("appended")
    said = story(*words, "--dry-run").output
    assert f"would run: optimize {project.schema}.`appended`" in said
    assert "2 statements would run." in said
    assert project.version("appended") == version
    assert "2 statements ran." in story(*words).output
    operations = project.sql(f"describe history {project.schema}.appended limit 3")
    assert {row[4] for row in operations} >= {"OPTIMIZE", "VACUUM END"}
    assert project.build("--select", "appended").message["appended"] == "APPEND nothing new"


def test_a_model_may_be_called_as_a_word_of_deltas(story: Story) -> None:
    project = story.project
    by_parts = BY_TS | {"step": "6 days"}
    project.model("version", incremental(table("events"), watermark=by_parts))
    project.build("--select", "version")
    said = story("maintain", "--select", "version", "--min-small-files", "2", "--vacuum-days", "0")
    operations = project.sql(f"describe history {project.schema}.`version`")
    (project.root / "models" / "version.sql").unlink()
    assert said.exit_code == 0, said.output
    assert {row[4] for row in operations} >= {"OPTIMIZE", "VACUUM END"}


def test_doctor_compares_ledger_and_tables(story: Story) -> None:
    project = story.project
    project.sql(f"drop table {project.schema}.numbered")
    result = story("doctor")
    assert result.exit_code == 1
    assert (
        f"{project.schema}.numbered the ledger has batch 2, but there is no table run the model: it "
        "is a first load"
    ) in sentence(result.output)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            ("history", "nope"),
            "floodmark loads no model 'nope' in this project: it loads appended, bare, filed, ",
        ),
        (("plan", "--select", "plain"), "--select plain has no model that floodmark loads."),
        (
            ("reset", "filed", "--reason", "x"),
            "filed has no watermark, so there is no mark to move: use --full-refresh.",
        ),
        (
            ("backfill", "versioned", "--from", "1", "--to", "2"),
            "versioned has no timestamp or sequence",
        ),
        (("reconcile", "versioned"), "versioned has no timestamp or sequence watermark"),
        (
            ("reconcile", "appended"),
            "appended has no unique_key: name the columns that identify a row",
        ),
        (("backfill", "merged", "--from", "2024-01-01"), "Missing option '--to'"),
    ],
)
def test_wrong_input_gets_one_sentence_and_exit_code_2(
    story: Story, words: tuple[str, ...], said: str
) -> None:
    result = story(*words)
    assert result.exit_code == 2
    assert said in result.output


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            ("--from", "soon", "--to", "2024-01-02", "--step", "fast"),
            (
                'floodmark_backfill.from: got "soon"; expected a UTC time',
                "floodmark_backfill.step",
            ),
        ),
        (
            ("--from", "2024-01-02", "--to", "2024-01-02"),
            ("is empty: `from` is inclusive, `to` is exclusive",),
        ),
        (("--from", "2030-01-01", "--to", "2030-01-02"), ("begins above the mark",)),
    ],
)
def test_refused_backfills(
    story: Story,
    words: tuple[str, ...],
    said: tuple[str, ...],
    capfd: pytest.CaptureFixture[str],
) -> None:
    result = story("backfill", "merged", *words)
    assert result.exit_code == 1
    text = sentence(result.output + capfd.readouterr().out)
    assert all(one in text for one in said), text


@pytest.mark.parametrize(
    "command", ["status", "history", "plan", "backfill", "reset", "reconcile", "maintain", "doctor"]
)
def test_every_command_has_help_with_an_example(command: str) -> None:
    result = CliRunner().invoke(main, [command, "--help"])
    assert result.exit_code == 0
    assert f"Example:\n      floodmark {command}" in result.output


VERSIONED_UPSTREAM = (
    "{{ config(materialized='incremental', incremental_strategy='merge', unique_key='id', "
    "watermark={'kind': 'version'}) }}\n"
    "select c.* from {{ floodmark.changes(ref('orders', v='1')) }} as c "
    "left join {{ ref('orders', v=2) }} as o on o.id = c.id"
)
ORDERS = """\
models:
  - name: orders
    latest_version: 2
    versions: [{v: 1}, {v: 2}]
"""


@pytest.fixture(scope="module")
def named(make_project: Callable[..., Project]) -> Story:
    """Two versions of a model and two packages with a model of one name; models that read all."""
    project = make_project("named")
    s = project.schema
    project.sql(f"create table {s}.events using delta as select 1L as id, {day(1)} as ts, 'x' as v")
    project.source("events")
    events = table("events")
    for version in (1, 2):
        project.model(
            f"orders_v{version}", incremental(events, f"*, {version} as n", watermark=BY_TS)
        )
    (project.root / "models" / "orders.yml").write_text(ORDERS)
    project.model("pinned", incremental("{{ ref('orders', v=1) }}", watermark=BY_TS))
    project.model(
        "from_one_of_two",
        incremental(
            "{{ ref('orders', v=1) }} as a join {{ ref('orders', v=2) }} as b on a.id = b.id",
            "a.*",
            alias="a",
            watermark=BY_TS | {"from": "orders.v1"},
        ),
    )
    project.model("changed", VERSIONED_UPSTREAM)
    whole = "{{{{ config(materialized='incremental', unique_key='id', {}) }}}} select * from {}"
    project.model("copied", whole.format("incremental_strategy='snapshot_diff'", events))
    project.model(
        "applied", whole.format("incremental_strategy='cdc', cdc={'sequence_by': 'ts'}", events)
    )
    project.model(
        "emptied",
        whole.format(
            "incremental_strategy='snapshot_diff', snapshot_diff={'allow_empty': true}", events
        )
        + " where id > {{ var('above', 0) }}",
    )
    branch = project.root / "dbt_packages" / "branch"
    (branch / "models").mkdir(parents=True)
    (branch / "dbt_project.yml").write_text("{name: branch, version: 1.0.0, config-version: 2}")
    (branch / "models" / "applied.sql").write_text(
        "{{ config(materialized='incremental', alias='branch_applied', watermark={'column': 'ts'}) }}\n"
        "select * from {{ source('raw', 'events') }} where {{ floodmark.watermark_filter() }}"
    )
    (project.root / "packages.yml").write_text(
        "packages: [{local: dbt_packages/floodmark}, {local: dbt_packages/branch}]"
    )
    story = Story(project)
    story.said["plan first"] = story("plan", "--json")
    project.build()
    return story


NAMES = {"orders.v1", "orders.v2", "branch.applied", "shop.applied"} | {
    "pinned",
    "from_one_of_two",
    "changed",
    "copied",
    "emptied",
}


@pytest.mark.edge
def test_a_pinned_version_is_the_upstream(named: Story) -> None:
    project = named.project
    for model in ("pinned", "from_one_of_two", "changed"):
        assert project.sql(f"select id, n from {project.schema}.{model}") == [(1, 1)], model
    assert project.ledger("changed", "high")[-1] == (str(project.version("orders_v1")),)


@pytest.mark.edge
def test_versions_and_packages_have_a_line_each(named: Story) -> None:
    told = {one["name"]: one["model"] for one in named.json("status")["models"]}
    assert set(told) == NAMES
    assert told["orders.v1"] == f"{named.project.schema}.orders_v1"
    assert told["branch.applied"] == f"{named.project.schema}.branch_applied"
    assert set(by_name(named.said["plan first"])) == NAMES
    assert f"({len(NAMES)} models)" in named("doctor").output
    assert "no statements" not in named("maintain", "--dry-run").output


@pytest.mark.edge
def test_commands_take_the_name_that_says_which(named: Story) -> None:
    others = (("reset", "--to", "2024-01-01"), ("reconcile", "--key", "id")) if FULL else ()
    for word in (("history",), *others):  # all ask Project.one
        result = named(*word, "orders")
        assert result.exit_code == 2
        assert (
            "floodmark: floodmark loads several models 'orders': name one of orders.v1, orders.v2.\n"
        ) in result.output
    assert "name one of branch.applied, shop.applied." in named("history", "applied").output
    result = named("backfill", "copied", "--from", "2024-01-01", "--to", "2024-01-02")
    assert result.exit_code == 2 and "copied takes whole snapshots" in result.output
    branch = named.json("history", "branch.applied")
    assert branch["model"] == "branch.applied"
    assert branch["batches"][0]["high"].startswith("2024-01-01")
    assert named.json("reconcile", "orders.v1", "--key", "id")["missing"] == 0
    project = named.project
    assert named("reset", "orders.v1", "--to", "2023-12-31").exit_code == 0
    assert project.mark("orders_v1") == "2023-12-31 00:00:00.000000"
    assert project.mark("orders_v2") == "2024-01-01 00:00:00.000000"
    words = ("backfill", "orders.v2", "--from", "2024-01-01", "--to", "2024-01-02")
    assert named(*words).exit_code == 0
    assert project.ledger("orders_v2", "kind") == [("first_load",), ("backfill",)]
    assert project.ledger("orders_v1", "kind") == [("first_load",), ("reset",)]
    assert named("diff", "orders.v1", "orders", "--key", "id", "--columns", "id").exit_code == 0
    run = project.dbt("run-operation", "floodmark.history", "--args", "{model: orders}")
    assert "floodmark loads several models 'orders': name one of orders.v1, orders.v2" in run.log
    assert project.dbt("run-operation", "floodmark.history", "--args", "{model: orders.v1}").success


@pytest.mark.edge
def test_models_that_read_all_are_seen_and_planned(named: Story) -> None:
    """snapshot_diff with its defaults is floodmark's; kinds are those that the next run records."""
    first = by_name(named.said["plan first"])
    assert {first[name]["kind"] for name in ("copied", "emptied", "shop.applied")} == {"first_load"}
    assert [one["kind"] for one in named.json("history", "copied")["batches"]] == ["first_load"]
    named.project.build("--select", "emptied", "--vars", "{above: 1}")
    plans = by_name(named("plan", "--json"))
    for name in ("copied", "emptied", "shop.applied"):
        assert (plans[name]["kind"], plans[name]["rows"]) == ("incremental", 1), name
    named.project.build("--select", "emptied")
    kinds = [kind for (kind,) in named.project.ledger("emptied", "kind")]
    assert kinds == ["first_load", "incremental", "incremental"]


@pytest.mark.edge
def test_a_source_that_cannot_be_read_hides_no_other(named: Story) -> None:
    """A view whose table is gone; a time that no calendar has; a watermark that is no mapping."""
    project = named.project
    s = project.schema
    project.sql(f"create table {s}.fleeting using delta as select 1L as id, {day(1)} as ts")
    project.sql(f"create view {s}.seen as select * from {s}.fleeting")
    project.sql(f"create table {s}.distant using delta as select 1L as id, {day(1)} as ts")
    project.source("events", "seen", "distant")
    project.model("over_a_view", incremental(table("seen"), watermark=BY_TS))
    project.model("far_ahead", incremental(table("distant"), watermark=BY_TS))
    project.model(
        "unmapped", "{{ config(materialized='incremental', watermark='ts') }} select 1 as id"
    )
    project.build("--select", "over_a_view", "far_ahead")
    project.sql(f"drop table {s}.fleeting")
    project.sql(f"insert into {s}.distant values (2, timestamp_seconds(300000000000))")
    result = named("status", "--json")
    assert result.exit_code == 1 and result.stdout, result.output
    told = by_name(result)
    assert told["over_a_view"]["mark"] == "2024-01-01 00:00:00.000000"
    assert "TABLE_OR_VIEW_NOT_FOUND" in told["over_a_view"]["source_error"]
    assert told["over_a_view"]["last_batch"]["rows_read"] == 1
    assert told["far_ahead"]["source_value"] == "+11476-08-15 05:20:00.000000"
    # It came behind the last batch, and waits.
    assert told["far_ahead"]["last_batch"]["rows_future"] == 0
    assert (told["far_ahead"]["rows_waiting"], told["pinned"]["rows_waiting"]) == (1, 0)
    assert told["over_a_view"]["rows_waiting"] is None
    assert told["pinned"]["lag"] == 0
    for selected in (("over_a_view", "pinned"), ("over_a_view",)):
        shown = named("status", "--select", *selected)
        assert shown.exit_code == 1 and "TABLE_OR_VIEW_NOT_FOUND" in shown.output
        assert "2024-01-01" in shown.output
    for words in (("backfill", "--from", "2024-01-01", "--to", "2024-01-02"), ("reconcile",)):
        refused = named(words[0], "unmapped", *words[1:])
        assert refused.exit_code == 2 and "Traceback" not in refused.output
    for name in ("over_a_view", "far_ahead", "unmapped"):
        (project.root / "models" / f"{name}.sql").unlink()


@pytest.mark.edge
def test_one_bad_model_hides_no_other(named: Story) -> None:
    """What its own run refuses keeps its line in status, without a lag, and in plan, with the reason."""
    project = named.project
    by_ts = {"watermark": BY_TS}
    project.model(
        "below", f"{{{{ config(materialized='ephemeral') }}}} select * from {table('events')}"
    )
    project.model(
        "view_of_all", f"{{{{ config(materialized='view') }}}} select * from {table('events')}"
    )
    joined = "{{ ref('pinned') }} as a join {{ ref('orders') }} as b on a.id = b.id"
    bad = {
        "two_upstreams": incremental(joined, "a.*", alias="a", **by_ts),
        "over_ephemeral": incremental("{{ ref('below') }}", **by_ts),
        "version_of_a_view": VERSIONED_UPSTREAM.replace("'orders', v='1'", "'view_of_all'"),
    }
    for name, sql in bad.items():
        project.model(name, sql)
    run = project.dbt("run", "--select", "view_of_all", *bad)
    assert {name for name, status in run.status.items() if status == "error"} == set(bad)
    assert "of: pinned, orders.v2. Name it" in sentence(run.message["two_upstreams"])
    assert (
        "An ephemeral model has no relation in which to find the high mark: materialize it as a table or a view"
    ) in sentence(run.message["over_ephemeral"])
    told = {one["name"]: one for one in named.json("status")["models"]}
    assert set(told) == NAMES | set(bad)
    kinds = {name: told[name]["kind"] for name in bad}
    assert kinds == {"two_upstreams": None, "over_ephemeral": None, "version_of_a_view": "version"}
    assert {told[name]["source_value"] for name in bad} == {None}
    assert told["pinned"]["mark"] == "2024-01-01 00:00:00.000000"
    project.model(
        "read_below",
        "{{ config(materialized='incremental', incremental_strategy='snapshot_diff', unique_key='id', "
        "snapshot_diff={}) }} select * from {{ ref('below') }}",
    )
    result = named("plan", "--select", "pinned", "read_below", *bad, "--json")
    plans = by_name(result)
    assert result.exit_code == 1
    assert {name: one["kind"] for name, one in plans.items() if one["error"] is None} == {
        "pinned": "nothing new",
        "read_below": "first_load",
    }
    [(waiting,)] = project.sql(f"select count(*) from {project.schema}.events")
    assert plans["read_below"]["rows"] == waiting
    assert {plans[name]["kind"] for name in bad} == {"error"}
    assert "of: pinned, orders.v2. Name it" in plans["two_upstreams"]["error"]
    assert "An ephemeral model has no relation" in plans["over_ephemeral"]["error"]
    (project.root / "models" / "read_below.sql").unlink()
    shown = named("plan", "--select", "pinned", "two_upstreams", "--no-count")
    assert shown.exit_code == 1
    assert "of: pinned, orders.v2. Name it" in " ".join(shown.stdout.replace("│", " ").split())
