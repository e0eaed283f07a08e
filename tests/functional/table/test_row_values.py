"""Values that once got lost on the way: bytes that are no UTF-8, ${...}, nested values, maps, types that lose digits, columns without a type."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest

from tests.support.harness import (
    FULL,
    SPARK_PARAMETERS,
    Project,
    Run,
    incremental,
    sentence,
    table,
)
from tests.support.rows import AT, rows_of

pytestmark = pytest.mark.edge

ODD_TEXTS = {
    "latin1": "cast(X'4DFC6C6C6572' as string)",
    "broken": "cast(X'C328FF00' as string)",
    "variable": r"'\u0024{spark.sql.shuffle.partitions}'",
    "environment": r"'\u0024{env:PATH}'",
    "quotes": r"'it\'s \\\\ \"x\" `y`'",
    "lines": r"'a\nb\r\tc'",
    "zero": r"'a\u0000b'",
    "astral": "'😀 ünï'",
    "json": "'{\"a\": [1]}'",
    "empty": "''",
    "comment": "'-- /* x */ ; {{ y }} {% z %}'",
}


def ways(key: str = "k") -> dict[str, dict[str, Any]]:
    """Strategies that know a row again by its key."""
    return {
        "merged": {"incremental_strategy": "merge", "unique_key": key, "watermark": {"column": "ts", "lookback": "9 days"}},
        "latest": {"incremental_strategy": "cdc", "unique_key": key, "cdc": {"sequence_by": "ts"}, "watermark": {"column": "ts", "lookback": "9 days"}},
        "periods": {
            "incremental_strategy": "cdc", "unique_key": key, "watermark": {"column": "ts", "lookback": "9 days"},
            "cdc": {"sequence_by": "ts", "stored_as_scd_type": 2},
        },
        "filled": {
            "incremental_strategy": "cdc", "unique_key": key, "watermark": {"column": "ts", "lookback": "9 days"},
            "cdc": {"sequence_by": "ts", "ignore_null_updates": True},
        },
    }  # fmt: skip


def write_ways(
    project: Project, names: tuple[str, ...], select: str, snapshot: str | None = None, **more: Any
) -> None:
    for name, config in ways().items():
        if name in names:
            project.model(name, incremental(table("src"), select, **(config | more)))
    for name, scd_type in {"extract": 1, "extracts": 2}.items():
        settings = ", ".join(f"{key}={value!r}" for key, value in more.items())
        if name in names:
            project.model(
                name,
                "{{ config(materialized='incremental', incremental_strategy='snapshot_diff', unique_key='k', "
                f"snapshot_diff={{'stored_as_scd_type': {scd_type}}}{', ' + settings if settings else ''}) }}}} "
                f"select {snapshot or select} from {table('now')}",
            )


NAMES = ("merged", "latest", "periods", "filled", "extract", "extracts")
#: Ways that keys take: the literals of a MERGE on both targets, and what else knows a row by its key on one; or all with
#: FLOODMARK_LAB=full.
KEYED = {"session": ("merged", "latest"), "thrift": ("merged", "periods", "extract")}


def test_keys_come_back_byte_for_byte(make_project: Callable[..., Project], target: str) -> None:
    """A key that is read again is the same key, whatever its bytes, and the filter of keys finds it, too."""
    project = make_project("bytes")
    schema = project.schema
    names = NAMES if FULL else KEYED[target]
    days = (0, 1, 2) if FULL else (0, 2)
    for source in ("src", "now"):
        project.sql(f"create table {schema}.{source} (k string, v int, ts timestamp) using delta")
    project.source("src", "now")
    write_ways(project, names, "*")
    if FULL:
        project.model(
            "parted",
            incremental(
                table("src"),
                "concat(date_format(ts, 'yyyy-MM'), '') as part, k, v, ts",
                incremental_strategy="insert_overwrite",
                partition_by=["part"],
                watermark={"column": "ts"},
            ),
        )
    for day in days:
        rows = ", ".join(
            f"({sql}, {day}, {AT} + interval {day} days)" for sql in ODD_TEXTS.values()
        )
        project.sql(f"insert into {schema}.src values {rows}")
        project.sql(f"insert overwrite {schema}.now values {rows}")
        filtered = ("--vars", "{floodmark_key_filter_bytes: 0}") if day == 2 else ()
        project.build(*filtered)
    wanted = sorted(
        row[0] for row in project.sql(f"select hex(cast(k as binary)) from {schema}.now")
    )
    for name in names:
        current = {"periods": "where __end_at is null", "extracts": "where __end_at is null"}
        found = project.sql(
            f"select hex(cast(k as binary)), v from {schema}.{name} {current.get(name, '')}"
        )
        assert sorted(row[0] for row in found) == wanted, name
        assert {row[1] for row in found} == {2}, name
    for name in {"periods", "extracts"}.intersection(names):
        found = project.sql(f"select k from {schema}.{name}")
        assert len(found) == len(days) * len(ODD_TEXTS), name
    # A text that is not UTF-8 alone in its file, then alone in a batch: Delta has another least and greatest of that file.
    # Then batches of others, whose least and greatest are the range in the ON clause.
    latin1, _, *others = ODD_TEXTS.values()
    batches = [[latin1], [latin1], others[:3]] + ([others[3:6], others[6:]] if FULL else [])
    ranged = [name for name in ("merged", "latest") if name in names]
    for number, texts in enumerate(batches):
        at = f"{AT} + interval {20 + number * 20} days"
        project.sql(
            f"insert into {schema}.src values {', '.join(f'({sql}, 100, {at})' for sql in texts)}"
        )
        project.build("--select", *ranged)
    for name in ranged:
        found = project.sql(f"select hex(cast(k as binary)), v from {schema}.{name}")
        assert sorted(row[0] for row in found) == wanted, name


NESTED = {
    "bytes_in_struct": ("struct(cast(X'4DFC' as string) as t)", "struct(cast(X'4DFD' as string) as t)"),
    "bytes_in_array": ("array(cast(X'FF' as string))", "array(cast(X'FE' as string))"),
    "bytes_as_key": ("map(cast(X'FF' as string), 1)", "map(cast(X'FE' as string), 1)"),
    "struct_keys": ("map(struct(1 as a), 'x')", "map(struct(2 as a), 'x')"),
    "array_keys": ("map(array(1), 'x')", "map(array(1, null), 'x')"),
    "binary_keys": ("map(X'0102', 'x')", "map(X'0103', 'x')"),
    "map_of_maps": ("map('a', map('b', 1))", "map('a', map('b', cast(null as int)))"),
    "bounds": ("array(array(1, 2), array(3))", "array(array(1), array(2, 3))"),
    "nulls": ("array(1, null)", "array(1)"),
    "null_field": ("struct(1 as a, cast(null as int) as b)", "struct(cast(null as int) as a, 1 as b)"),
    "struct_in_struct": (
        "struct(struct('1' as phone) as home, cast(null as string) as phone)",
        "struct(struct(cast(null as string) as phone) as home, '1' as phone)",
    ),
    "structs_in_array": (
        "struct(array(struct(1 as q)) as a, cast(null as int) as q)",
        "struct(array(struct(cast(null as int) as q)) as a, 1 as q)",
    ),
    "null_struct": ("cast(null as struct<a: int>)", "named_struct('a', cast(null as int))"),
    "micros": ("array(timestamp'2024-01-01 00:00:00.000001Z')", "array(timestamp'2024-01-01 00:00:00.000002Z')"),
    "doubles": ("array(cast('NaN' as double))", "array(1.0D)"),
    "variant": ("parse_json('{\"a\": 1}')", "parse_json('{\"a\": \"1\"}')"),
    "empty": ("array(cast(null as string))", "array('')"),
}  # fmt: skip


@pytest.mark.long("thrift")
def test_each_nested_difference_alone_is_a_change_and_nothing_else(
    make_project: Callable[..., Project],
) -> None:
    """One hash for every strategy: row `k` changes in column `k` alone and is written; a row that is read again is not,
    nor is one whose maps come in another order, whose zero has a sign, or whose field's name is written in another case.
    """
    project = make_project("hashed")
    schema = project.schema
    columns = [
        f"if(v = 2 and k = {number}, {after}, {before}) as {name}"
        for number, (name, (before, after)) in enumerate(NESTED.items(), start=1)
    ]
    columns.append("if(w = 0, map('a', 1, 'b', 2), map('b', 2, 'a', 1)) as reordered")
    columns.append("if(w = 0, array(0.0D), array(-0.0D)) as signed")
    cased = "{{ 'inner_name' if var('lower', false) else 'inner_Name' }}"
    columns.append(
        f"named_struct('{cased}', k) as cased, array(named_struct('{cased}', k)) as caseds"
    )
    selected = ", ".join(columns)
    for source in ("src", "now"):
        project.sql(
            f"create table {schema}.{source} (k int, v int, w int, ts timestamp) using delta"
        )
        rows = ", ".join(f"({k}, 1, 0, {AT})" for k in range(len(NESTED) + 1))
        project.sql(f"insert into {schema}.{source} values {rows}")
    project.source("src", "now")
    keyed = NAMES if FULL else ("periods", "extract")
    write_ways(project, keyed, f"k, ts, {selected}", f"k, {selected}", change_feed=False)
    mark = {"column": "ts", "lookback": "9 days"}
    # A merge whose SELECT lacks the watermark has the hash alone to go by.
    project.model(
        "unordered",
        incremental(
            table("now"),
            f"k, {selected}",
            incremental_strategy="merge",
            unique_key="k",
            watermark=mark,
            change_feed=False,
        ),
    )
    project.model(
        "parted",
        incremental(
            table("src"),
            f"cast(ts as date) as day, k, ts, {columns[-1]}",
            incremental_strategy="insert_overwrite",
            partition_by=["day"],
            watermark=mark,
        ),
    )
    names = (*keyed, "unordered", "parted")
    project.build()
    versions = {name: project.version(name) for name in names}
    # Read again, by the lookback or as the same snapshot.
    for source in ("src", "now"):
        project.sql(f"update {schema}.{source} set w = 1")
    project.build("--vars", "{lower: true}")
    assert {name: project.version(name) for name in names} == versions

    rows = ", ".join(f"({k}, 2, 1, {AT} + interval 1 hour)" for k in range(1, len(NESTED) + 1))
    project.sql(f"insert into {schema}.src values {rows}")
    project.sql(f"update {schema}.now set v = 2 where k > 0")
    run = project.build("--select", *keyed, "unordered", "--vars", "{lower: true}")
    for name in keyed:
        assert project.version(name) > versions[name], name
    for name in {"extract", "unordered"}.intersection(names):
        said = run.message[name].partition(" ")[2]
        assert said == f"{len(NESTED) + 1} read, {len(NESTED)} updated", (name, said)
    for name in {"periods", "extracts"}.intersection(names):
        found = project.sql(f"select k, count(*) from {schema}.{name} group by k")
        assert dict(found) == {k: 1 + (k > 0) for k in range(len(NESTED) + 1)}, name


#: Types that lose something, and the value that would: table type, SELECT type, value.
LOSSES = {
    "scale": ("decimal(17,0)", "decimal(17,2)", "12.34"),
    "whole": ("decimal(5,2)", "decimal(9,2)", "1000.00"),
    "day": ("date", "timestamp", "timestamp'2024-05-01 08:00:00Z'"),
    "local_day": ("date", "timestamp_ntz", "timestamp_ntz'2024-05-01 08:00:00'"),
    "narrow": ("float", "double", "0.1"),
    "fraction": ("int", "decimal(9,2)", "1.50"),
    "in_struct": (
        "struct<a: decimal(17,0)>",
        "struct<a: decimal(17,2)>",
        "named_struct('a', 12.34)",
    ),
    "in_list": ("array<date>", "array<timestamp>", "array(timestamp'2024-05-01 08:00:00Z')"),
    "in_map": ("map<string,float>", "map<string,double>", "map('a', 0.1)"),
    "as_key": ("map<decimal(5,0),int>", "map<decimal(5,2),int>", "map(1.5, 1)"),
}
#: What only widens: table type, SELECT type, value, what the table shows.
WIDENED = {
    "more_whole": ("decimal(17,2)", "decimal(9,2)", "1.25", 1.25),
    "more_scale": ("decimal(17,4)", "decimal(9,2)", "1.25", 1.25),
    "number": ("bigint", "int", "7", 7),
    "digits": ("decimal(12,2)", "int", "7", 7.0),
    "precise": ("double", "float", "0.5", 0.5),
    "text": ("string", "int", "7", "7"),
    "nested": ("struct<a: bigint, b: double>", "struct<a: int, b: float>", "named_struct('a', 7, 'b', 0.5)", {"a": 7, "b": 0.5}),
}  # fmt: skip
#: What depends on the value: table type, SELECT type, a value that stays, one that would not.
CHECKED = {
    "zeros": ("decimal(9,0)", "decimal(9,2)", "7.00", "7.50"),
    "midnight": ("date", "timestamp", "timestamp'2024-05-01 00:00:00Z'", "timestamp'2024-05-01 08:00:00Z'"),
    "small": ("int", "bigint", "7", "3000000000"),
    "small_decimal": ("int", "decimal(10,0)", "7", "3000000000"),
    "exact": ("decimal(9,1)", "double", "0.5", "0.25"),
    "whole_double": ("bigint", "double", "2.0", "2.5"),
    "beyond": ("double", "bigint", "7", "9007199254740993"),
    "number_text": ("decimal(9,2)", "string", "'1.25'", "'1.255'"),
    "day_text": ("date", "string", "'2024-05-01'", "'2024-05-01 08:00:00'"),
    "no_number": ("int", "string", "'7'", "'x'"),
    "nested_small": ("struct<a: int>", "struct<a: bigint>", "named_struct('a', 7L)", "named_struct('a', 3000000000L)"),
}  # fmt: skip
STRATEGIES: dict[str, dict[str, Any]] = {
    "append": {"watermark": {"column": "ts"}},
    "merge": {"watermark": {"column": "ts"}, "incremental_strategy": "merge", "unique_key": "id"},
    "overwrite": {"watermark": {"column": "ts"}, "incremental_strategy": "insert_overwrite", "partition_by": ["day"]},
    "cdc": {"watermark": {"column": "ts"}, "incremental_strategy": "cdc", "unique_key": "id", "cdc": {"sequence_by": "ts"}},
}  # fmt: skip


SNAPSHOT = "{{ config(materialized='incremental', incremental_strategy='snapshot_diff', unique_key='id'@) }} "

ODD_FIELDS = (
    "first-name",
    "é",
    "a b",
    "a:b",
    "a,b",
    "a<b",
    "a(b",
    "ti`ck",
    "x>y)",
    "c:int,d",
    "dot.ted",
)

#: on_schema_change of the models that wait for types.
AWAITED = {
    "append": "ignore",
    "merge": "ignore",
    "cdc": "append_new_columns",
    "overwrite": "fail",
    "snapshot": "ignore",
}
#: One macro serves every strategy. Each kind of comparison and of nesting, and the strategies that stage in ways of their own;
#: or all with FLOODMARK_LAB=full.
TYPED = (*STRATEGIES, "snapshot") if FULL else ("append", "cdc", "snapshot")
GROWN = (*STRATEGIES, "filled", "snapshot") if FULL else ("merge", "filled", "snapshot")
WAITING = tuple(AWAITED) if FULL else ("merge", "cdc", "overwrite", "snapshot")
ALIKE = (
    () if FULL else ("whole", "local_day", "fraction", "zeros", "midnight", "whole_double", "exact")
)
#: Values that stop a batch: type in the table, type in the SELECT, value.
ALONE = {
    case: found
    for case, found in (
        LOSSES
        | {case: (before, after, breaks) for case, (before, after, _, breaks) in CHECKED.items()}
    ).items()
    if case not in ALIKE
}
#: Values that pass: type in the table, type in the SELECT, value.
FITTING = {case: found[:3] for case, found in WIDENED.items()} | {
    case: found[:3] for case, found in CHECKED.items()
}


def typed_model(strategy: str) -> str:
    """Columns of the table's types: in the second run they come in other types and fit, in the third `c` does not."""
    columns = ", ".join(
        f"{{% if var('later', 0) == 1 %}}cast({value} as {after}){{% else %}}cast(null as {before}){{% endif %}} as c_{case}"
        for case, (before, after, value) in FITTING.items()
    )
    before, after, value = LOSSES["scale"]
    last = f"{{% if var('later', 0) == 2 %}}cast({value} as {after}){{% else %}}cast(null as {before}){{% endif %}} as c"
    if strategy == "snapshot":
        return SNAPSHOT.replace("@", "") + f"select id, day, {columns}, {last} from {table('src')}"
    return incremental(table("src"), f"id, day, ts, {columns}, {last}", **STRATEGIES[strategy])


