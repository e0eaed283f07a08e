"""cdc where a SELECT, its settings or its table change under it: keys, conditions, contracts, what it remembers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import pytest

from tests.support.cdc import cdc
from tests.support.faults import Faults, injected
from tests.support.harness import FULL, Project, Run, Runs, sentence, table
from tests.support.rows import held

pytestmark = [pytest.mark.long("session"), pytest.mark.edge]

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


#: Both where the code differs between them; the rest of what is alike is left to the full run: SCD 2's memory of columns
#: (test_cdc.py), another type under a staged batch (test_cdc_rules.py), latest rows of a table's changes.
SCD_TYPES = (1, 2) if FULL else (1,)
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
        for scd in SCD_TYPES
    },
    "zeros": cdc("feed", "arrived, k, seq, op, f", step=None, stored_as_scd_type=2),
    "two_times_and_long_lived": cdc(
        "feed",
        "arrived, k, op, v, named_struct('ts', seq) as one, named_struct('ts', seq) as two, seq, seq as `my seq`, seq as col5",
        step=None,
        # Names that come twice, one that Delta does not take, and one by which Spark calls the fifth part.
        sequence_by=["one.ts", "two.ts", "`my seq`", "col5", "abs(seq)"],
        except_column_list=["arrived", "op", "my seq"],
        tombstone_ttl="9000000 days",
    ),
    "rekeyed": cdc("feed", "arrived, k, seq, op, v", step=None),
}
#: A condition that depends on the run stands as Jinja in the config.
MODELS["struct_payload"] = (
    MODELS["struct_payload"]
    .replace(f"'@p.gone if {LATER}@'", f"('p.gone' if {LATER} else 'false')")
    .replace(f'"@p.gone if {LATER}@"', f"('p.gone' if {LATER} else 'false')")
)
CUT = ("rekeyed",)
if FULL:
    CUT += ("typed_anew",)
    MODELS["typed_anew"] = cdc("feed", "arrived, k, seq, op, v", step=None)

LEFT_OUT = f"(['arrived', 'op', 'seq', 'f'] if {LATER} else ['arrived', 'op', 'seq'])"


def leaving(**settings: object) -> str:
    """A model that leaves f out later."""
    return cdc("left_feed", step=None, except_column_list="@", **settings).replace("'@'", LEFT_OUT)


def replaced(select: str, scd: int, deletes: str | None = None) -> str:
    """A model over the changes of a table whose rows are written again."""
    settings: dict[str, object] = {"sequence_by": "_commit_version", "stored_as_scd_type": scd}
    if deletes:
        settings |= {"apply_as_deletes": deletes, "except_column_list": ["gone"]}
    config = (
        "materialized='incremental', incremental_strategy='cdc', unique_key='id', "
        f"watermark={{'kind': 'version'}}, cdc={settings!r}"
    )
    feed = "{{ floodmark.changes(source('raw', 'replaced')) }}"
    return f"{{{{ config({config}) }}}}\n{select} from {feed}"


GONE = "select id, v, _COMMIT_VERSION, _CHANGE_TYPE = 'delete' as gone"
EVENTS_ALONE = "arrived, k, seq, op, v"
#: `start` beside a column `start_date`, `map` as the name of a field.
BOUNDED = {
    "stored_as_scd_type": 2,
    "start_at": "start",
    "end_at": "end",
    "sequence_by": "struct(seq as map)",
    "config": {"on_schema_change": "append_new_columns"},
}
PAIRED = cdc("alike", "arrived, k, seq, op, start_date", step=None, key=["k", "start_date"])
#: Models over feeds of their own.
MODELS |= {
    "kept": cdc("kept_feed", EVENTS_ALONE, step=None, stored_as_scd_type=2),
    "whole": "{{ config(materialized='incremental', incremental_strategy='cdc', unique_key='k', cdc={'sequence_by': 'seq', "
    "'apply_as_deletes': \"op = 'd'\"}) }}\n" + f"select * from {table('whole_feed')}",
    "in_yaml": "select * from {{ floodmark.changes(source('raw', 'state')) }}",
    "replaced_history": replaced(GONE, 2, "gone"),
    # a list of what is left out, a text and a comment say nothing of deletes: the feed is one of events
    "replaced_events": replaced(
        "select * except (_change_type), '_change_type' as said /* _change_type */", 1
    ),
    "parted": cdc("left_feed", step=None, stored_as_scd_type=2, config={"partition_by": "v"}),
    "left_history": leaving(stored_as_scd_type=2),
    "tied": cdc(
        "tied_feed",
        f"arrived, k, seq, op, v{{% if not {LATER} %}}, f{{% endif %}}",
        step=None,
        stored_as_scd_type=2,
    ),
    "passed": cdc("passed_feed", EVENTS_ALONE, step=None),
    "bounded": cdc("alike", "arrived, k, seq, op, start_date", step=None, **BOUNDED),
    "paired": PAIRED,
}
if FULL:
    MODELS["replaced_latest"] = replaced(GONE, 1, "gone")
    MODELS["left_filled"] = leaving(ignore_null_updates=True)
YAML = {
    "ignoring": CONTRACT,
    "in_yaml": """\
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
    "bounded": """\
config: {contract: {enforced: true}}
columns:
  - {name: k, data_type: string}
  - {name: start_date, data_type: string, constraints: [{type: not_null}]}
  - {name: start, data_type: "struct<map:int>"}
  - {name: end, data_type: "struct<map:int>"}
  - {name: _floodmark_sequence, data_type: "struct<map:int>"}
""",
}
CHANGES = "(id int, v string) using delta tblproperties ('delta.enableChangeDataFeed' = 'true')"
FEEDS = {
    **dict.fromkeys(
        ("feed", "kept_feed", "whole_feed", "left_feed", "passed_feed", "tied_feed"), COLUMNS
    ),
    "alike": "(arrived int, k string, seq int, op string, start_date string) using delta",
    "state": CHANGES,
    "replaced": CHANGES,
}
#: Of so many keys the event of one batch wins at some, and that of the other at the rest.
TIED = "abcdefgh"
#: What arrives before each of the three runs.
ARRIVALS = [
    {
        "feed": "(1, 'a', 10, 'u', 'v', 0.0), (1, 'b', 10, 'u', 'v', 1.0)",
        "kept_feed": "(1, 'k', 10, 'u', 'a', 0), (1, 'k', 20, 'd', null, 0)",
        "whole_feed": "(1, 'a', 10, 'u', 'v', 0), (1, 'b', 20, 'd', null, 0), (1, 'c', 20, 'd', null, 0)",
        "state": "(1, 'a'), (2, 'b')",
        "replaced": "(1, 'a'), (2, 'b'), (3, 'c')",
        "left_feed": "(1, 'a', 10, 'u', '', 1.0), (1, 'b', 10, 'u', 'x', 1.0)",
        "passed_feed": "(1, 'x', 20, 'd', null, 0)",
        "tied_feed": ", ".join(f"(1, '{key}', 10, 'u', 'x', 1.0)" for key in TIED),
        "alike": "(1, 'a', 10, 'u', 's')",
    },
    {
        "feed": "(2, 'a', 20, 'u', 'v', -0.0), (2, 'b', 20, 'd', null, null), (2, 'b', 30, 'u', 'w', null)",
        "kept_feed": "(2, 'k', 15, 'd', null, 0)",
        "left_feed": "(2, 'a', 20, 'u', '', 2.0), (2, 'b', 20, 'u', 'x', 2.0)",
        "passed_feed": "(5, 'bad', 10, 'u', 'v', 0), (6, 'x', 10, 'u', 'v', 0), (6, 'y', 10, 'u', 'v', 0)",
        "tied_feed": ", ".join(f"(2, '{key}', 10, 'u', 'y', 9.0)" for key in TIED),
        "alike": "(2, 'b', 10, 'u', null), (2, 'c', 10, 'u', 't')",
    },
    {
        "feed": "(3, 'c', 10, 'u', null, 1.0)",
        "kept_feed": "(3, 'k', 17, 'u', 'x', 0)",
        "whole_feed": "(1, 'b', 25, 'd', null, 0), (1, 'd', 5, 'd', null, 0)",
    },
]
#: What the third run is about.
THIRD = ("ignoring", *CUT, "kept", "whole", "bounded", "paired")
#: What is asked to restate at the end.
RESTATED = ("kept", "in_yaml", "left_history", *(name for name in MODELS if "replaced" in name))
KEPT = {"k": [("a", 10, 15), ("x", 17, 20)]}
STATE = "whole__cdc_state"


