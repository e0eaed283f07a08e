"""Turn what Spark, Hive and Delta throw into one sentence that can be read."""

from __future__ import annotations

import re

_STACK = re.compile(r"\n\s+at |\n\s*JVM stacktrace:|\n\s*\.\.\. \d+ more")
_CONDITION = re.compile(r"\[[A-Z][A-Z0-9_]*(?:\.[A-Z0-9_]+)*\] ")
_SQLSTATE = re.compile(r"SQLSTATE: [0-9A-Z]{5}")
_POSITION = re.compile(r";?\s*(?:\(|== SQL.*?)?line (\d+),? pos(?:ition)? (\d+)\)?", re.DOTALL)
_EXCEPTION_NAME = re.compile(r"^(?:[\w$]+\.)+[\w$]*(?:Exception|Error):\s*")
_PY4J = re.compile(r"^An error occurred while calling [^\n]*\n:\s*")
_FUTURE = re.compile(r"Exception thrown in awaitResult:?\s*$")
_HIVE = re.compile(r"^Error running query:\s*")

_CONFLICT = re.compile(
    r"DELTA_CONCURRENT_\w+|DELTA_METADATA_CHANGED|DELTA_PROTOCOL_CHANGED|DELTA_CONCURRENT_TRANSACTION"
    r"|Concurrent(?:Append|DeleteRead|DeleteDelete|Transaction|Write|Modification)Exception"
    r"|MetadataChangedException|ProtocolChangedException"
)
_ALREADY_THERE = re.compile(
    r"DELTA_CREATE_TABLE_WITH_NON_EMPTY_LOCATION|DELTA_TABLE_ALREADY_EXISTS|"
    r"(?:TABLE_OR_VIEW|SCHEMA)_ALREADY_EXISTS|AlreadyExistsException"
)
#: A file that a Delta table's log names, and that is not there.
_GONE = re.compile(r"FAILED_READ_FILE\.FILE_NOT_EXIST\b[^\n]*?(\S*/\S+\.(?:parquet|bin))\b")
#: The table of a stage, by the path of its file: it ends in the batch and the runs that wrote it.
_STAGE = re.compile(r"/(stage__[^/]+__\d+(?:__[0-9a-f]{8}){1,2})/")
#: A name that Hadoop cannot list where a path is a pattern.
_COLON = re.compile(r"Relative path in absolute URI: ([^\n]*)")
_DERBY = re.compile(r"XSDB6|Another instance of Derby may have already booted")
_CANCELLED = re.compile(
    r"SPARK_JOB_CANCELLED|cancelled part of cancelled job group|OPERATION_CANCELED|"
    r"java\.lang\.InterruptedException|Query failed with status: CANCELED_STATE"
)
_TARGET = re.compile(
    r"\b(?:merge\s+(?:with\s+schema\s+evolution\s+)?into|insert\s+(?:with\s+schema\s+evolution\s+)?"
    r"(?:into|overwrite)|delete\s+from|update|(?:create|replace|alter|drop|truncate)\s+table"
    r"(?:\s+if\s+(?:not\s+)?exists)?)\s+(?:table\s+)?([`\w.]+)",
    re.IGNORECASE,
)
_COMMENTS = re.compile(r"/\*.*?\*/|--[^\n]*", re.DOTALL)

#: What the statements that create the ledger carry (macros/ledger/create_ledger.sql).
LEDGER_MARK = "/*floodmark:ledger*/"

#: What Hive says on a database without its tables, and what it means.
VERSION_NOT_FOUND = "Version information not found"
NO_HIVE_TABLES = (
    "The metastore's database has none of Hive's tables yet: make them once with "
    "`floodmark setup --metastore TARGET`, which names the target of the profile."
)

CANCELLED = "cancelled: this statement was stopped before it ended"


def is_derby_locked(text: str) -> bool:
    """Tell whether Derby refused a second process."""
    return bool(_DERBY.search(text))