def grown_model(strategy: str) -> str:
    """Structs with odd names that stand in another order and grow from the second run on, one of them with another type."""

    def struct(names: tuple[str, ...]) -> str:
        return "named_struct(" + ", ".join(f"'{name}', id" for name in names) + ")"

    first, more = struct(ODD_FIELDS), struct(tuple(reversed((*ODD_FIELDS, "new field", "e:f"))))
    later = "{% if var('later', 0) > 0 %}"
    select = (
        f"{later}{more}{{% else %}}{first}{{% endif %}} as s, "
        f"array({later}{more}{{% else %}}{first}{{% endif %}}) as l"
    )
    if strategy != "filled":
        select += f", {later}named_struct('a', cast(id as int), 'b', 'new'){{% else %}}named_struct('a', cast(id as bigint)){{% endif %}} as t"
    config: dict[str, Any] = {
        "on_schema_change": "append_new_columns",
        "tblproperties": {"delta.columnMapping.mode": "name"},
    }
    if strategy == "snapshot":
        settings = "".join(f", {name}={value!r}" for name, value in config.items())
        rows = f"select id, {select} from {table('src')} where id < 3"
        return SNAPSHOT.replace("@", settings) + rows
    filled = STRATEGIES["cdc"] | {"cdc": {"sequence_by": "ts", "ignore_null_updates": True}}
    config |= filled if strategy == "filled" else STRATEGIES[strategy]
    return incremental(table("src"), f"id, day, ts, {select}", **config)