@dataclass
class Story(Runs):
    #: versions of `whole` and of what is remembered beside it, behind each run
    versions: list[tuple[int, int]] = field(default_factory=list)

    def arrive(self, number: int) -> None:
        for feed, rows in ARRIVALS[number].items():
            self.project.sql(f"insert into {self.project.schema}.{feed} values {rows}")

    def look(self) -> None:
        self.versions.append((self.project.version("whole"), self.project.version(STATE)))


@pytest.fixture(scope="module")
def story(make_project: Callable[..., Project]) -> Story:
    """A first load; a batch that dies staged, whose settings change then; a wider SELECT; restatements."""
    project = make_project("story")
    s = project.schema
    for name, columns in FEEDS.items():
        project.sql(f"create table {s}.{name} {columns}")
    project.source(*FEEDS)
    for name, sql in MODELS.items():
        project.model(name, sql, yml=YAML.get(name))
    story = Story(project)
    story.arrive(0)
    story.run("first")
    story.look()
    story.arrive(1)
    project.sql(f"delete from {s}.state where id = 2")
    project.sql(f"insert overwrite {s}.replaced values (1, 'a'), (2, 'x')")
    with injected(Faults(cuts=dict.fromkeys(CUT, "before: merge into"))):
        story.run("cut", "--select", *CUT)
    story.runs["passed"] = project.dbt(
        "run-operation", "floodmark.reset", "--args", "{model: passed, to: '5'}"
    )
    project.model("rekeyed", MODELS["rekeyed"].replace("unique_key='k'", "unique_key=['k', 'v']"))
    if FULL:
        project.model("typed_anew", cdc("feed", EVENTS_ALONE, step=None, stored_as_scd_type=2))
    story.run("second", "--vars", "{later: true}", "--exclude", "paired")
    story.look()
    for name in CUT:
        project.model(name, MODELS[name])
    project.model("paired", PAIRED.replace("['k', 'start_date']", "['start_date', 'k']"))
    project.sql(f"delete from {s}.alike where k = 'b'")
    story.arrive(2)
    story.run("third", "--vars", "{later: true}", "--select", *THIRD)
    story.look()
    return story


