"""What Spark, Hive and Delta throw becomes one sentence."""

import pytest

from dbt_floodmark.spark.messages import (
    CANCELLED,
    is_derby_locked,
    is_unsettled,
    readable,
    target_table,
)

SESSION = (
    "[TABLE_OR_VIEW_NOT_FOUND] The table or view `nope` cannot be found.\nVerify the spelling. "
    "SQLSTATE: 42P01; line 6 pos 18;\n'Project [*]\n+- 'UnresolvedRelation [nope], [], false\n\n"
    "JVM stacktrace:\norg.apache.spark.sql.AnalysisException: [TABLE_OR_VIEW_NOT_FOUND] again\n"
    "\tat org.apache.spark.sql.errors.X(X.scala:1)\n"
)
THRIFT = (
    "org.apache.hive.service.cli.HiveSQLException: Error running query: [TABLE_OR_VIEW_NOT_FOUND] "
    "org.apache.spark.sql.AnalysisException: [TABLE_OR_VIEW_NOT_FOUND] The table or view `nope` "
    "cannot be found.\nVerify the spelling. SQLSTATE: 42P01; line 6 pos 18;\n'Project [*]\n"
    "\tat org.apache.spark.sql.hive.thriftserver.X(X.scala:43)\n"
)
WANTED = (
    "[TABLE_OR_VIEW_NOT_FOUND] The table or view `nope` cannot be found. Verify the spelling. "
    "SQLSTATE: 42P01 (line 6, position 18)"
)


@pytest.mark.parametrize("text", [SESSION, THRIFT], ids=["session", "thrift"])
def test_one_sentence_with_state_and_position(text):
    assert readable(text) == WANTED


def test_the_cause_says_more_than_the_failed_task():
    text = (
        "An error occurred while calling o1.sql.\n: org.apache.spark.SparkException: "
        "[TASK_WRITE_FAILED] Task failed while writing rows to file:/x. SQLSTATE: 58030\n"
        "\tat org.X(X.scala:1)\nCaused by: org.apache.spark.SparkArithmeticException: "
        "[DIVIDE_BY_ZERO] Division by zero. SQLSTATE: 22012\n\tat org.Y(Y.scala:2)\n\t... 3 more\n"
    )
    assert readable(text) == "[DIVIDE_BY_ZERO] Division by zero. SQLSTATE: 22012"


def test_an_error_without_condition_keeps_its_first_line():
    text = (
        "An error occurred while calling o7.sql.\n: java.lang.RuntimeException: the disk is gone\n"
        "\tat java.base/X(X.java:1)\n"
    )
    assert readable(text) == "the disk is gone"


@pytest.mark.parametrize(
    "text",
    [
        "[DELTA_CONCURRENT_APPEND] ConcurrentAppendException: Files were added. SQLSTATE: 2D521",
        "io.delta.exceptions.ConcurrentTransactionException: This error occurs when ...",
        "io.delta.exceptions.MetadataChangedException: [DELTA_METADATA_CHANGED] changed",
        "io.delta.exceptions.ProtocolChangedException: [DELTA_PROTOCOL_CHANGED] changed",
    ],
)
def test_a_commit_conflict_names_the_table(text):
    assert readable(text, "/* dbt */ merge into `shop`.`events` as t using s on 1") == (
        "another run wrote shop.events at the same time: nothing of this batch was applied; "
        "run again"
    )


@pytest.mark.parametrize(
    ("sql", "table"),
    [
        ("insert into t select 1", "t"),
        ("create or replace table `a`.`b` using delta as select 1", "a.b"),
        ("-- update nothing\nmerge with schema evolution into a.b using s", "a.b"),
        ("alter table a.b add columns (c int)", "a.b"),
        ("delete from a.b where true", "a.b"),
        ("optimize a.`history`", "a.history"),
        ("select 1", "the table"),
    ],
)
def test_the_table_that_a_statement_writes(sql, table):
    assert target_table(sql) == table