def waiting_model(strategy: str) -> str:
    """`null as n`, empty arrays and maps, a field of a struct; in the third run they have types."""
    later = "{% if var('later', 0) == 2 %}"
    # A new field comes with the one that waited, unless on_schema_change refuses it.
    beside = "" if AWAITED[strategy] == "fail" else f"{later}, 'c', 1{{% endif %}}"
    inner = f"named_struct('a', id, 'b', {later}cast(id as string){{% else %}}null{{% endif %}}{beside})"
    select = (
        f"{later}cast(id * 10 as bigint){{% else %}}null{{% endif %}} as n, "
        f"{later}array('x'){{% else %}}array(){{% endif %}} as l, "
        f"{later}map('k', id){{% else %}}map(){{% endif %}} as m, "
        f"named_struct('a', id, 'b', {later}cast(id as string){{% else %}}null{{% endif %}}) as s, "
        f"array({inner}) as ls, map('k', {inner}) as ms"
    )
    if strategy == "snapshot":
        return SNAPSHOT.replace("@", "") + f"select id, {select} from {table('src')}"
    config = {"on_schema_change": AWAITED[strategy]} | STRATEGIES[strategy]
    return incremental(table("src"), f"id, day, ts, {select}", **config)


@dataclass
class Story:
    """A row of the source a run; the variable `later` is 0, 1, 2, and 0 again."""

    project: Project
    runs: list[Run] = field(default_factory=list)
    versions: list[dict[str, int]] = field(default_factory=list)
    waiting: dict[str, list[dict[str, Any]]] = field(default_factory=dict)

    def run(self, later: int, *names: str) -> None:
        number = len(self.runs) + 1
        self.project.sql(
            f"insert into {self.project.schema}.src values "
            f"({number}, date'2024-05-0{number}', {AT} + interval {number - 1} days)"
        )
        select = ("--select", *names) if names else ()
        self.runs.append(self.project.dbt("run", *select, "--vars", f"{{later: {later}}}"))
        watched = [f"typed_{way}" for way in TYPED] + [f"grown_{way}" for way in GROWN]
        self.versions.append({name: self.project.commits(name) for name in watched})