@pytest.fixture(scope="module")
def restated(story: Story) -> Run:
    """A table that was restored, changes that wait, and tables from which nobody can tell what was: asked to restate."""
    project, s = story.project, story.project.schema
    assert held(project, "kept", VALUES) == KEPT
    project.sql(f"restore table {s}.kept to version as of 1")
    project.sql(f"insert into {s}.state values (3, 'c')")
    asked = ("--vars", "{later: true, floodmark_restate: {from: 2}}")
    return project.dbt("run", *asked, "--select", *RESTATED)


def test_a_key_that_grows_a_field_is_refused(story: Story) -> None:
    assert (
        f'unique_key: got "k struct<a:string,gone:boolean>"; expected struct<a:string>, as in {story.project.schema}.struct_key'
    ) in story.said("second", "struct_key")


def test_conditions_see_the_select_as_it_comes(story: Story) -> None:
    """A field that the table does not get says what is a delete."""
    assert story.runs["second"].status["struct_payload"] == "success"
    assert held(story.project, "struct_payload", "k, p") == {
        "a": [({"a": "a"},)],
        "b": [({"a": "b"},)],
    }
    assert story.project.ledger("struct_payload", "rows_updated")[1] == (2,)
    remembered = held(story.project, "struct_payload__cdc_state", "k, _floodmark_sequence")
    assert remembered == {} or "a" not in remembered