def target_table(sql: str) -> str:
    """Return the table a statement writes, as it stands there, or 'the table'."""
    match = _TARGET.search(_COMMENTS.sub(" ", sql))
    return match.group(1).replace("`", "") if match else "the table"


def readable(text: str, sql: str = "") -> str:
    """Return the sentence in an error's text: condition, message, SQL state, position.

    ``sql`` is the statement that failed; it names the table in a commit conflict.
    """
    if LEDGER_MARK in sql and (_CONFLICT.search(text) or _ALREADY_THERE.search(text)):
        return "another run is creating the ledger at the same time: nothing was loaded; run again"
    if _CONFLICT.search(text):
        return (
            f"another run wrote {target_table(sql)} at the same time: "
            "nothing of this batch was applied; run again"
        )
    if _CANCELLED.search(text):
        return CANCELLED
    colon = _COLON.search(text)
    if colon:
        return (
            f"{colon.group(1)} has a colon in its name, which Spark cannot list where a path is a "
            "pattern (*, ?, [ or { in it): name the folder itself as the path, and the files by "
            "glob; or rename it, such as to "
            f"{colon.group(1).replace(':', '-')}"
        )
    gone = _GONE.search(text)
    if gone:
        stage = _STAGE.search(gone.group(1))
        if stage:
            return (
                f"the file {gone.group(1)} is gone, which a batch has staged: the statement wrote "
                f"nothing. Drop table {stage.group(1)} of the ledger's schema and run again, so "
                "that the batch is staged anew; a model of cdc, which may have written half of its "
                "batch, needs --full-refresh"
            )
        return (
            f"the file {gone.group(1)} is gone, which its table's log names: VACUUM takes files "
            "of earlier versions away, after a week by default. Where a model reads what changed "
            "since then, run it once with --full-refresh to load everything again, or set its mark "
            "with `floodmark reset`; then run it more often than files are kept"
        )
    sentence = _innermost(text)
    state = _SQLSTATE.search(sentence)
    if state is None:
        return _first_line(sentence)
    position = _POSITION.search(sentence, state.end())
    where = f" (line {position.group(1)}, position {position.group(2)})" if position else ""
    return _one_line(sentence[: state.end()]) + where


def root_cause(text: str) -> str:
    """Return the message of the last cause in a Java exception's text, in one line."""
    last = re.split(r"\n\s*Caused by: ", text)[-1]
    return _first_line(_STACK.split(last, maxsplit=1)[0]).rstrip(". ")


def _innermost(text: str) -> str:
    """The part of a chain of causes that says most: the last one with an error condition."""
    causes = re.split(r"\n\s*Caused by: ", text)
    for cause in reversed(causes):
        body = _STACK.split(cause, maxsplit=1)[0]
        conditions = [match for match in _CONDITION.finditer(body)]
        if conditions:
            return body[_start(body, conditions) :]
    # What only says that a future failed says nothing.
    told = [cause for cause in causes if not _FUTURE.search(_STACK.split(cause, maxsplit=1)[0])]
    return _STACK.split((told or causes)[0], maxsplit=1)[0]


def _start(body: str, conditions: list[re.Match[str]]) -> int:
    # Hive repeats the condition before the exception's name: the last one before the first
    # SQL state opens the message; those after it belong to the quoted plan.
    state = _SQLSTATE.search(body)
    end = state.start() if state else len(body)
    before = [match.start() for match in conditions if match.start() < end]
    return before[-1] if before else conditions[0].start()


def _first_line(text: str) -> str:
    line = _PY4J.sub("", text.strip())
    previous = None
    while previous != line:
        previous = line
        line = _HIVE.sub("", _EXCEPTION_NAME.sub("", line)).strip()
    lines = [part.strip() for part in line.splitlines() if part.strip()]
    return lines[0] if lines else (text.strip() or "Spark failed without a message")


def _one_line(text: str) -> str:
    return re.sub(r"\s+", " ", text).strip()