@pytest.fixture(scope="module")
def story(make_project: Callable[..., Project]) -> Story:
    project = make_project("types")
    schema = project.schema
    project.sql(f"create table {schema}.src (id int, day date, ts timestamp) using delta")
    project.source("src")
    for case, (before, after, value) in ALONE.items():
        # A table of somebody's, so that one run shows it.
        project.sql(
            f"create table {schema}.alone_{case} using delta as select 1 as id, date'2024-05-01' as day, "
            f"{AT} as ts, cast(null as {before}) as c"
        )
        select = f"id, day, ts, cast({value} as {after}) as c"
        project.model(f"alone_{case}", incremental(table("src"), select, **STRATEGIES["merge"]))
    typed = [f"typed_{way}" for way in TYPED]
    grown = [f"grown_{way}" for way in GROWN]
    waiting = [f"waiting_{way}" for way in WAITING]
    for way in TYPED:
        project.model(f"typed_{way}", typed_model(way))
    for way in GROWN:
        project.model(f"grown_{way}", grown_model(way))
    for way in WAITING:
        project.model(f"waiting_{way}", waiting_model(way))
    story = Story(project)
    story.run(0)
    for name in waiting:
        described = project.sql(f"describe {schema}.{name}")
        assert {"n", "l", "m"}.isdisjoint(row[0] for row in described), name
    story.run(1, *typed, *grown, "waiting_merge")
    story.run(2, *typed, "grown_snapshot", *waiting)
    story.waiting = {name: rows_of(project, name) for name in waiting}
    # Untyped again, now beside a column that has a type.
    story.run(0, *typed, "waiting_merge")
    return story


