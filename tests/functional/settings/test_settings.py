"""Invariant 9: bad configuration is refused with all problems at once, before anything is written."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.support.harness import Project, Run, incremental, sentence, table

pytestmark = pytest.mark.long("session")

SRC = table("src")
TS = {"column": "ts"}
VERSION = {"kind": "version"}
DURATIONS = "Units are microseconds, milliseconds, seconds, minutes, hours, days and weeks"
KEYS = "one of column, kind, from, lookback, step, start, nulls, max_future, gaps, gap_timeout, sql"
FILE_KEYS = (
    "one of path, format, schema, schema_hints, infer_column_types, schema_evolution, rescued_data_column, "
    "case_sensitive, partition_columns, glob, recursive, modified_after, modified_before, "
    "include_existing, max_files_per_batch, max_bytes_per_batch, allow_overwrites, on_corrupt, "
    "max_corrupt_fraction, on_loaded, archive_to, after, single_variant_column, options"
)
CSV_OPTIONS = (
    "one of encoding, charset, lineSep, compression, dateFormat, timestampFormat, timestampNTZFormat, "
    "timeZone, locale, header, sep, delimiter, quote, escape, charToEscapeQuoteEscaping, comment, "
    "multiLine, nullValue, emptyValue, nanValue, positiveInf, negativeInf, ignoreLeadingWhiteSpace, "
    "ignoreTrailingWhiteSpace, maxColumns, maxCharsPerColumn, unescapedQuoteHandling"
)
FILES = {"path": "landing", "schema": "id bigint"}
UNGUARD = (
    "expected the filter without the is_incremental() guard. Remove the guard: "
    "floodmark.watermark_filter() bounds the first load too"
)


def over_files(**config: object) -> str:
    arguments = ", ".join(
        f"{name}={value!r}" for name, value in ({"materialized": "incremental"} | config).items()
    )
    return f"{{{{ config({arguments}) }}}} select * from {{{{ floodmark.new_files() }}}}"


def over_changes(**config: object) -> str:
    arguments = ", ".join(f"{name}={value!r}" for name, value in config.items())
    return (
        f"{{{{ config(materialized='incremental', {arguments}) }}}} "
        "select * from {{ floodmark.changes(source('raw', 'src')) }}"
    )


def watermarked(**watermark: object) -> str:
    return incremental(SRC, watermark=TS | watermark)


def merging(**watermark: object) -> str:
    return incremental(SRC, incremental_strategy="merge", unique_key="id", watermark=TS | watermark)


# model -> (its SQL, every problem it must be told, as `setting: got ...; expected ... What to do`)
REFUSED: dict[str, tuple[str, list[str]]] = {
    "strategy": (
        incremental(SRC, incremental_strategy="replace", watermark=TS),
        [
            "incremental_strategy: got \"replace\"; expected 'append', 'merge', 'insert_overwrite', "
            "'cdc' or 'snapshot_diff'. Choose one of them, or leave out floodmark's settings to load as dbt-spark does"
        ],
    ),
    "expectations": (
        incremental(
            SRC,
            watermark=TS,
            expectations=[
                {"name": "n"},
                {"name": "N", "expect": "a > 0", "on_violation": "stop", "limit": 1},
                {"name": "open", "expect": "(a > 0", "nulls": "maybe"},
                {"expect": "a > 0", "max_violations": -1},
                {"name": "deep", "expect": "a in ( /* x */ SELECT 1)", "where": "b <> '(select'"},
                {"name": "few", "rows": {"least": 1}, "unique": "a"},
                {"name": "new", "fresh_within": "soon", "on_violation": "drop"},
                "a > 0",
            ],
        ),
        [
            "expectations.n.expect: got null; expected a condition of the SELECT's columns. Write one, such as "
            "'amount > 0'; a rule of the batch has rows, unique or fresh_within",
            "expectations.N.limit: got 1; expected one of name, expect, on_violation, where, nulls, max_violations, "
            "max_violation_fraction, severity, message, tags, deletes. Remove it or correct its name",
            'expectations.N.on_violation: got "stop"; expected one of warn, drop, quarantine, fail. Use one of them',
            'expectations.N: got "N"; expected a unique name. Give one of the rules another name',
            'expectations.open.nulls: got "maybe"; expected one of violate, pass. Use one of them',
            'expectations.open.expect: got "(a > 0"; expected a SQL expression, but this has a parenthesis without '
            "its other half. Correct it",
            "expectations[3].name: got null; expected a name of its own. Give the rule a name",
            "expectations[3].max_violations: got -1; expected a whole number of at least 0. Correct the number",
            'expectations.deep.expect: got "a in ( /* x */ SELECT 1)"; expected no subquery. '
            "Look into another table with floodmark.in_relation()",
            'expectations.few: got ["rows", "unique"]; expected one of rows, unique and fresh_within. '
            "Write a rule for each",
            "expectations.few.rows.least: got 1; expected one of min, max, change_from_median, of_last. "
            "Remove it or correct its name",
            'expectations.few.rows: got {"least": 1}; expected a mapping with min, max or change_from_median, such as '
            "{'min': 1}. Write one of them",
            "expectations.new.fresh_within: got \"soon\"; expected a duration such as '2 hours'. Units are "
            "microseconds, milliseconds, seconds, minutes, hours, days and weeks",
            'expectations.new.on_violation: got "drop"; expected one of warn, fail. Use one of them',
            "expectations.new.column: got null; expected a column. Name the timestamp or date that is to be fresh",
            "expectations[7]: got \"a > 0\"; expected a mapping such as {'name': 'amount_positive', "
            "'expect': 'amount > 0'}. Write it as a mapping",
        ],
    ),
    "expectations_as_text": (
        incremental(SRC, watermark=TS, expectations="a > 0"),
        [
            "expectations: got \"a > 0\"; expected a list such as [{'name': 'amount_positive', "
            "'expect': 'amount > 0'}]. Write it as a list"
        ],
    ),
    "unique_key": (
        incremental(SRC, incremental_strategy="merge", watermark=TS),
        [
            "unique_key: got null; expected a column or a list of columns. merge needs the key "
            "that identifies a row"
        ],
    ),
    "file_format": (
        incremental(SRC, file_format="parquet", watermark=TS),
        [
            "file_format: got \"parquet\"; expected 'delta'. Remove the setting: floodmark's "
            "models are Delta tables"
        ],
    ),
    "clustered_by": (
        incremental(SRC, clustered_by="id", buckets=4, watermark=TS),
        [
            'clustered_by: got "id"; expected no buckets, since Delta has none. Remove '
            "clustered_by and buckets"
        ],
    ),
    "both_ways": (
        over_files(files=FILES, watermark=TS).replace(
            "new_files() }}", "new_files() }} where {{ floodmark.watermark_filter() }}"
        ),
        [
            "files: expected either watermark or files. Remove one: files are new by their path, "
            "rows by their watermark"
        ],
    ),
    "on_schema_change": (
        incremental(SRC, on_schema_change="explode", watermark=TS),
        [
            "on_schema_change: got \"explode\"; expected 'ignore', 'fail', 'append_new_columns' or "
            "'sync_all_columns'. Use one of them"
        ],
    ),
    "no_mapping": (
        incremental(SRC, watermark="ts"),
        [
            "watermark: got \"ts\"; expected {'column': '<name>'}. floodmark.watermark_filter() "
            "needs the column that grows"
        ],
    ),
    "no_column": (
        incremental(SRC, watermark={"lookback": "1 day"}),
        [
            "watermark: got {\"lookback\": \"1 day\"}; expected {'column': '<name>'}. "
            "floodmark.watermark_filter() needs the column that grows"
        ],
    ),
    "unknown_key": (
        watermarked(lokback="1 day"),
        [f'watermark.lokback: got "1 day"; expected {KEYS}. Remove it or correct its name'],
    ),
    "choices": (
        watermarked(kind="date", nulls="drop", gaps="stop"),
        [
            'watermark.kind: got "date"; expected one of timestamp, sequence, version. Use one of them',
            'watermark.nulls: got "drop"; expected one of error, exclude, include. Use one of them',
            'watermark.gaps: got "stop"; expected one of ignore, warn, wait, fail. Use one of them',
        ],
    ),
    "distances": (
        merging(kind="timestamp", lookback="2 fortnights", step=5, max_future="soon"),
        [
            "watermark.lookback: got \"2 fortnights\"; expected a duration such as '2 hours'. "
            + DURATIONS,
            "watermark.step: got 5; expected a duration such as '2 hours'. " + DURATIONS,
            "watermark.max_future: got \"soon\"; expected a duration such as '2 hours'. "
            + DURATIONS,
        ],
    ),
    "sequence_distances": (
        merging(kind="sequence", lookback="2 hours", step=0),
        [
            'watermark.lookback: got "2 hours"; expected a whole number, for a sequence. '
            + DURATIONS,
            "watermark.step: got 0; expected a whole number, for a sequence. " + DURATIONS,
        ],
    ),
    "negative_distances": (
        merging(lookback=-5, step=True),
        [
            "watermark.lookback: got -5; expected a duration such as '2 hours', or a whole number "
            "for a sequence. " + DURATIONS,
            "watermark.step: got true; expected a duration such as '2 hours', or a whole number "
            "for a sequence. " + DURATIONS,
        ],
    ),
    "start": (
        watermarked(start="2024-02-30"),
        [
            "watermark.start: got \"2024-02-30\"; expected a UTC time such as '2026-01-31' or "
            "'2026-01-31 06:00:00', or a whole number for a sequence. Write the first value to load"
        ],
    ),
    "append_lookback": (
        watermarked(lookback="1 hour"),
        [
            "watermark.lookback: got \"1 hour\"; expected no lookback with 'append'. Use "
            "incremental_strategy='merge' with a unique_key: append would load the rows of the "
            "lookback twice"
        ],
    ),
    "append_lookback_behind_a_zero": (
        watermarked(lookback="05 minutes"),
        [
            "watermark.lookback: got \"05 minutes\"; expected no lookback with 'append'. Use "
            "incremental_strategy='merge' with a unique_key: append would load the rows of the "
            "lookback twice"
        ],
    ),
    "append_nulls": (
        watermarked(nulls="include"),
        [
            "watermark.nulls: got \"include\"; expected 'error' or 'exclude' with 'append'. Use "
            "incremental_strategy='merge': rows without a value are read in every run"
        ],
    ),
    "guarded_start": (
        incremental(SRC, guard=True, watermark=TS | {"start": "2024-01-01"}),
        [f"watermark.start: {UNGUARD}"],
    ),
    "guarded_step": (
        incremental(SRC, guard=True, watermark=TS | {"step": "1 day"}),
        [f"watermark.step: {UNGUARD}"],
    ),
    "guarded_sql": (
        incremental(SRC, guard=True, watermark=TS | {"sql": "max(ts)"}),
        [f"watermark.sql: {UNGUARD}"],
    ),
    "guarded_wait": (
        incremental(SRC, guard=True, watermark={"column": "id", "gaps": "wait"}),
        [f"watermark.gaps: {UNGUARD}"],
    ),
    "gaps_of_times": (
        incremental(SRC, watermark=TS | {"gaps": "fail"}),
        [
            'watermark.gaps: got "fail"; expected a sequence, and ts is a timestamp. Remove it: '
            "between two times nothing is missing"
        ],
    ),
    "gap_timeout": (
        watermarked(gap_timeout=60),
        [
            "watermark.gap_timeout: got 60; expected a duration such as '2 hours'. " + DURATIONS,
        ],
    ),
    "version_keys": (
        over_changes(
            watermark={"kind": "version", "column": "ts", "lookback": "1 day", "step": "x"}
        ),
        [
            'watermark.column: got "ts"; expected one of kind, from, step, start with kind '
            "'version'. Remove it: it has no meaning for the versions of a table",
            'watermark.lookback: got "1 day"; expected one of kind, from, step, start with kind '
            "'version'. Remove it: it has no meaning for the versions of a table",
            'watermark.step: got "x"; expected a whole number of versions. Versions count from 0',
        ],
    ),
    "version_step": (
        over_changes(watermark=VERSION | {"step": 0}),
        ["watermark.step: got 0; expected a whole number of versions. A batch reads at least 1"],
    ),
    "version_without_changes": (
        f"{{{{ config(materialized='incremental', watermark={VERSION!r}) }}}} select * from {SRC}",
        [
            'watermark: got {"kind": "version"}; expected floodmark.changes(ref(...)) in the SELECT, '
            "without an is_incremental() guard. Read \"from {{ floodmark.changes(ref('x')) }}\": the "
            "first load reads the whole table"
        ],
    ),
    "changes_without_version": (
        over_changes(watermark=TS),
        [
            "watermark: got {\"column\": \"ts\"}; expected {'kind': 'version'} on an incremental "
            "model. floodmark.changes() reads from version to version of its upstream"
        ],
    ),
    "version_overwrite": (
        over_changes(watermark=VERSION, incremental_strategy="insert_overwrite", partition_by="id"),
        [
            "watermark.kind: got \"version\"; expected 'append', 'merge' or 'cdc' with kind 'version'. "
            "merge applies updates and deletes"
        ],
    ),
    "overwrite_without_partition": (
        incremental(SRC, incremental_strategy="insert_overwrite", watermark=TS),
        [
            "partition_by: got []; expected one column, derived from the watermark column. "
            "insert_overwrite replaces whole partitions: add cast(<watermark column> as date) to the "
            "SELECT and name it here"
        ],
    ),
    "overwrite_by_sequence": (
        incremental(
            SRC,
            incremental_strategy="insert_overwrite",
            partition_by="s",
            watermark={"column": "id"},
        ),
        [
            'incremental_strategy: got "insert_overwrite"; expected a timestamp or date watermark, '
            "and id is a bigint. Use merge for sequences"
        ],
    ),
    "no_filter": (
        f"{{{{ config(materialized='incremental', watermark={TS!r}) }}}} select * from {SRC}",
        [
            'watermark: got {"column": "ts"}; expected floodmark.watermark_filter() in the SELECT. '
            'Add "where {{ floodmark.watermark_filter() }}"'
        ],
    ),
    "files_no_mapping": (
        over_files(files="landing"),
        [
            "files: got \"landing\"; expected files={'path': '...'} on an incremental "
            "model. floodmark.new_files() needs the folder to read"
        ],
    ),
    "files_problems": (
        over_files(files={"format": "xlsx", "sep": ";", "max_files_per_batch": 0}),
        [
            f'files.sep: got ";"; expected {FILE_KEYS}. Remove it or correct its name',
            "files.path: got null; expected the folder to load from. Add it",
            'files.format: got "xlsx"; expected one of json, csv, parquet, avro, orc, xml, text, binary. '
            "Use one of them",
            "files.max_files_per_batch: got 0; expected a whole number of at least 1. Leave it out "
            "for 1000",
        ],
    ),
    "files_values": (
        over_files(
            files={
                "path": "in",
                "format": "csv",
                "schema": "id bigint",
                "schema_evolution": "widen",
                "max_bytes_per_batch": "much",
                "options": {"sep": ";", "rowTag": "x"},
                "allow_overwrites": "replace",
                "modified_after": "yesterday",
            },
            incremental_strategy="merge",
            unique_key="id",
        ),
        [
            "files.max_bytes_per_batch: got \"much\"; expected a number of bytes, or text such as '512 mb'. "
            "Write one of them",
            "files.schema: got \"id bigint\"; expected no schema with schema_evolution 'widen'. Write it as "
            "schema_hints",
            f"files.options.rowTag: got \"x\"; expected {CSV_OPTIONS} with format 'csv'. "
            "Remove it or correct its name",
            "files.allow_overwrites: got \"replace\"; expected incremental_strategy 'append' with it. Use "
            "'append': merge replaces rows by their key",
            "files.modified_after: got \"yesterday\"; expected a UTC time such as '2026-01-31' or '2026-01-31 "
            "06:00:00'. Correct it",
        ],
    ),
    "files_hints": (
        over_files(files={"path": "in", "schema_hints": "amount", "options": {"sep": ";"}}),
        [
            'files.schema_hints: got "amount"; expected columns and their types, such as '
            "'amount decimal(10, 2), address.zip string'. Correct it",
            "files.format: got null; expected a format beside options. Add it: each format has options "
            "of its own",
        ],
    ),
    "files_own_columns": (
        over_files(
            files=FILES
            | {
                "schema": "id int, _Rescued_Data string, _metadata int",
                "schema_evolution": "rescue",
            }
        ),
        [
            'files.schema: got "_Rescued_Data"; expected none of floodmark\'s own columns. Remove it, or give '
            "rescued_data_column another name",
            'files.schema: got "_metadata"; expected none of floodmark\'s own columns. Remove it, or give the '
            "column another name",
        ],
    ),
    "files_own_hints": (
        over_files(files={"path": "in", "format": "csv", "schema_hints": "_floodmark_bad int"}),
        [
            'files.schema_hints: got "_floodmark_bad"; expected none of floodmark\'s own columns. Remove it, or '
            "give the column another name"
        ],
    ),
    "files_replaced": (
        over_files(files={"path": "in", "format": "json", "allow_overwrites": "replace"}),
        [
            'files.allow_overwrites: got "replace"; expected the path of each row\'s file in the table. '
            'Add "_metadata.file_path as source_file" to the SELECT'
        ],
    ),
    "files_xml": (
        over_files(files={"path": "in", "format": "xml", "options": {"encoding": "latin1"}}),
        [
            'files.options.encoding: got "latin1"; expected the encoding that each file declares, with format '
            "'xml'. Remove it. A file that declares none is UTF-8: have its first line name its encoding",
            "files.options.rowTag: got null; expected the element that is a record, with format 'xml'. "
            "Add it: options={'rowTag': 'row'}",
        ],
    ),
    "files_text_schema": (
        over_files(files=FILES | {"format": "text", "on_corrupt": "null"}),
        [
            "files.schema: got \"id bigint\"; expected nothing with format 'text', whose records have "
            "columns of their own. Remove it",
            "files.on_corrupt: got \"null\"; expected 'quarantine' or 'fail' with format 'text', beside which "
            "nothing is rescued. Use one of them",
        ],
    ),
    "files_variant": (
        over_files(
            files={
                "path": "in",
                "format": "xml",
                "single_variant_column": "record",
                "schema_hints": "amount.net double",
                "rescued_data_column": "rest",
                "on_corrupt": "null",
                "options": {"rowTag": "row", "rowValidationXSDPath": "row.xsd"},
            }
        ),
        [
            'files.rescued_data_column: got "rest"; expected no such column beside single_variant_column, which has '
            "the whole record. Remove it",
            'files.schema_hints: got "amount.net double"; expected only types of folders name=value beside '
            "single_variant_column, which has the whole record. Remove the others, and cast what is in the VARIANT "
            "in the SELECT",
            'files.options.rowValidationXSDPath: got "row.xsd"; expected no XSD beside single_variant_column, with '
            "which Spark does not tell which records break it. Remove one of the two",
            "files.on_corrupt: got \"null\"; expected 'quarantine' or 'fail' with single_variant_column, beside "
            "which nothing is rescued. Use one of them",
        ],
    ),
    "files_text_without_path": (
        over_files(files={"format": "text"}),
        ["files.path: got null; expected the folder to load from. Add it"],
    ),
    "files_unread": (
        f"{{{{ config(materialized='incremental', files={FILES!r}) }}}} select * from {SRC}",
        [
            'files: got {"path": "landing", "schema": "id bigint"}; expected floodmark.new_files() '
            'in the SELECT. Read "from {{ floodmark.new_files() }}"'
        ],
    ),
    "not_incremental": (
        f"{{{{ config(materialized='table', watermark={TS!r}) }}}} select * from {SRC} "
        "where {{ floodmark.watermark_filter() }}",
        [
            "materialized: got \"table\"; expected 'incremental' where "
            "floodmark.watermark_filter() is called. Call it in the incremental model that loads "
            "the rows, not upstream of it"
        ],
    ),
    # what depends on the column's type
    "missing_column": (
        incremental(SRC, watermark={"column": "created_at"}),
        [
            'watermark.column: got "created_at"; expected a column of {schema}.src. Correct the '
            "name, or name the upstream that has it in `from`"
        ],
    ),
    "string_column": (
        incremental(SRC, watermark={"column": "s"}),
        [
            'watermark.column: got "s string"; expected a timestamp, a date or a whole number. '
            "Cast it in a model upstream, such as cast(s as timestamp)"
        ],
    ),
    "double_column": (
        incremental(SRC, watermark={"column": "dbl"}),
        [
            'watermark.column: got "dbl double"; expected a timestamp, a date or a whole number. '
            "Cast it in a model upstream, such as cast(dbl as bigint)"
        ],
    ),
    "wrong_for_type": (
        merging(kind="sequence", lookback=5, start=7),
        [
            "watermark.kind: got \"sequence\"; expected 'timestamp' for a column of type timestamp."
            " Leave it out: the type of the column decides",
            "watermark.lookback: got 5; expected a duration such as '2 hours'. " + DURATIONS,
            "watermark.start: got 7; expected a UTC time such as '2026-01-31'. It must fit the "
            "column, timestamp",
        ],
    ),
    "two_upstreams": (
        incremental(
            f"{SRC} as a join {table('other')} as b on a.id = b.id", alias="a", watermark=TS
        ),
        [
            "watermark.from: got null; expected the ref or source that holds the column, one of: "
            "src, other. Name it in `from`"
        ],
    ),
    "own_table": (
        incremental(table("own_table"), watermark=TS),
        [
            'watermark.from: got "{schema}.own_table"; expected a table other than the one the model '
            "loads. Give the model an alias or a schema of its own"
        ],
    ),
    "key_not_selected": (
        incremental(SRC, "ts", incremental_strategy="merge", unique_key=["id", "nr"], watermark=TS),
        [
            'unique_key: got "id"; expected a column of the SELECT. Add it to the SELECT, or '
            "correct the name",
            'unique_key: got "nr"; expected a column of the SELECT. Add it to the SELECT, or '
            "correct the name",
        ],
    ),
    "guard_without_column": (
        incremental(SRC, "id", guard=True, watermark=TS),
        [
            'watermark.column: got "ts"; expected a column of the SELECT. With the '
            "is_incremental() guard, the mark of a first load is read from the rows it loaded: add the "
            "column, or remove the guard"
        ],
    ),
    "guard_with_another_type": (
        incremental(SRC, "id, cast(ts as date) as ts", guard=True, watermark=TS),
        [
            'watermark.column: got "ts date in the SELECT"; expected a timestamp, as in '
            "{schema}.src. With the is_incremental() guard, the mark of a first load is read from "
            "the rows it loaded: give the changed column another name, or remove the guard"
        ],
    ),
    "unknown_updates": (
        incremental(
            SRC,
            incremental_strategy="merge",
            unique_key="id",
            merge_update_columns="amount",
            watermark=TS,
        ),
        [
            'merge_update_columns: got "amount"; expected columns of the SELECT. Correct the name '
            "or remove it"
        ],
    ),
    "updates_of_append": (
        incremental(
            SRC,
            unique_key="id",
            merge_exclude_columns=["s"],
            incremental_predicates=["id > 1"],
            watermark=TS,
        ),
        [
            "merge_exclude_columns: got [\"s\"]; expected no such setting with 'append'. Remove it: it does nothing but "
            "with incremental_strategy='merge'",
            "incremental_predicates: got [\"id > 1\"]; expected no such setting with 'append'. Remove it: it does nothing "
            "but with incremental_strategy='merge'",
        ],
    ),
    "both_column_lists": (
        incremental(
            SRC,
            incremental_strategy="merge",
            unique_key="id",
            merge_update_columns=["s"],
            merge_exclude_columns=["s"],
            watermark=TS,
        ),
        [
            "merge_update_columns: expected merge_update_columns or merge_exclude_columns, not "
            "both. Remove one"
        ],
    ),
    "several": (
        incremental(
            SRC,
            incremental_strategy="merge",
            file_format="orc",
            on_schema_change="no",
            watermark=TS | {"nulls": "x"},
        ),
        [
            "unique_key: got null; expected a column or a list of columns. merge needs the key "
            "that identifies a row",
            "file_format: got \"orc\"; expected 'delta'. Remove the setting: floodmark's models "
            "are Delta tables",
            "on_schema_change: got \"no\"; expected 'ignore', 'fail', 'append_new_columns' or "
            "'sync_all_columns'. Use one of them",
            'watermark.nulls: got "x"; expected one of error, exclude, include. Use one of them',
        ],
    ),
}
PLANNED = {
    "key_not_selected",
    "guard_without_column",
    "guard_with_another_type",
    "unknown_updates",
}  # known once the SELECT is analysed


@pytest.fixture(scope="module")
def project(make_project: Callable[..., Project]) -> Project:
    project = make_project("refused")
    for name in ("src", "other"):
        project.sql(
            f"create table {project.schema}.{name} using delta as select 1L as id, 's' as s, "
            "1.5d as dbl, timestamp'2024-01-01 00:00:00Z' as ts"
        )
    project.source("src", "other", "absent", "own_table")
    for name, (sql, _) in REFUSED.items():
        project.model(name, sql)
    project.model("no_upstream", incremental(table("absent"), watermark=TS))
    project.model(
        "stray",
        "{{ config(materialized='incremental', incremental_strategy='merge', unique_key='id') }}"
        f" select * from {SRC} where {{{{ floodmark.watermark_filter() }}}}",
    )
    return project


@pytest.fixture(scope="module")
def run(project: Project) -> Run:
    return project.dbt("run")


@pytest.mark.parametrize("model", REFUSED)
def test_refused_with_every_problem(project: Project, run: Run, model: str) -> None:
    problems = [problem.replace("{schema}", project.schema) for problem in REFUSED[model][1]]
    count = "1 problem" if len(problems) == 1 else f"{len(problems)} problems"
    assert run.status[model] == "error"
    expected = f"floodmark refuses model '{project.schema}.{model}': {count} - "
    assert expected + " - ".join(problems) in sentence(run.message[model])


def test_an_upstream_that_does_not_exist(project: Project, run: Run) -> None:
    schema = project.schema
    assert (
        f"floodmark, model '{schema}.no_upstream': its upstream {schema}.absent does not exist: "
        "build it first"
    ) in sentence(run.message["no_upstream"])


def test_the_filter_without_a_watermark(project: Project, run: Run) -> None:
    assert (
        "watermark: got null; expected {'column': '<name>'}. floodmark.watermark_filter() needs "
        "the column that grows"
    ) in sentence(run.message["stray"])


def test_nothing_was_written(project: Project, run: Run) -> None:
    tables = {row[1] for row in project.sql(f"show tables in {project.schema}")}
    assert tables == {"src", "other"}
    log = f"{project.schema}_floodmark.batch_log"
    models = {row[0].split(".")[1] for row in project.sql(f"select distinct model from {log}")}
    assert models <= PLANNED
