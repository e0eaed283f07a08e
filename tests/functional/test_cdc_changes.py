"""cdc where a SELECT, its settings or its table change under it: keys, conditions, contracts, what it remembers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import pytest

from tests.functional.faults import Faults, injected
from tests.functional.test_cdc import cdc, held
from tests.harness import Project, Run, sentence, table

pytestmark = pytest.mark.long("session")

VALUES = "k, v, __start_at, __end_at"
LATER = "var('later', false)"
COLUMNS = "(arrived int, k string, seq bigint, op string, v string, f double) using delta"
CONTRACT = """\
config: {contract: {enforced: true}}
columns:
  - {name: k, data_type: string}
  - {name: v, data_type: string, constraints: [{type: not_null}]}
  - {name: f, data_type: double}
  - {name: _floodmark_columns, data_type: "struct<sequence:bigint,deleted_at:bigint,set:map<string,bigint>>"}
"""


def grown(name: str) -> str:
    """A struct that has a second field later."""
    more = f"{{% if {LATER} %}}, 'gone', op = 'd'{{% endif %}}"
    return f"named_struct('a', k{more}) as {name}"


MODELS = {
    "struct_key": cdc("feed", f"arrived, seq, op, {grown('k')}", step=None),
    "struct_payload": cdc(
        "feed",
        f"arrived, k, seq, op, {grown('p')}",
        step=None,
        apply_as_deletes=f"@p.gone if {LATER}@",
    ),
    "ignoring": cdc(
        "feed",
        "arrived, k, seq, op, v, f",
        step=None,
        ignore_null_updates=["f"],
        config={"on_schema_change": "append_new_columns"},
    ),
    "lacking": cdc(
        "feed", f"arrived, k, seq, op, f{{% if not {LATER} %}}, v{{% endif %}}", step=None
    ),
    **{
        f"dotted{scd}": cdc(
            "feed",
            "arrived, k, seq, op, v as `p.a`, named_struct('a', f) as p",
            step=None,
            stored_as_scd_type=scd,
            ignore_null_updates=True,
        )
        for scd in (1, 2)
    },
    "zeros": cdc("feed", "arrived, k, seq, op, f", step=None, stored_as_scd_type=2),
    "two_times": cdc(
        "feed",
        "arrived, k, op, v, named_struct('ts', seq) as one, named_struct('ts', seq) as two",
        step=None,
        sequence_by=["one.ts", "two.ts"],
        except_column_list=["arrived", "op"],
    ),
    "long_lived": cdc("feed", "arrived, k, seq, op, v", step=None, tombstone_ttl="9000000 days"),
    "rekeyed": cdc("feed", "arrived, k, seq, op, v", step=None),
    "typed_anew": cdc("feed", "arrived, k, seq, op, v", step=None),
}
#: A condition that depends on the run stands as Jinja in the config.
MODELS["struct_payload"] = (
    MODELS["struct_payload"]
    .replace(f"'@p.gone if {LATER}@'", f"('p.gone' if {LATER} else 'false')")
    .replace(f'"@p.gone if {LATER}@"', f"('p.gone' if {LATER} else 'false')")
)
REFUSED = {"struct_key", "rekeyed", "typed_anew"}


@dataclass
class Story:
    project: Project
    runs: dict[str, Run] = field(default_factory=dict)

    def run(self, name: str, *args: str) -> None:
        self.runs[name] = self.project.dbt("run", *args)


@pytest.fixture(scope="module")
def story(make_project: Callable[..., Project]) -> Story:
    """A first load; a batch that dies staged for two models, whose settings change then; a wider SELECT."""
    project = make_project("story")
    s = project.schema
    project.sql(f"create table {s}.feed {COLUMNS}")
    project.sql(
        f"insert into {s}.feed values (1, 'a', 10, 'u', 'v', 0.0), (1, 'b', 10, 'u', 'v', 1.0)"
    )
    project.source("feed")
    for name, sql in MODELS.items():
        project.model(name, sql, yml=CONTRACT if name == "ignoring" else None)
    story = Story(project)
    story.run("first")
    project.sql(
        f"insert into {s}.feed values (2, 'a', 20, 'u', 'v', -0.0), (2, 'b', 20, 'd', null, null), "
        "(2, 'b', 30, 'u', 'w', null)"
    )
    with injected(Faults(cuts=dict.fromkeys(("rekeyed", "typed_anew"), "before: merge into"))):
        story.run("cut", "--select", "rekeyed", "typed_anew")
    project.model("rekeyed", MODELS["rekeyed"].replace("unique_key='k'", "unique_key=['k', 'v']"))
    project.model(
        "typed_anew", cdc("feed", "arrived, k, seq, op, v", step=None, stored_as_scd_type=2)
    )
    story.run("second", "--vars", "{later: true}")
    for name in ("rekeyed", "typed_anew"):
        project.model(name, MODELS[name])
    project.sql(f"insert into {s}.feed values (3, 'c', 10, 'u', null, 1.0)")
    story.run("third", "--vars", "{later: true}")
    return story


def test_a_key_that_grows_a_field_is_refused(story: Story) -> None:
    assert (
        f'unique_key: got "k struct<a:string,gone:boolean>"; expected struct<a:string>, as in {story.project.schema}.struct_key'
    ) in sentence(story.runs["second"].message["struct_key"])


def test_conditions_see_the_select_as_it_comes(story: Story) -> None:
    """A field that the table does not get says what is a delete."""
    assert story.runs["second"].status["struct_payload"] == "success"
    assert held(story.project, "struct_payload", "k, p") == {
        "a": [({"a": "a"},)],
        "b": [({"a": "b"},)],
        "c": [({"a": "c"},)],
    }
    assert story.project.ledger("struct_payload", "rows_updated")[1] == (2,)
    remembered = held(story.project, "struct_payload__cdc_state", "k, _floodmark_sequence")
    assert remembered == {} or "a" not in remembered


def test_settings_that_change_under_a_staged_batch_are_refused(story: Story) -> None:
    """And its rows are read again with those that fit."""
    s = story.project.schema
    assert (
        f'unique_key: got "SCD 1 by k and v"; expected SCD 1 by k, as {s}.rekeyed was made'
    ) in sentence(story.runs["second"].message["rekeyed"])
    assert "which has no column __start_at" in sentence(story.runs["second"].message["typed_anew"])
    for name in ("rekeyed", "typed_anew"):
        assert held(story.project, name, "k, v") == {
            "a": [("v",)],
            "b": [("w",)],
            "c": [(None,)],
        }, name
        assert ("failed",) in story.project.ledger(name, "state")


def test_a_contract_counts_where_nulls_are_ignored(story: Story) -> None:
    """f keeps its value, which a not_null on it would allow; v is written as it comes, and may not be NULL."""
    assert story.runs["second"].status["ignoring"] == "success"
    message = sentence(story.runs["third"].message["ignoring"])
    assert "the batch breaks the contract's constraints: v_not_null (1 row). Nothing was" in message
    assert held(story.project, "ignoring", "k, v").keys() == {"a", "b"}


def test_what_the_events_lack_goes_with_a_delete(story: Story) -> None:
    """As it would if the delete came in a batch of its own."""
    assert held(story.project, "lacking", "k, v") == {
        "a": [("v",)],
        "b": [(None,)],
        "c": [(None,)],
    }


def test_zeros_of_either_sign_are_equal(story: Story) -> None:
    rows = held(story.project, "zeros", "k, __start_at, __end_at")
    assert rows == {"a": [(10, None)], "b": [(10, 20), (30, None)], "c": [(10, None)]}


def test_a_column_with_a_dot_is_no_field(story: Story) -> None:
    """A column `p.a` beside a column p that has a field a: each remembers its own sequence."""
    for name, current in (("dotted1", ""), ("dotted2", " where __end_at is null")):
        rows = story.project.sql(
            f"select k, `p.a`, p.a from {story.project.schema}.{name}{current} order by k"
        )
        assert [tuple(row) for row in rows] == [("a", "v", 0), ("b", "w", None), ("c", None, 1)]


def test_everything_else_succeeded(story: Story) -> None:
    failed = {
        name: {node for node, status in run.status.items() if status == "error"}
        for name, run in story.runs.items()
    }
    assert failed == {
        "first": set(),
        "cut": {"rekeyed", "typed_anew"},
        "second": REFUSED,
        "third": {"struct_key", "ignoring"},
    }


def test_a_history_that_was_restored_is_loaded_anew(make_project: Callable[..., Project]) -> None:
    """What is remembered beside it was not restored: no mark helps."""
    project = make_project("restored")
    s = project.schema
    project.sql(f"create table {s}.feed {COLUMNS}")
    project.source("feed")
    project.model("kept", cdc("feed", "arrived, k, seq, op, v", step=None, stored_as_scd_type=2))
    for rows in (
        "(1, 'k', 10, 'u', 'a', 0), (1, 'k', 20, 'd', null, 0)",
        "(2, 'k', 15, 'd', null, 0)",
        "(3, 'k', 17, 'u', 'x', 0)",
    ):
        project.sql(f"insert into {s}.feed values {rows}")
        project.build()
    expected = {"k": [("a", 10, 15), ("x", 17, 20)]}
    assert held(project, "kept", VALUES) == expected
    project.sql(f"restore table {s}.kept to version as of 1")
    run = project.dbt("run")
    message = sentence(run.message["kept"])
    assert (
        f"{s}.kept was restored to version 1 after batch 3, so rows below the mark are missing: "
        "run it once with --full-refresh to load everything again"
    ) in message
    assert "floodmark reset" not in message
    run = project.dbt("run-operation", "floodmark.reset", "--args", "{model: kept, to: '2'}")
    assert (
        f"{s}.kept was restored to version 1, and what cdc remembers beside it was not, so late events "
        "would be applied wrongly: run it once with --full-refresh to load everything again"
    ) in sentence(run.log)
    run = project.dbt(
        "show", "--inline", "{{ floodmark._disagreements_sql() }}", "--output", "json"
    )
    assert "it was restored to version 1 after batch 3" in run.log
    assert '"remedy": "`dbt build -s kept --full-refresh`"' in run.log
    project.build("--full-refresh")
    assert held(project, "kept", VALUES) == expected


def test_a_feed_that_is_read_whole_is_remembered_once(
    make_project: Callable[..., Project],
) -> None:
    """Without a watermark every run reads all deletes again; what is remembered does not grow."""
    project = make_project("whole")
    s = project.schema
    project.sql(f"create table {s}.feed {COLUMNS}")
    project.sql(
        f"insert into {s}.feed values (1, 'a', 10, 'u', 'v', 0), (1, 'b', 20, 'd', null, 0), (1, 'c', 20, 'd', null, 0)"
    )
    project.source("feed")
    project.model(
        "whole",
        "{{ config(materialized='incremental', incremental_strategy='cdc', unique_key='k', cdc={'sequence_by': 'seq', "
        "'apply_as_deletes': \"op = 'd'\"}) }}\n" + f"select * from {table('feed')}",
    )
    project.build()
    versions = (project.version("whole"), project.version("whole__cdc_state"))
    project.build()
    assert (project.version("whole"), project.version("whole__cdc_state")) == versions
    project.sql(
        f"insert into {s}.feed values (1, 'b', 25, 'd', null, 0), (1, 'd', 5, 'd', null, 0)"
    )
    project.build()
    remembered = held(project, "whole__cdc_state", "k, _floodmark_sequence")
    assert {key: max(rows) for key, rows in remembered.items()} == {
        "b": (25,),
        "c": (20,),
        "d": (5,),
    }
    assert project.version("whole__cdc_state") == versions[1] + 1


def test_settings_in_yaml_say_what_a_deleted_row_means(
    make_project: Callable[..., Project],
) -> None:
    """The feed of changes of a table: its deletes are events though the SELECT does not name them. What waits is loaded before it is restated."""
    project = make_project("in_yaml")
    s = project.schema
    project.sql(
        f"create table {s}.state (id int, v string) using delta tblproperties ('delta.enableChangeDataFeed' = 'true')"
    )
    project.sql(f"insert into {s}.state values (1, 'a'), (2, 'b')")
    project.source("state")
    project.model(
        "history",
        "select * from {{ floodmark.changes(source('raw', 'state')) }}",
        yml="""\