@pytest.mark.long("thrift")
def test_what_would_lose_digits_is_refused(story: Story) -> None:
    """The column, both types, the value and the way out; nothing is written, and the run after the cast loads all."""
    project = story.project
    cases = {f"alone_{case}": (*found, story.runs[0]) for case, found in ALONE.items()} | {
        f"typed_{way}": (*LOSSES["scale"], story.runs[2]) for way in TYPED
    }
    for name, (before, after, value, run) in cases.items():
        said = sentence(run.message[name])
        assert run.status[name] == "error" and "in the table and cannot hold: " in said, (
            name,
            said,
        )
        assert "cast it there, or run once with --full-refresh" in said, name
        if "<" not in before:
            assert f"`c` is {before} in the table and cannot hold: " in said, said
            assert f"It is {after} in the SELECT of {project.schema}.{name}" in said, said
        if name.removeprefix("alone_") in CHECKED and "<" not in before:
            assert value.removeprefix("timestamp").strip("'Z") in said, said
    for case in ALONE:
        state, error = project.ledger(f"alone_{case}", "state, error")[-1]
        assert state == "failed" and "cannot hold" in error, case
        assert [row["id"] for row in rows_of(project, f"alone_{case}")] == [1], case
    for way in TYPED:
        name = f"typed_{way}"
        assert story.versions[2][name] == story.versions[1][name], name
        states = [state for (state,) in project.ledger(name, "state")]
        assert states == ["committed", "committed", "failed", "committed"], name
        assert {row["id"] for row in rows_of(project, name)} == {1, 2, 3, 4}, name


