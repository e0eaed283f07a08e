"""What dbt users expect of an incremental model holds for floodmark's: hooks, contracts, docs, tests."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import pytest
import yaml

from tests.support.faults import Faults, injected
from tests.support.harness import Project, Run, incremental, sentence, table
from tests.support.macros import load

pytestmark = [pytest.mark.long("session"), pytest.mark.edge]

LOG = (
    "insert into {{ target.schema }}.hook_log select '%s', count(*) from "
    "{{ floodmark.ledger_schema() }}.batch_log where model = '{{ this }}'"
)
#: A pre-hook that makes the table, with a row, after dbt has looked for it.
MAKES = (
    "create table if not exists {{ this }} using delta as "
    "select 99L as id, 5 as amount, timestamp'2023-01-01 00:00:00Z' as ts"
)
#: One that makes the upstream.
MAKES_UPSTREAM = MAKES.replace("{{ this }}", "{{ target.schema }}.hooked_up")
TS = {"column": "ts"}
#: Model -> schema and alias: two that read the same with their schema before them, two of one alias, and a long one.
ALIKE = {"one": ("x", "b__c"), "two": ("x__b", "c"), "three": ("x", "c"), "long": ("x", "d" * 230)}
DESCRIPTION = 'Orders: it\'s 100 % "quoted"\nand goes on'
CONTRACT = """\
config: {contract: {enforced: true}}
constraints:
  - {type: check, name: positive, expression: "amount > 0"}
columns:
  - {name: id, data_type: bigint, constraints: [{type: not_null}]}
  - {name: amount, data_type: int}
  - {name: ts, data_type: timestamp}
"""
UNIT_TESTS = """\
unit_tests:
  - name: bounded
    model: tested
    overrides:
      macros: {is_incremental: true, floodmark.watermark_filter: "id > 1"}
    given:
      - input: source('raw', 'orders')
        rows: [{id: 1, amount: 10}, {id: 2, amount: 20}]
    expect: {rows: [{id: 2, doubled: 40}]}
  - name: unbounded
    model: tested
    overrides: {macros: {is_incremental: true}}
    given:
      - input: source('raw', 'orders')
        rows: [{id: 1, amount: 10}, {id: 2, amount: 20}]
    expect: {rows: [{id: 1, doubled: 20}, {id: 2, doubled: 40}]}
"""
#: Unit tests of a model of files, whose folder is never read.
FILED_TESTS = """\
unit_tests:
  - name: fed
    model: filed
    overrides: {macros: {floodmark.new_files: "(select 2L as id)"}}
    given: []
    expect: {rows: [{doubled: 4}]}
  - name: unfed
    model: filed
    given: []
    expect: {rows: [{doubled: 4}]}
"""
#: A unit test of a model whose rules look into relations that its SELECT does not read.
LOOKING_TESTS = """\
unit_tests:
  - name: looks
    model: looks_up
    given:
      - input: source('raw', 'orders')
        rows: [{id: 1}]
    expect: {rows: [{doubled: 2}]}