def test_settings_that_change_under_a_staged_batch_are_refused(story: Story) -> None:
    """And its rows are read again with those that fit."""
    s = story.project.schema
    assert (
        f'unique_key: got "SCD 1 by k and v"; expected SCD 1 by k, as {s}.rekeyed was made'
    ) in story.said("second", "rekeyed")
    if FULL:
        message = story.said("second", "typed_anew")
        assert "which has no column __start_at" in message
    for name in CUT:
        assert held(story.project, name, "k, v") == {
            "a": [("v",)],
            "b": [("w",)],
            "c": [(None,)],
        }, name
        assert ("failed",) in story.project.ledger(name, "state")


def test_a_contract_counts_where_nulls_are_ignored(story: Story) -> None:
    """f keeps its value, which a not_null on it would allow; v is written as it comes, and may not be NULL."""
    assert story.runs["second"].status["ignoring"] == "success"
    message = story.said("third", "ignoring")
    assert "the batch breaks the contract's constraints: v_not_null (1 row). Nothing was" in message
    assert held(story.project, "ignoring", "k, v").keys() == {"a", "b"}


def test_what_the_events_lack_goes_with_a_delete(story: Story) -> None:
    """As it would if the delete came in a batch of its own."""
    assert held(story.project, "lacking", "k, v") == {"a": [("v",)], "b": [(None,)]}
    # One that ties with a known event keeps what that one had.
    assert held(story.project, "tied", "k, f") == {key: [(1.0,)] for key in TIED}


def test_zeros_of_either_sign_are_equal(story: Story) -> None:
    rows = held(story.project, "zeros", "k, __start_at, __end_at")
    assert rows == {"a": [(10, None)], "b": [(10, 20), (30, None)]}


def test_a_column_with_a_dot_is_no_field(story: Story) -> None:
    """A column `p.a` beside a column p that has a field a: each remembers its own sequence."""
    for scd in SCD_TYPES:
        current = " where __end_at is null" if scd == 2 else ""
        rows = story.project.sql(
            f"select k, `p.a`, p.a from {story.project.schema}.dotted{scd}{current} order by k"
        )
        assert [tuple(row) for row in rows] == [("a", "v", 0), ("b", "w", None)]


def test_everything_else_succeeded(story: Story) -> None:
    failed = {
        name: {node for node, status in run.status.items() if status == "error"}
        for name, run in story.runs.items()
    }
    assert failed == {
        "first": set(),
        "cut": set(CUT),
        "passed": set(),
        "second": {"struct_key", "bounded", *CUT},
        "third": {"ignoring"},
    }


def test_a_feed_that_is_read_whole_is_remembered_once(story: Story) -> None:
    """Without a watermark every run reads all deletes again; what is remembered does not grow."""
    first, second, third = story.versions
    assert second == first
    assert third[1] == first[1] + 1
    remembered = held(story.project, STATE, "k, _floodmark_sequence")
    assert {key: max(rows) for key, rows in remembered.items()} == {
        "b": (25,),
        "c": (20,),
        "d": (5,),
    }


def test_a_reset_of_an_emptied_table_is_a_mark(story: Story) -> None:
    assert story.runs["passed"].success
    assert held(story.project, "passed", "k, v") == {"y": [("v",)]}


def test_names_that_only_look_alike(story: Story) -> None:
    """A constraint on `start_date` is no constraint on `start`; a field called `map` is no map; the order of a key's columns is free."""
    assert (
        "the batch breaks the contract's constraints: start_date_not_null (1 row). Nothing was"
        in story.said("second", "bounded")
    )
    for name in ("paired", "bounded"):
        assert held(story.project, name, "k, start_date") == {"a": [("s",)], "c": [("t",)]}, name