@pytest.mark.long("thrift")
def test_what_only_widens_passes_and_the_rest_depends_on_the_value(story: Story) -> None:
    """A value that comes back as it was is taken, in the table's type."""
    project = story.project
    for way in TYPED:
        name = f"typed_{way}"
        assert story.runs[1].status[name] == "success", story.runs[1].message[name]
        described = dict(row[:2] for row in project.sql(f"describe {project.schema}.{name}"))
        for case, (before, _, _) in FITTING.items():
            assert described[f"c_{case}"] == before.replace(": ", ":").replace(", ", ","), case
        if way == "snapshot":
            continue  # the last extract has none of the values
        row = next(row for row in rows_of(project, name) if row["id"] == 2)
        assert {case: row[f"c_{case}"] for case in WIDENED} == {
            case: shown for case, (*_, shown) in WIDENED.items()
        }, name
        assert all(f"c_{case}" in row for case in CHECKED), (name, row)


@pytest.mark.long("thrift")
def test_a_column_without_a_type_waits_for_one(story: Story) -> None:
    """Kept out and named, then what they turn out to be; untyped again, they are NULL."""
    project = story.project
    log = sentence(story.runs[0].log)
    for name, rows in story.waiting.items():
        said = f"{project.schema}.{name}': the SELECT gives n, l, m, s.b, ls.element.b, ms.value.b without a type"
        assert said in log, name
        assert story.runs[2].status[name] == "success", story.runs[2].message[name]
        found = {row["id"]: row for row in rows}
        assert sorted(found) == [1, 2, 3], name
        assert found[3]["n"] == 30 and found[3]["l"] == ["x"] and found[3]["m"] == {"k": 3}, name
        assert found[3]["s"] == {"a": 3, "b": "3"}, name
        grown = {"a": 3, "b": "3"} | ({} if name == "waiting_overwrite" else {"c": 1})
        assert (found[3]["ls"], found[3]["ms"]) == ([grown], {"k": grown}), name
        if name != "waiting_snapshot":
            assert "n" not in found[1] and found[1]["s"] == {"a": 1}, name
    for run in (story.runs[1], story.runs[3]):
        assert run.status["waiting_merge"] == "success", run.message["waiting_merge"]
    last = next(row for row in rows_of(project, "waiting_merge") if row["id"] == 4)
    assert "n" not in last


