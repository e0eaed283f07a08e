"""Errors of several lines keep what names column, row, constraint and file; a full disk is called one."""

from __future__ import annotations

import pytest

from dbt_floodmark.spark.messages import CANCELLED, heads, is_derby_locked, is_unsettled, readable

DELTA = "org.apache.spark.sql.delta.schema.DeltaInvariantViolationException"
STACK = (
    "\n\tat org.apache.spark.sql.delta.constraints.CheckDeltaInvariant.eval(CheckDeltaInvariant.scala:64)"
    "\n\tat java.base/java.lang.Thread.run(Thread.java:840)\n\t... 3 more\n"
)


def session(name: str, text: str, below: str = "") -> str:
    """An error as py4j carries it."""
    return f"An error occurred while calling o85.sql.\n: {name}: {text}{STACK}{below}"


def captured(name: str, text: str) -> str:
    """An error as pyspark captures it: its text, then the same with its class and stack."""
    return f"{text}\n{name}: {text}{STACK}"


def thrift(name: str, text: str) -> str:
    """An error as Spark's Thrift server wraps it."""
    condition = text.partition("] ")[0] + "] " if text.startswith("[") else ""
    return f"Error running query: {condition}{name}: {text}"


FORMS = pytest.mark.parametrize("form", [session, captured, thrift])


@FORMS
def test_a_row_that_a_constraint_refuses_is_shown(form):
    text = (
        "[DELTA_VIOLATE_CONSTRAINT_WITH_VALUES] CHECK constraint positive (a > 0 AND b > 0) violated by row "
        "with values:\n - a : -1\n - b : [NOT_A_CONDITION] x\n - c : Caused by a fault"
    )
    assert readable(form(DELTA, text)) == (
        "[DELTA_VIOLATE_CONSTRAINT_WITH_VALUES] CHECK constraint positive (a > 0 AND b > 0) violated by row "
        "with values: a : -1, b : [NOT_A_CONDITION] x, c : Caused by a fault"
    )


@FORMS
def test_the_column_of_a_not_null_constraint(form):
    text = "[DELTA_NOT_NULL_CONSTRAINT_VIOLATED] NOT NULL constraint violated for column: s.x.\n"
    assert readable(form(DELTA, text)) == text.strip()


@FORMS
def test_all_lines_of_a_text_without_a_state(form):
    text = (
        "[DELTA_METADATA_MISMATCH] A metadata mismatch.\n\nData schema:\nroot\n |-- nope: integer"
    )
    said = readable(form("org.apache.spark.sql.delta.DeltaAnalysisExceptionWithSubErrors", text))
    assert (
        said == "[DELTA_METADATA_MISMATCH] A metadata mismatch. Data schema: root |-- nope: integer"
    )


@FORMS
def test_lines_that_begin_like_a_stack_belong_to_the_text(form):
    text = "[USER_RAISED_EXCEPTION] line one\n  at noon\n  at (the) end SQLSTATE: P0001"
    assert readable(form("org.apache.spark.SparkRuntimeException", text)) == (
        "[USER_RAISED_EXCEPTION] line one at noon at (the) end SQLSTATE: P0001"
    )


@FORMS
def test_no_text_is_endless(form):
    text = "[DELTA_VIOLATE_CONSTRAINT_WITH_VALUES] violated:\n - a : " + "x" * 100_000
    assert len(readable(form(DELTA, text))) <= 1500
    assert readable(form(DELTA, text)).endswith(" …")


def test_the_file_and_the_record_are_kept_from_below():
    below = (
        "Caused by: org.apache.spark.SparkException: [FAILED_READ_FILE.NO_HINT] Encountered error while "
        "reading file file:/in/a%20b.json. SQLSTATE: KD001" + STACK + "Caused by: "
        "java.lang.RuntimeException: file:/in/a b.json is not a Parquet file.\nExpected magic number at tail"
        + STACK
    )
    said = readable(
        session("org.apache.spark.SparkException", "Job aborted due to stage failure", below)
    )
    assert said == (
        "[FAILED_READ_FILE.NO_HINT] Encountered error while reading file file:/in/a%20b.json. SQLSTATE: KD001 "
        "(cause: file:/in/a b.json is not a Parquet file. Expected magic number at tail)"
    )