@pytest.mark.parametrize(
    "text",
    [
        "[DELTA_CREATE_TABLE_WITH_NON_EMPTY_LOCATION] Cannot create table ('a.batch_log').",
        "[TABLE_OR_VIEW_ALREADY_EXISTS] Cannot create table or view. SQLSTATE: 42P07",
        "org.apache.hadoop.hive.metastore.api.AlreadyExistsException: Table batches already exists",
    ],
)
def test_two_runs_that_create_the_ledger_at_once(text):
    sql = "/* {} */ /*floodmark:ledger*/ create table if not exists a.batch_log (model string)"
    assert readable(text, sql) == (
        "another run is creating the ledger at the same time: nothing was loaded; run again"
    )
    assert readable(text, "create table a.b (c int)") != readable(text, sql)


def test_a_cancelled_statement_says_so():
    assert readable("[SPARK_JOB_CANCELLED] Job 3 cancelled SQLSTATE: XXKDA") == CANCELLED
    assert CANCELLED == "cancelled: this statement was stopped before it ended"


def test_derby_is_recognised():
    assert is_derby_locked("ERROR XSDB6: Another instance of Derby may have already booted ...")
    assert not is_derby_locked("anything else")


def test_what_a_future_failed_of():
    text = (
        "Exception thrown in awaitResult: \n\tat org.apache.spark.Threads.awaitResult(Threads.scala:70)\n"
        "Caused by: java.lang.IllegalStateException: the state store is closed\n\tat a.b.C.d(C.scala:1)"
    )
    assert readable(text) == "the state store is closed"


@pytest.mark.parametrize(
    "file",
    [
        "_change_data/cdc-0.c000.snappy.parquet",
        "deletion_vector_1.bin",
        "stage__orders/part-0.parquet",
    ],
)
def test_a_file_that_vacuum_took_is_named_with_the_ways_out(file):
    text = (
        f"[FAILED_READ_FILE.FILE_NOT_EXIST] Encountered error while reading file file:/w/orders/{file}. "
        "File does not exist. SQLSTATE: KD001"
    )
    said = readable(text)
    assert said.startswith(
        f"the file file:/w/orders/{file}, which its table's log names, is gone. VACUUM"
    )
    assert "--full-refresh" in said and "`floodmark reset`" in said


def test_a_file_of_a_stage_is_named_with_the_way_out():
    file = (
        "file:/w/shop_floodmark.db/stage__shop__orders__2__ab12cd34/part-00000.c000.snappy.parquet"
    )
    text = f"[FAILED_READ_FILE.FILE_NOT_EXIST] Encountered error while reading file {file}. SQLSTATE: KD001"
    assert readable(text) == (
        f"the file {file}, which a batch has staged, is gone. The statement wrote nothing. "
        "Run again: where nothing of the batch is applied yet, it is staged anew"
    )


@pytest.mark.parametrize("end", ["__2__ab12cd34", "__2__ab12cd34__judged", "__2__ab12cd34__files"])
def test_a_staging_table_that_another_run_dropped(end):
    """The run has lost its batch: Spark has not refused it."""
    text = (
        f"[TABLE_OR_VIEW_NOT_FOUND] The table or view `shop_floodmark`.`stage__shop__orders{end}` cannot be found. "
        "Verify the spelling. SQLSTATE: 42P01"
    )
    assert readable(text) == (
        f"the staging table stage__shop__orders{end} is gone: another run has taken the batch over, or given it up. "
        "This statement wrote nothing; run again"
    )
    assert is_unsettled(text)
    assert not is_unsettled(text.replace(f"stage__shop__orders{end}", "orders"))


def test_a_list_of_tables_lost_no_batch():
    """dbt-spark knows Spark's own words, and lists again (adapter/listing.py)."""
    text = "[TABLE_OR_VIEW_NOT_FOUND] The table `stage__shop__orders__2__ab12cd34` cannot be found. SQLSTATE: 42P01"
    listing = "/* {} */\nshow table extended in shop_floodmark like '*'"
    assert "TABLE_OR_VIEW_NOT_FOUND" in readable(text, listing)
    assert "is gone" in readable(text, "/* show */ select * from t")


def test_a_file_that_is_no_tables_is_spark_to_name():
    text = "[FAILED_READ_FILE.FILE_NOT_EXIST] Encountered error while reading file file:/in/a.json. SQLSTATE: KD001"
    assert readable(text) == text