@pytest.mark.long("thrift")
def test_structs_with_odd_field_names_grow_and_meet_by_name(story: Story) -> None:
    """Types are read unambiguously: fields with any name come, grow and stand in another order."""
    for way in GROWN:
        name = f"grown_{way}"
        assert story.runs[1].status[name] == "success", story.runs[1].message[name]
        row = next(row for row in rows_of(story.project, name) if row["id"] == 2)
        assert row["s"] == dict.fromkeys((*ODD_FIELDS, "new field", "e:f"), 2), name
        assert list(row["s"])[: len(ODD_FIELDS)] == list(ODD_FIELDS), name
        assert row["l"] == [row["s"]], name
    # The extract is read again and is as it was.
    assert story.runs[2].status["grown_snapshot"] == "success"
    assert story.versions[2]["grown_snapshot"] == story.versions[1]["grown_snapshot"]


@pytest.mark.long("thrift")
def test_a_struct_that_grows_and_changes_a_type_at_once(story: Story) -> None:
    """The new field comes, and the other one in the table's type."""
    project = story.project
    for way in GROWN:
        if way == "filled":
            continue  # it has no such column
        name = f"grown_{way}"
        row = next(row for row in rows_of(project, name) if row["id"] == 2)
        assert row["t"] == {"a": 2, "b": "new"}, name
        described = dict(row[:2] for row in project.sql(f"describe {project.schema}.{name}"))
        assert described["t"] == "struct<a:bigint,b:string>", name


@pytest.mark.long("session")
def test_a_text_whose_time_the_clock_leaves_out_is_refused(
    make_project: Callable[..., Project],
) -> None:
    """Spark stores an hour later. The first moment of a day is what a date becomes, too."""
    project = make_project("left_out")
    zone = {"spark.sql.session.timeZone": "America/New_York"}
    given = SPARK_PARAMETERS if project.target == "session" else {}
    project.write_profile(server_side_parameters=given | zone)
    s = project.schema
    project.sql(f"create table {s}.src (id int, ts timestamp, at string) using delta")
    project.source("src")
    # A table of somebody's, so that its column has a type of its own.
    project.sql(
        f"create table {s}.texts using delta as select 0 as id, timestamp'2024-05-01 00:00:00Z' as ts, "
        "cast(null as timestamp) as at"
    )
    project.model("texts", incremental(table("src"), "id, ts, at", **STRATEGIES["merge"]))

    def add(id: int, at: str) -> None:
        project.sql(f"insert into {s}.src values ({id}, {AT} + interval {id} days, '{at}')")

    add(1, "2024-03-10 03:30:00")
    add(2, "2024-03-10 02:30:00-05:00")
    add(3, "2024-03-10")
    project.build()
    assert sorted(row["id"] for row in rows_of(project, "texts")) == [0, 1, 2, 3]
    add(4, "2024-03-10 02:30:00")
    run = project.dbt("run")
    said = sentence(run.message["texts"])
    assert "`at` is timestamp in the table and cannot hold: 2024-03-10 02:30:00. It is" in said
    assert sorted(row["id"] for row in rows_of(project, "texts")) == [0, 1, 2, 3]