def test_a_cause_without_a_condition_is_told():
    below = "Caused by: java.io.FileNotFoundException: /in/secret (Connection reset)" + STACK
    said = readable(session("java.lang.RuntimeException", "cannot list", below))
    assert said == "cannot list (cause: /in/secret (Connection reset))"


def test_a_cause_that_says_nothing_adds_nothing():
    below = "Caused by: java.lang.NullPointerException" + STACK
    assert readable(session("java.lang.RuntimeException", "cannot list", below)) == "cannot list"


FULL = "java.io.IOException: No space left on device"


@pytest.mark.parametrize(
    ("text", "place"),
    [
        (
            session(
                "org.apache.spark.SparkException",
                "[TASK_WRITE_FAILED] Task failed while writing rows to file:/w/shop.db/t. SQLSTATE: 58030",
                f"Caused by: org.apache.hadoop.fs.FSError: {FULL}{STACK}Caused by: {FULL}{STACK}",
            ),
            "while file:/w/shop.db/t was written",
        ),
        (f"Error running query: org.apache.hadoop.fs.FSError: {FULL}", "while a.b was written"),
        (
            "Error running query: org.apache.spark.SparkException: Job aborted due to stage failure: Task 0 in "
            f"stage 3.0 failed 1 times, most recent failure: Lost task 0.0: {FULL}\n\tat a.B.c(B.java:1)",
            "while a.b was written",
        ),
        (
            session(
                "java.io.FileNotFoundException", "/tmp/blockmgr/0a/temp (No space left on device)"
            ),
            "while /tmp/blockmgr/0a/temp was written",
        ),
        (
            "org.rocksdb.RocksDBException: IO error: No space left on device: While appending to file: /x",
            "while a.b was written",
        ),
        (
            "java.nio.file.FileSystemException: /tmp/x: Disk quota exceeded",
            "while a.b was written",
        ),
        ("OSError: [Errno 28] No space left on device: '/x'", "while a.b was written"),
    ],
)
def test_a_full_disk_is_called_one(text, place):
    said = readable(text, "merge into a.b as t using s on 1")
    assert said == (
        f"the disk is full: no space was left on the device {place}. Make room there, and on the disk of "
        "Spark's own files (spark.local.dir), and run again: `floodmark maintain` removes files that tables "
        "do not need any more"
    )


@FORMS
@pytest.mark.parametrize(
    "text",
    [
        "[USER_RAISED_EXCEPTION] java.io.IOException: No space left on device SQLSTATE: P0001",
        "[CAST_INVALID_INPUT] The value 'Error: No space left on device' cannot be cast. SQLSTATE: 22018",
        "[DELTA_VIOLATE_CONSTRAINT_WITH_VALUES] violated by row with values:\n - a : java.io.IOException: "
        "No space left on device",
    ],
)
def test_a_value_that_speaks_of_a_full_disk_is_none(form, text):
    assert "the disk is full" not in readable(form(DELTA, text))


READ_ONLY = "java.io.FileNotFoundException: /w/shop.db/t/part-0.parquet (Read-only file system)"


@pytest.mark.parametrize(
    ("text", "what"),
    [
        (
            session(
                "org.apache.spark.SparkException",
                "[TASK_WRITE_FAILED] Task failed while writing rows to file:/w/shop.db/t. SQLSTATE: 58030",
                f"Caused by: {READ_ONLY}{STACK}",
            ),
            "file:/w/shop.db/t is on a read-only file system: nothing was written. Mount it for writing",
        ),
        (
            "Error running query: org.apache.spark.SparkException: Job aborted due to stage failure: Task 0 in "
            f"stage 3.0 failed 1 times, most recent failure: Lost task 0.0: {READ_ONLY}\n\tat a.B.c(B.java:1)",
            "/w/shop.db/t/part-0.parquet is on a read-only file system: nothing was written. Mount it for writing",
        ),
        (
            "java.nio.file.FileSystemException: /w/t/_delta_log/.00.json: Read-only file system",
            "/w/t/_delta_log/.00.json is on a read-only file system: nothing was written. Mount it for writing",
        ),
        (
            "java.io.FileNotFoundException: /w/t/_delta_log/00.json (Permission denied)",
            "permission denied at /w/t/_delta_log/00.json: nothing was written. Give the user that runs Spark access to it",
        ),
        (
            "org.rocksdb.RocksDBException: IO error: Permission denied: While opening a file",
            "permission denied at a.b: nothing was written. Give the user that runs Spark access to it",
        ),
    ],
)
def test_a_folder_that_is_closed_to_spark_is_called_that(text, what):
    assert readable(text, "merge into a.b as t using s on 1") == f"{what}, and run again"