def test_rows_that_one_commit_replaces_are_not_deleted(story: Story) -> None:
    """A range that is written again comes as a delete and an insert of each row; whoever names _change_type, in any case, has deletes."""
    project, key = story.project, "cast(id as string) as k"
    assert held(project, "replaced_history", VALUES.replace("k,", f"{key},")) == {
        "1": [("a", 1, None)],
        "2": [("b", 1, 2), ("x", 2, None)],
        "3": [("c", 1, 2)],
    }
    assert held(project, "replaced_events", f"{key}, v") == {
        "1": [("a",)],
        "2": [("x",)],
        "3": [("c",)],
    }
    if FULL:
        latest = held(project, "replaced_latest", f"{key}, v")
        assert latest == {"1": [("a",)], "2": [("x",)]}


def test_settings_in_yaml_say_what_a_deleted_row_means(story: Story, restated: Run) -> None:
    """The feed of changes of a table: its deletes are events though the SELECT does not name them. What waits is loaded before it is restated."""
    s = story.project.schema
    assert (
        f"1 version of {s}.state is not loaded yet, and may still hold rows from before the correction. The next run "
        "would bring those back: run the model first, then restate"
    ) in sentence(restated.message["in_yaml"])
    rows = story.project.sql(f"select id, __end_at from {s}.in_yaml order by id")
    assert rows == [(1, None), (2, 2)]


def test_a_table_that_is_no_feed_of_events_cannot_be_restated(story: Story, restated: Run) -> None:
    for name in ("replaced_history", *(("replaced_latest",) if FULL else ())):
        assert (
            f"{story.project.schema}.replaced is not a feed of events: a row that is deleted there is a delete here, so the table as it is now "
            "does not show what its rows were at 2. Run the model once with --full-refresh, or set watermark.start to the version from "
            "which its change feed is complete"
        ) in sentence(restated.message[name])
    # Nor one of events that are ordered by their versions.
    assert (
        f"without watermark.start, {story.project.schema}.replaced is read as it is now: each of its events has the newest "
        "_commit_version, so nobody can tell in which one it came. Set watermark.start to the version from which its change feed is complete"
    ) in sentence(restated.message["replaced_events"])


def test_columns_that_the_table_holds_otherwise(story: Story, restated: Run) -> None:
    """An empty text that partitions the table is NULL there; a column that is left out later is neither written nor compared any more."""
    project = story.project
    columns = "k, v, f, __start_at, __end_at"
    assert held(project, "parted", columns) == {
        "a": [(None, 1.0, 10, 20), (None, 2.0, 20, None)],
        "b": [("x", 1.0, 10, 20), ("x", 2.0, 20, None)],
    }
    assert (
        f"the SELECT lacks f, which {project.schema}.left_history has: rows that are rebuilt would lose their values there. Add it to "
        "the SELECT, or run the model once with --full-refresh"
    ) in sentence(restated.message["left_history"])
    assert held(project, "left_history", columns) == {
        "a": [("", 1.0, 10, None)],
        "b": [("x", 1.0, 10, None)],
    }
    if FULL:
        assert held(project, "left_filled", "k, v, f") == {"a": [("", 1.0)], "b": [("x", 1.0)]}


def test_a_history_that_was_restored_is_loaded_anew(story: Story, restated: Run) -> None:
    """What is remembered beside it was not restored: no mark helps."""
    project, s = story.project, story.project.schema
    message = sentence(restated.message["kept"])
    assert (
        f"{s}.kept was restored to version 1 after batch 3, so rows below the mark are missing: "
        "run it once with --full-refresh to load everything again"
    ) in message
    assert "floodmark reset" not in message
    run = project.dbt("run-operation", "floodmark.reset", "--args", "{model: kept, to: '2'}")
    assert (
        f"{s}.kept was restored to version 1, but its state table was not, so late events "
        "would be applied wrongly: run it once with --full-refresh to load everything again"
    ) in sentence(run.log)
    found = "{{ floodmark._disagreement(graph.nodes['model.shop.kept']) | join(', ') if execute }}"
    run = project.dbt("show", "--inline", f'select "{found}" as found', "--output", "json")
    assert (
        "it was restored to version 1 after batch 3, "
        "`dbt build -s package:shop,file:kept.sql --full-refresh`"
    ) in run.log
    if FULL:
        project.build("--full-refresh", "--select", "kept")
        assert held(project, "kept", VALUES) == KEPT