"""
SEED = """\
id,name,big,at,flag,vast
1,O'Brien,9007199254740993,2024-01-01 00:00:00.123456,true,9223372036854775808
2,,1,2024-10-27 00:30:00.000001,false,1
"""
#: Values that are written otherwise than Spark writes them. The last column has no type: one of its numbers is no double.
TYPED = """\
whole,tenth,many,at,day,code,flag,rounded,mixed
1.0,12.30,1e3,2024-01-15,2024-01-15 00:00:00,abc,yes,0.12345678901234567890,9007199254740993
,,,,,,,,0.5
"""
TYPES = (
    "{whole: int, tenth: 'decimal(10,1)', many: 'decimal(10,2)', at: timestamp, day: date, "
    "code: varchar(3), flag: boolean, rounded: double}"
)
#: A text of a seed, a type, and whether it is the same there.
FITS = [
    ("1.7", "int", False),
    ("1.7", "long", False),
    ("1.00", "bigint", True),
    ("3000000000", "int", False),
    ("12.345", "decimal(10,2)", False),
    ("12.345", "numeric(10, 2)", False),
    ("1e-2", "decimal(10,2)", True),
    ("2024-01-15 10:30:00", "date", False),
    ("2024-01-15 x", "date", False),
    ("2024", "date", False),
    ("08:15", "timestamp", False),
    ("2024-01-15T10:30:00+02:00", "timestamp", True),
    ("2024-01-15 10:30:00.1234567", "timestamp", False),
    ("2024-01-15 10:30:00", "timestamp_ntz", True),
    ("abcdef", "varchar(3)", False),
    ("f", "boolean", True),
    ("maybe", "boolean", False),
    ("9007199254740993", "double", True),
    ("x", "double", False),
]
SHAPE = (
    "{{ config(materialized=var('shape', 'view'), watermark={'column': 'ts'}) }}\n"
    f"select id, ts from {table('orders')}\n"
    "{% if config.get('materialized') == 'incremental' %}"
    "where {{ floodmark.watermark_filter() }}{% endif %}\n"
)
PLAIN = (
    "{{ config(materialized='incremental', incremental_strategy='merge', unique_key='id', "
    f"file_format='delta') }}}} select id, amount, ts from {table('orders')}\n"
    "{% if is_incremental() %}where ts > (select max(ts) from {{ this }}){% endif %}\n"
)


#: A guard that stands in a macro of the project, and one of something else than the filter.
ONLY_NEW = (
    "{% macro only_new() %}{% if is_incremental() %}where {{ floodmark.watermark_filter() }}"
    "{% endif %}{% endmacro %}"
)
GUARDS = {
    "by_macro": (
        "{{ config(materialized='incremental', watermark={'column': 'ts'}) }}\n"
        f"select id, ts from {table('orders')} {{{{ only_new() }}}}"
    ),
    "beside": incremental(
        table("orders"),
        "id, ts, {{ is_incremental() }} as is_later",
        watermark=TS | {"start": "2024-01-01"},
    ),
}


#: Whether the filter of such a model stands behind is_incremental().
MADE = {"made": False, "made_guarded": True}


@dataclass
class Story:
    project: Project
    runs: dict[str, Run] = field(default_factory=dict)
    versions: dict[str, dict[str, int]] = field(default_factory=dict)
    ids: dict[str, dict[str, list[int]]] = field(default_factory=dict)
    hooks: list[tuple[str, int]] = field(default_factory=list)
    events: dict[str, int] = field(default_factory=dict)
    printed: str = ""
    dry_ledger: list[str] = field(default_factory=list)

    def run(self, name: str, *args: str) -> None:
        self.runs[name] = run = self.project.dbt(*args)
        assert run.status, run.log[-6000:]
        schema = self.project.schema
        self.versions[name] = {m: self.project.commits(m) for m in ("documented", "contracted")}
        models = ("hooked", "broken_hook", "contracted", "plain", "shaped", "dry", "upstream_made")
        models += (*MADE, *GUARDS)
        self.ids[name] = {model: [] for model in models}
        for model, row_id in sorted(
            self.project.sql(
                " union all ".join(f"select '{m}', id from {schema}.{m}" for m in models)
            )
        ):
            self.ids[name][model].append(row_id)
        self.events[name] = self.project.sql(f"select count(*) from {schema}_floodmark.batch_log")[
            0
        ][0]


@pytest.fixture(scope="module")
def story(make_project: Callable[..., Project]) -> Iterator[Story]:
    """--empty; a build; a second day, compiled first, that breaks a contract; a third with it mended."""
    project = make_project("story")
    s = project.schema
    for name in ("x", "x__b"):
        project.sql(f"drop schema if exists {s}_{name} cascade")
    project.sql(f"create table {s}.hook_log (hook string, events bigint) using delta")
    project.sql(f"create table {s}.orders (id bigint, amount int, ts timestamp) using delta")
    project.sql(f"insert into {s}.orders values (1, 10, timestamp'2024-01-01 00:00:00Z')")
    project.sql(f"create table {s}.pairs (id bigint, ts timestamp) using delta")
    project.sql(f"insert into {s}.pairs values (1, timestamp'2024-01-01 00:00:00Z')")
    project.source("orders", "pairs", "hooked_up")
    orders = table("orders")
    project.model("dry", incremental(orders, watermark=TS))
    project.model(
        "dry_odd",
        incremental(orders, "*, null as n, array() as l, 'x' as _change_type", watermark=TS),
    )
    merge = {"incremental_strategy": "merge", "unique_key": "id"}
    project.model("sampled", incremental(orders, watermark=TS, **merge))
    project.model(
        "hooked", incremental(orders, pre_hook=LOG % "pre", post_hook=LOG % "post", watermark=TS)
    )
    for name, guard in MADE.items():
        project.model(name, incremental(orders, guard=guard, pre_hook=MAKES, watermark=TS, **merge))
    project.model(
        "upstream_made", incremental(table("hooked_up"), pre_hook=MAKES_UPSTREAM, watermark=TS)
    )
    (project.root / "macros").mkdir(exist_ok=True)
    (project.root / "macros" / "only_new.sql").write_text(ONLY_NEW)
    for name, sql in GUARDS.items():
        project.model(name, sql)
    project.model(
        "broken_hook",
        incremental(orders, post_hook="select raise_error('post-hook broke')", watermark=TS),
    )
    project.model(
        "contracted",
        incremental(orders, "id, amount, ts", on_schema_change="fail", watermark=TS),
        CONTRACT,
    )
    project.model(
        "documented",
        incremental(orders, persist_docs={"relation": True, "columns": True}, watermark=TS),
        'description: "Orders: it\'s 100 % \\"quoted\\"\\nand goes on"\n'
        'columns: [{name: id, description: "the order\'s number"}]',
    )
    project.model("tested", incremental(orders, "id, amount * 2 as doubled, ts", watermark=TS))
    (project.root / "models" / "tested.yml").write_text(UNIT_TESTS)
    project.model("plain", PLAIN)
    project.model("shaped", SHAPE)
    for name, (schema, alias) in ALIKE.items():
        project.model(
            name,
            incremental(
                table("pairs"), f"id, '{name}' as place, ts", schema=schema, watermark=TS, **merge
            ).replace("config(", f"config(alias='{alias}', ", 1),
        )
    (project.root / "seeds" / "people.csv").write_text(SEED)
    (project.root / "seeds" / "people.yml").write_text(
        "seeds: [{name: people, config: {file_format: delta, "
        "column_types: {big: bigint, at: timestamp}}}]"
    )
    story = Story(project)
    story.runs["dry"] = project.dbt("run", "--empty", "--select", "dry", "dry_odd")
    story.runs["sample"] = project.dbt("run", "--sample", "1 day", "--select", "sampled")
    if project.sql(f"show schemas like '{s}_floodmark'"):
        story.dry_ledger = [row[1] for row in project.sql(f"show tables in {s}_floodmark")]
    story.run("first", "build", "--exclude", "sampled")
    project.sql(
        f"insert into {s}.orders values (2, 20, timestamp'2024-01-02 00:00:00Z'), "
        "(3, -1, timestamp'2024-01-02 00:00:00Z')"
    )
    project.sql(f"insert into {s}.pairs values (2, timestamp'2024-01-02 00:00:00Z')")
    story.run("compile", "compile")
    compiled = project.root / "target" / "compiled" / "shop" / "models" / "hooked.sql"
    story.printed = compiled.read_text()
    shape = ("--vars", "{shape: incremental}")
    with injected(Faults(cuts={"one": "before: merge into"})):
        story.run("second", "run", *shape, "--exclude", "sampled", "dry", "tested")
    project.sql(f"update {s}.orders set amount = 30 where id = 3")
    # What `one` staged is read no more.
    project.sql(f"update {s}.pairs set id = 20 where id = 2")
    story.run("third", "run", *shape, "--select", "hooked", "contracted", "documented", "two")
    story.runs["fourth"] = project.dbt("run", *shape, "--select", "one")
    story.hooks = project.sql(f"select hook, events from {s}.hook_log")
    yield story
    for name in ("x", "x__b"):
        project.sql(f"drop schema if exists {s}_{name} cascade")


def test_hooks_run_once_a_node_before_the_plan_and_after_the_commit(story: Story) -> None:
    """Two events a batch: planned and committed. The third run has nothing new, and its hooks."""
    assert sorted(story.hooks) == sorted(
        [("pre", 0), ("post", 2), ("pre", 2), ("post", 4), ("pre", 4), ("post", 4)]
    )


def test_a_table_that_a_pre_hook_made_keeps_its_rows(story: Story) -> None:
    """dbt compiled what stands behind the guard as for a first load: only the next run can load into it."""
    assert story.ids["first"]["made"] == [1, 99]
    assert story.ids["second"]["made"] == [1, 2, 3, 99]
    assert story.ids["first"]["made_guarded"] == [99]
    assert (
        f"{story.project.schema}.made_guarded got its rows, from a hook or another run, after dbt had compiled "
        "the SELECT without what stands behind is_incremental(). Nothing was loaded: run again"
    ) in sentence(story.runs["first"].message["made_guarded"])
    assert story.ids["second"]["made_guarded"] == [1, 2, 3, 99]


def test_an_upstream_that_a_pre_hook_made_is_read(story: Story) -> None:
    assert story.ids["first"]["upstream_made"] == [99], story.runs["first"].message["upstream_made"]


@pytest.mark.parametrize("name", GUARDS)
def test_a_guard_may_stand_in_a_macro_and_beside_the_filter(story: Story, name: str) -> None:
    assert story.ids["first"][name] == [1], story.runs["first"].message[name]
    assert story.ids["second"][name] == [1, 2, 3], story.runs["second"].message[name]


def test_a_failing_post_hook_fails_the_node_not_the_batch(story: Story) -> None:
    assert story.runs["first"].status["broken_hook"] == "error"
    assert "post-hook broke" in story.runs["first"].message["broken_hook"]
    assert story.ids["first"]["broken_hook"] == [1]
    assert story.ids["third"]["broken_hook"] == [1, 2, 3]
    states = story.project.ledger("broken_hook", "batch_id, state")
    assert states == [(1, "committed"), (2, "committed")]


def test_a_batch_that_breaks_the_contract_is_refused_and_nothing_written(story: Story) -> None:
    schema = story.project.schema
    assert (
        f"floodmark, model '{schema}.contracted': the batch breaks the contract's constraints: "
        'positive (1 row). Nothing was written: correct the SELECT or the constraint. positive: {"'
    ) in sentence(story.runs["second"].message["contracted"])
    results = story.project.sql(
        "select batch_id, name, action, rows_judged, violations, sample is not null "
        f"from {schema}_floodmark.expectation_results where model = '{schema}.contracted' order by 1, 2"
    )
    assert ("positive", "fail", 1, True) in [(r[1], r[2], r[4], r[5]) for r in results if r[0] == 2]
    assert {r[1] for r in results} == {"positive", "id_not_null"}
    assert {r[4] for r in results if r[0] != 2} == {0}
    assert story.ids["second"]["contracted"] == [1]
    assert story.versions["second"]["contracted"] == story.versions["first"]["contracted"]


def test_the_corrected_batch_loads(story: Story) -> None:
    assert story.ids["third"]["contracted"] == [1, 2, 3]
    states = [state for (state,) in story.project.ledger("contracted", "state")]
    assert states == ["committed", "failed", "committed"]


def test_the_contracts_constraints_stand_on_the_table(story: Story) -> None:
    rows = story.project.sql(f"show tblproperties {story.project.schema}.contracted")
    properties = {row[0].lower(): row[1] for row in rows}
    assert properties["delta.constraints.positive"] == "amount > 0"
    assert properties["delta.constraints.id_not_null"] == "`id` is not null"


def test_descriptions_become_comments_and_are_written_once(story: Story) -> None:
    rows = story.project.sql(f"describe table extended {story.project.schema}.documented")
    comments = {row[0]: row[1:] for row in rows}
    assert comments["Comment"][0] == DESCRIPTION
    assert comments["id"][1] == "the order's number"
    assert story.versions["third"]["documented"] == story.versions["second"]["documented"]


@pytest.mark.parametrize("name", ["bounded", "unbounded"])
def test_unit_tests_with_and_without_an_override_of_the_filter(story: Story, name: str) -> None:
    assert story.runs["first"].status[name] == "pass"


def test_a_unit_test_needs_no_rows_for_what_a_rule_alone_reads(story: Story) -> None:
    project = story.project
    rules = ", ".join(
        f"{{'name': '{name}', 'expect': floodmark.in_relation('doubled', {relation}, 'id')}}"
        for name, relation in {"paired": "['raw', 'pairs']", "plain": "'plain'"}.items()
    )
    project.model(
        "looks_up",
        f"{{{{ config(materialized='incremental', watermark={TS!r}, expectations=[{rules}]) }}}}\n"
        f"select id * 2 as doubled, ts from {table('orders')} where {{{{ floodmark.watermark_filter() }}}}",
    )
    settings = project.root / "models" / "looks_up.yml"
    settings.write_text(LOOKING_TESTS)
    run = project.dbt("test", "--select", "looks_up")
    for file in (settings, settings.with_suffix(".sql")):
        file.unlink()
    assert run.status["looks"] == "pass", run.log


def test_a_unit_test_of_files_needs_their_rows(story: Story) -> None:
    project = story.project
    project.model(
        "filed",
        "{{ config(materialized='incremental', files={'path': 'landing', 'schema': 'id bigint'}) }}\n"
        "select id * 2 as doubled from {{ floodmark.new_files() }}",
    )
    settings = project.root / "models" / "filed.yml"
    settings.write_text(FILED_TESTS)
    run = project.dbt("test", "--select", "filed")
    for file in (settings, settings.with_suffix(".sql")):
        file.unlink()
    assert run.status["fed"] == "pass", run.message["fed"]
    assert (
        "floodmark refuses unit test 'unfed': 1 problem - overrides: expected rows for floodmark.new_files(), since a "
        'unit test reads no files. Write them as overrides: {macros: {floodmark.new_files: "(select 1 as id)"}}'
    ) in sentence(run.message["unfed"])


def test_compile_prints_the_next_bounds_and_changes_nothing(story: Story) -> None:
    assert story.runs["compile"].success
    assert story.events["compile"] == story.events["first"]
    assert story.versions["compile"] == story.versions["first"]
    assert story.ids["compile"] == story.ids["first"] | {"shaped": [1, 2, 3]}  # still a view
    assert (
        "(`ts` > timestamp'2024-01-01 00:00:00.000000+00:00' "
        "and `ts` <= timestamp'2024-01-02 00:00:00.000000+00:00')"
    ) in story.printed


def test_empty_touches_no_ledger_and_the_next_run_loads_everything(story: Story) -> None:
    assert story.runs["dry"].status["dry"] == "success"
    assert story.runs["dry"].status["dry_odd"] == "success", story.runs["dry"].message["dry_odd"]
    odd = f"{story.project.schema}.dry_odd"
    assert [row[0] for row in story.project.sql(f"describe {odd}")][3:] == ["_change_type"]
    assert "floodmark.untyped" in dict(story.project.sql(f"show tblproperties {odd}"))
    assert story.runs["sample"].status["sampled"] == "success", story.runs["sample"].log
    assert story.dry_ledger == []
    assert story.ids["first"]["dry"] == [1]


def test_a_model_without_floodmarks_settings_loads_as_in_dbt_spark(story: Story) -> None:
    schema = story.project.schema
    assert story.ids["third"]["plain"] == [1, 2, 3]
    assert story.project.ledger("plain", "batch_id") == []
    rows = story.project.sql(f"show tblproperties {schema}.plain")
    assert "delta.enableChangeDataFeed" not in {row[0] for row in rows}


def test_a_view_becomes_an_incremental_table(story: Story) -> None:
    assert story.runs["second"].status["shaped"] == "success"
    assert story.ids["third"]["shaped"] == [1, 2, 3]


def test_seeds_are_exact(story: Story) -> None:
    rows = story.project.sql(
        "select id, name, cast(big as string), cast(unix_micros(at) as string), flag, cast(vast as string) "
        f"from {story.project.schema}.people order by id"
    )
    assert rows == [
        (1, "O'Brien", "9007199254740993", "1704067200123456", True, "9223372036854775808"),
        (2, None, "1", "1729989000000001", False, "1"),
    ]
    # A value that its type cannot hold is no NULL.
    seed = story.project.root / "seeds" / "people.csv"
    seed.write_text(SEED.replace("27 00:30", "27 25:30"))
    try:
        run = story.project.dbt("seed", "--select", "people")
    finally:
        seed.write_text(SEED)
    assert run.status["people"] == "error"
    assert (
        "is timestamp and cannot hold: 2024-10-27 25:30:00.000001. Correct the value"
        in sentence(run.message["people"])
    )


def test_a_seeds_values_may_be_written_in_several_ways(story: Story) -> None:
    project = story.project
    seed = project.root / "seeds" / "typed.csv"
    seed.write_text(TYPED)
    seed.with_suffix(".yml").write_text(
        f"seeds: [{{name: typed, config: {{file_format: delta, column_types: {TYPES}}}}}]"
    )
    run = project.dbt("seed", "--select", "typed")
    assert run.success, run.log[-6000:]
    shown = (
        "whole",
        "tenth",
        "many",
        "unix_micros(at)",
        "day",
        "code",
        "flag",
        "round(rounded, 3)",
    )
    texts = ", ".join(f"cast({one} as string)" for one in (*shown, "mixed"))
    rows = project.sql(f"select {texts} from {project.schema}.typed order by mixed desc")
    first = ("1", "12.3", "1000.00", "1705276800000000", "2024-01-15", "abc", "true", "0.123")
    assert rows == [(*first, "9007199254740993.0"), (*[None] * 8, "0.5")]


def test_which_texts_a_seeds_column_holds(story: Story) -> None:
    """Each check of a value, asked of Spark as dbt has it: in one model."""
    project, floodmark = story.project, load()
    texts, held = [], []
    for number, (text, type, _) in enumerate(FITS):
        texts.append(f"'{text}' as v{number}")
        sql = floodmark._seed_holds_sql(f"v{number}", f"cast(v{number} as {type})", type)
        held.append(f"coalesce({sql}, false)")
    project.model(
        "held",
        "{{ config(materialized='table', file_format='delta') }}\n{% raw %}"
        f"select to_json(array({', '.join(held)})) as held from (select {', '.join(texts)})"
        "{% endraw %}",
    )
    project.build("--select", "held")
    ((found,),) = project.sql(f"select held from {project.schema}.held")
    said = dict(zip([fit[:2] for fit in FITS], json.loads(found), strict=True))
    assert said == {fit[:2]: fit[2] for fit in FITS}


def test_a_seed_without_rows_is_an_empty_table(story: Story) -> None:
    """At first, and where its rows were deleted: then the columns keep their types."""
    project = story.project
    seed = project.root / "seeds" / "emptied.csv"
    seed.with_suffix(".yml").write_text(
        "seeds: [{name: emptied, config: {file_format: delta, "
        "column_types: {price: 'decimal(10,2)'}}}]"
    )
    found = []
    for rows in ("", "1,2024-01-15,2.50\n", ""):
        seed.write_text("id,day,price\n" + rows)
        run = project.dbt("seed", "--select", "emptied")
        assert run.success, run.log[-6000:]
        types = [row[1] for row in project.sql(f"describe {project.schema}.emptied")]
        (count,) = project.sql(f"select count(*) from {project.schema}.emptied")
        found.append((count[0], types))
    assert found == [
        (0, ["bigint", "bigint", "decimal(10,2)"]),
        (1, ["bigint", "date", "decimal(10,2)"]),
        (0, ["bigint", "date", "decimal(10,2)"]),
    ]


def test_one_alias_in_two_schemas(story: Story) -> None:
    for name in ("two", "three"):
        schema, alias = ALIKE[name]
        relation = f"{story.project.schema}_{schema}.{alias}"
        rows = story.project.sql(f"select id, place from {relation} order by id")
        assert rows == [(1, name), (2, name)]


def test_an_alias_may_be_as_long_as_a_folders_name(story: Story) -> None:
    """Its staging tables have more in theirs."""
    schema, alias = ALIKE["long"]
    rows = story.project.sql(
        f"select id, place from {story.project.schema}_{schema}.{alias} order by id"
    )
    assert rows == [(1, "long"), (2, "long")]


def test_names_that_read_the_same_share_no_stage(story: Story) -> None:
    """`b__c` in schema `x` and `c` in schema `x__b`: the second leaves the unfinished batch of the first alone."""
    assert story.runs["second"].status["one"] == "error"
    assert story.runs["second"].status["two"] == story.runs["third"].status["two"] == "success"
    rows = story.project.sql(f"select id, place from {story.project.schema}_x.b__c order by id")
    assert rows == [(1, "one"), (2, "one")]


def test_everything_else_succeeded(story: Story) -> None:
    failed = {
        name: {node for node, status in run.status.items() if status in ("error", "fail")}
        for name, run in story.runs.items()
    }
    broken = {"broken_hook"}
    assert failed == {
        "dry": set(),
        "sample": set(),
        "first": broken | {"made_guarded"},
        "compile": set(),
        "second": broken | {"contracted", "one"},
        "third": set(),
        "fourth": set(),
    }


@pytest.mark.parametrize("scope", ["shop", "floodmark"])
def test_the_ledgers_schema_may_be_set_within_a_scope(
    make_project: Callable[..., Project], scope: str
) -> None:
    """The hook that makes the ledger is of the package floodmark, the model of the project: they find the same one."""
    project = make_project(f"scoped_{scope}")
    audit = f"{project.schema}_audit"
    project.sql(f"drop schema if exists {audit} cascade")
    settings = project.root / "dbt_project.yml"
    found = yaml.safe_load(settings.read_text())
    settings.write_text(yaml.safe_dump(found | {"vars": {scope: {"floodmark_schema": audit}}}))
    project.sql(f"create table {project.schema}.orders using delta as select 1 as id, now() as ts")
    project.source("orders")
    project.model("loaded", incremental(table("orders"), watermark=TS))
    project.build()
    batches = project.sql(f"select model, state from {audit}.batches")
    assert batches == [(f"{project.schema}.loaded", "committed")]
    assert not project.sql(f"show schemas like '{project.schema}_floodmark'")
    project.sql(f"drop schema {audit} cascade")