@FORMS
@pytest.mark.parametrize("said", ["Read-only file system", "Permission denied"])
def test_a_value_that_speaks_of_a_closed_folder_is_none(form, said):
    text = f"[USER_RAISED_EXCEPTION] java.io.IOException: {said} SQLSTATE: P0001"
    assert "nothing was written" not in readable(form(DELTA, text))


@FORMS
@pytest.mark.parametrize(
    "text",
    [
        "[DELTA_VIOLATE_CONSTRAINT_WITH_VALUES] CHECK constraint short (length(message) < 9) violated by row "
        "with values:\n - message : @",
        "[DELTA_VIOLATE_CONSTRAINT_WITH_VALUES] violated by row with values:\n - a : x\n - b : [NO_CONDITION] @",
        "[USER_RAISED_EXCEPTION] `n` is int in the table and cannot hold: @ SQLSTATE: P0001",
        "[UNRESOLVED_COLUMN.WITH_SUGGESTION] A column `nope` cannot be resolved. SQLSTATE: 42703; line 1 pos 7;\n"
        "'Project ['nope]\n+- Filter message#1 LIKE %@%",
    ],
)
@pytest.mark.parametrize(
    "said",
    [
        "java.lang.InterruptedException: sleep",
        "java.util.ConcurrentModificationException",
        "[DELTA_CONCURRENT_APPEND] y",
        "ERROR XSDB6: Another instance of Derby may have already booted the database",
    ],
)
def test_a_value_that_speaks_of_another_writer_is_none(form, text, said):
    whole = form("org.apache.spark.SparkException", text.replace("@", said))
    assert not is_unsettled(whole)
    assert readable(whole).startswith(text.partition(" ")[0])
    assert not is_derby_locked(heads(whole))


WRITER = "io.delta.exceptions.ConcurrentAppendException"


@pytest.mark.parametrize(
    ("text", "is_cancelled"),
    [
        (session("java.lang.InterruptedException", ""), True),
        (session("org.apache.spark.SparkException", "Job 3 cancelled part of cancelled job group a"), True),
        (thrift("org.apache.spark.SparkException", "[SPARK_JOB_CANCELLED] Job 3 cancelled"), True),
        ("Query failed with status: CANCELED_STATE", True),
        (
            session("org.apache.spark.SparkException", "[TASK_WRITE_FAILED] x", "Caused by: java.lang.InterruptedException"),
            True,
        ),
        (session(WRITER, "This error occurs when two run at once"), False),
        (thrift(WRITER, "[DELTA_CONCURRENT_APPEND.WITHOUT_HINT] Files were added"), False),
        (
            captured(
                "org.apache.spark.sql.streaming.StreamingQueryException",
                "[STREAM_FAILED] Query [id = 1] terminated with exception: x\n=== Streaming Query ===",
            )
            + f"Caused by: {WRITER}: [DELTA_CONCURRENT_APPEND] Files were added",
            False,
        ),
    ],
)  # fmt: skip
def test_another_writer_and_an_end_are_known_by_what_opens_a_cause(text, is_cancelled):
    assert is_unsettled(text)
    assert (readable(text) == CANCELLED) is is_cancelled
    assert ("another run wrote" in readable(text)) is not is_cancelled


def test_a_metastore_that_another_process_holds():
    below = f"Caused by: ERROR XSDB6: Another instance of Derby may have already booted{STACK}"
    text = session("java.lang.RuntimeException", "Unable to instantiate the client", below)
    assert is_derby_locked(heads(text))


def test_thrift_keeps_the_cause_of_a_failed_write_to_itself():
    text = "[TASK_WRITE_FAILED] Task failed while writing rows to file:/w/t. SQLSTATE: 58030"
    assert readable(thrift("org.apache.spark.SparkException", text)) == (
        f"{text} (the log of the Spark server names the cause: a full disk, or a folder it may not write)"
    )