def test_a_first_load_is_finished_under_other_settings(
    make_project: Callable[..., Project],
) -> None:
    """It died between its two tables: what it resolved has the columns of its settings, and its memory."""
    project = make_project("unfinished")
    s = project.schema
    project.sql(f"create table {s}.feed {COLUMNS}")
    project.sql(f"insert into {s}.feed values (1, 'k', 10, 'u', 'a', 1.0), (1, 'k', 20, 'u', 'a', 2.0)")  # fmt: skip
    project.source("feed")
    without = ["arrived", "op", "seq", "f"]
    changed: dict[str, dict[str, object]] = {
        "freed": {"except_column_list": without[:3]},
        "filled": {"except_column_list": without, "ignore_null_updates": True},
    }

    def model(name: str, **settings: object) -> None:
        sql = cdc("feed", "arrived, k, seq, op, v, f", step=None, stored_as_scd_type=2, **settings)
        project.model(name, sql)

    for name in changed:
        model(name, except_column_list=without)
    cut = r"before: create or replace table \S*__cdc_state"
    with injected(Faults(cuts=dict.fromkeys(changed, cut))):
        run = project.dbt("run")
    assert {run.status[name] for name in changed} == {"error"}, run.log[-3000:]
    for name, settings in changed.items():
        model(name, **settings)
    project.sql(f"insert into {s}.feed values (2, 'k', 15, 'd', null, null)")
    run = project.dbt("run")
    assert (
        "ignore_null_updates was changed while batch 1 was unfinished: run it once with --full-refresh"
        in sentence(run.message["filled"])
    )
    # The event at 10 is remembered: a late delete leaves its row.
    assert run.status["freed"] == "success", run.message["freed"]
    assert held(project, "freed", VALUES) == {"k": [("a", 10, 15), ("a", 20, None)]}


def test_events_that_are_ordered_by_their_versions_are_read_from_start(
    make_project: Callable[..., Project],
) -> None:
    """A feed that is read as it is has one version for all events, so a delete would tie with the row before it."""
    project = make_project("versions")
    s = project.schema
    project.sql(
        f"create table {s}.log (id int, v string, op string) using delta "
        "tblproperties ('delta.enableChangeDataFeed' = 'true')"
    )
    for rows in ("(1, 'a', 'u'), (9, 'z', 'u')", "(1, 'b', 'u')", "(1, null, 'd')"):
        project.sql(f"insert into {s}.log values {rows}")
    project.source("log")
    settings = {
        "sequence_by": "_commit_version",
        "apply_as_deletes": "op = 'd'",
        "except_column_list": ["op"],
        "stored_as_scd_type": 2,
    }

    def model(**more: object) -> None:
        watermark = {"kind": "version"} | more
        config = (
            "materialized='incremental', incremental_strategy='cdc', unique_key='id', "
            f"watermark={watermark!r}, cdc={settings!r}"
        )
        feed = "{{ floodmark.changes(source('raw', 'log')) }}"
        project.model("history", f"{{{{ config({config}) }}}}\nselect * from {feed}")

    model()
    run = project.dbt("run")
    assert run.status["history"] == "error"
    assert (
        f"without watermark.start, {s}.log is read as it is now: each of its events has the newest _commit_version"
        in sentence(run.message["history"])
    )
    model(start=1)
    for args in ((), ("--vars", "{floodmark_restate: {from: 2}}")):
        project.build(*args)
        assert held(project, "history", "cast(id as string) as k, v, __start_at, __end_at") == {
            "1": [("a", 1, 2), ("b", 2, 3)],
            "9": [("z", 1, None)],
        }, args