config:
  materialized: incremental
  incremental_strategy: cdc
  unique_key: id
  watermark: {kind: version}
  cdc:
    sequence_by: _commit_version
    apply_as_deletes: "_change_type = 'delete'"
    stored_as_scd_type: 2
    except_column_list: [_change_type, _commit_version]
""",
    )
    project.build()
    project.sql(f"delete from {s}.state where id = 2")
    run = project.dbt("run", "--vars", "{floodmark_restate: {from: 1}}")
    assert (
        f"1 version of {s}.state is not loaded yet, and may hold rows as they were before they were corrected, which the "
        "next run would bring back: run the model first, then restate"
    ) in sentence(run.message["history"])
    project.build()
    rows = project.sql(f"select id, __end_at from {s}.history order by id")
    assert rows == [(1, None), (2, 2)]


def test_rows_that_one_commit_replaces_are_not_deleted(
    make_project: Callable[..., Project],
) -> None:
    """A range that is written again comes as a delete and an insert of each row; whoever names _change_type, in any case, has deletes."""
    project = make_project("replaced")
    s = project.schema
    project.sql(
        f"create table {s}.state (id int, v string) using delta tblproperties ('delta.enableChangeDataFeed' = 'true')"
    )
    project.sql(f"insert into {s}.state values (1, 'a'), (2, 'b'), (3, 'c')")
    project.source("state")
    feed = "{{ floodmark.changes(source('raw', 'state')) }}"

    def model(name: str, select: str, scd: int, deletes: str | None) -> None:
        settings = {"sequence_by": "_commit_version", "stored_as_scd_type": scd}
        settings |= {"apply_as_deletes": deletes} if deletes else {}
        kept = {"except_column_list": ["gone"]} if deletes else {}
        config = (
            "materialized='incremental', incremental_strategy='cdc', unique_key='id', "
            f"watermark={{'kind': 'version'}}, cdc={settings | kept!r}"
        )
        project.model(name, f"{{{{ config({config}) }}}}\n{select} from {feed}")

    gone = "select id, v, _COMMIT_VERSION, _CHANGE_TYPE = 'delete' as gone"
    model("history", gone, 2, "gone")
    model("latest", gone, 1, "gone")
    # a list of what is left out, a text and a comment say nothing of deletes: the feed is one of events
    model(
        "events",
        "select * except (_change_type), '_change_type' as said /* _change_type */",
        1,
        None,
    )
    project.build()
    project.sql(f"insert overwrite {s}.state values (1, 'a'), (2, 'x')")
    project.build()
    assert held(project, "history", VALUES.replace("k,", "cast(id as string) as k,")) == {
        "1": [("a", 1, None)],
        "2": [("b", 1, 2), ("x", 2, None)],
        "3": [("c", 1, 2)],
    }
    assert held(project, "latest", "cast(id as string) as k, v") == {"1": [("a",)], "2": [("x",)]}
    assert held(project, "events", "cast(id as string) as k, v") == {
        "1": [("a",)],
        "2": [("x",)],
        "3": [("c",)],
    }
    run = project.dbt("run", "--vars", "{floodmark_restate: {from: 2}}")
    for name in ("history", "latest"):
        assert (
            f"{s}.state is no feed of events, since a row that is deleted there is a delete here: as it stands now it does "
            "not tell what its rows were at 2. Run it once with --full-refresh, or set watermark.start to the version from "
            "which on its change feed tells all"
        ) in sentence(run.message[name])
    assert run.status["events"] == "success"


def test_columns_that_the_table_holds_otherwise(make_project: Callable[..., Project]) -> None:
    """An empty text that partitions the table is NULL there; a column that is left out later is neither written nor compared any more."""
    project = make_project("otherwise")
    s = project.schema
    project.sql(f"create table {s}.feed {COLUMNS}")
    project.sql(
        f"insert into {s}.feed values (1, 'a', 10, 'u', '', 1.0), (1, 'b', 10, 'u', 'x', 1.0)"
    )
    project.source("feed")
    project.model(
        "parted",
        cdc("feed", step=None, stored_as_scd_type=2, config={"partition_by": "v"}),
    )
    left_out = f"(['arrived', 'op', 'seq', 'f'] if {LATER} else ['arrived', 'op', 'seq'])"
    for name, settings in {
        "history": {"stored_as_scd_type": 2},
        "filled": {"ignore_null_updates": True},
    }.items():
        sql = cdc("feed", step=None, except_column_list="@", **settings)
        project.model(name, sql.replace("'@'", left_out))
    project.build()
    project.sql(
        f"insert into {s}.feed values (2, 'a', 20, 'u', '', 2.0), (2, 'b', 20, 'u', 'x', 2.0)"
    )
    project.build("--vars", "{later: true}")
    assert held(project, "parted", "k, v, f, __start_at, __end_at") == {
        "a": [(None, 1.0, 10, 20), (None, 2.0, 20, None)],
        "b": [("x", 1.0, 10, 20), ("x", 2.0, 20, None)],
    }
    assert held(project, "history", "k, v, f, __start_at, __end_at") == {
        "a": [("", 1.0, 10, None)],
        "b": [("x", 1.0, 10, None)],
    }
    assert held(project, "filled", "k, v, f") == {"a": [("", 1.0)], "b": [("x", 1.0)]}
    run = project.dbt("run", "--vars", "{later: true, floodmark_restate: {from: 15}}")
    assert (
        f"the SELECT lacks f, which {s}.history has: rows that are made anew would lose what they hold there. Give it in "
        "the SELECT, or run it once with --full-refresh"
    ) in sentence(run.message["history"])
    assert held(project, "history", "k, f") == {"a": [(1.0,)], "b": [(1.0,)]}


def test_a_reset_of_an_emptied_table_is_a_mark(make_project: Callable[..., Project]) -> None:
    project = make_project("passed")
    s = project.schema
    project.sql(f"create table {s}.feed {COLUMNS}")
    project.sql(f"insert into {s}.feed values (1, 'x', 20, 'd', null, 0)")
    project.source("feed")
    project.model("latest", cdc("feed", "arrived, k, seq, op, v", step=None))
    project.build()
    project.sql(
        f"insert into {s}.feed values (5, 'bad', 10, 'u', 'v', 0), (6, 'x', 10, 'u', 'v', 0), (6, 'y', 10, 'u', 'v', 0)"
    )
    assert project.dbt(
        "run-operation", "floodmark.reset", "--args", "{model: latest, to: '5'}"
    ).success
    project.build()
    assert held(project, "latest", "k, v") == {"y": [("v",)]}


def test_names_that_only_look_alike(make_project: Callable[..., Project]) -> None:
    """A constraint on `start_date` is no constraint on `start`; a field called `map` is no map; the order of a key's columns is free."""
    project = make_project("alike")
    s = project.schema
    project.sql(
        f"create table {s}.feed (arrived int, k string, seq int, op string, start_date string) using delta"
    )
    project.sql(f"insert into {s}.feed values (1, 'a', 10, 'u', 's')")
    project.source("feed")
    settings = {
        "stored_as_scd_type": 2,
        "start_at": "start",
        "end_at": "end",
        "sequence_by": "struct(seq as map)",
        "config": {"on_schema_change": "append_new_columns"},
    }
    select = "arrived, k, seq, op, start_date"
    contract = """\
config: {contract: {enforced: true}}
columns:
  - {name: k, data_type: string}
  - {name: start_date, data_type: string, constraints: [{type: not_null}]}
  - {name: start, data_type: "struct<map:int>"}
  - {name: end, data_type: "struct<map:int>"}
  - {name: _floodmark_sequence, data_type: "struct<map:int>"}
"""
    project.model("bounded", cdc("feed", select, step=None, **settings), yml=contract)
    keys = cdc("feed", select, step=None)
    project.model("paired", keys.replace("unique_key='k'", "unique_key=['k', 'start_date']"))
    project.build()
    project.sql(f"insert into {s}.feed values (2, 'b', 10, 'u', null), (2, 'c', 10, 'u', 't')")
    project.model("paired", keys.replace("unique_key='k'", "unique_key=['start_date', 'k']"))
    run = project.dbt("run", "--select", "bounded")
    assert (
        "the batch breaks the contract's constraints: start_date_not_null (1 row). Nothing was"
        in (sentence(run.message["bounded"]))
    )
    project.sql(f"delete from {s}.feed where k = 'b'")
    project.build()
    assert held(project, "paired", "k, start_date") == {"a": [("s",)], "c": [("t",)]}
    assert held(project, "bounded", "k, start_date") == {"a": [("s",)], "c": [("t",)]}
