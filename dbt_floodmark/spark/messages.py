"""Turn what Spark, Hive and Delta throw into one sentence that can be read."""

from __future__ import annotations

import re

from dbt_floodmark.spark.stores import of_store

#: Where the JVM's stack begins; a line of a text that begins with "at" is none.
_STACK = re.compile(
    r"\n\s+at (?:[\w.@-]+/{1,2})*[\w.$<>/+-]+\(|\n\s*JVM stacktrace:"
    r"|\n\s*\.\.\. \d+ (?:common frames omitted|more)|\n\s*Driver stacktrace:|\n\s*Suppressed: "
)
_CAUSED_BY = re.compile(r"\n\s*Caused by: ")
#: The name of an exception's class before its message, looked for where a word begins: from each
#: letter of a long value on, the search would take minutes.
_CLASS = r"(?<![\w$.])(?:[\w$]+\.)+[\w$]*(?:Exception|Error)[\w$]*:\s*"
#: An error's text that is said again behind the name of its class.
_SAID_AGAIN = re.compile(r"\n" + _CLASS)
_CONDITION = re.compile(r"\[[A-Z][A-Z0-9_]*(?:\.[A-Z0-9_]+)*\] ")
_SQLSTATE = re.compile(r"SQLSTATE: [0-9A-Z]{5}")
_POSITION = re.compile(r";?\s*(?:\(|== SQL.*?)?line (\d+),? pos(?:ition)? (\d+)\)?", re.DOTALL)
_EXCEPTION_NAME = re.compile("^" + _CLASS)
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
_GONE = re.compile(r"FAILED_READ_FILE\.FILE_NOT_EXIST\b[^\n]*?(?<!\S)(\S+\.(?:parquet|bin))\b")
#: The table of a stage, by the path of its file: it ends in the batch and the runs that wrote it.
_STAGE = re.compile(r"/(stage__[^/]+__\d+(?:__[0-9a-f]{8}){1,2})/")
#: A staging table that is not there any more, by its name.
_STAGE_GONE = re.compile(r"TABLE_OR_VIEW_NOT_FOUND\][^\n]*?`(stage__[^`]+__\d+(?:__\w+)*)`")
#: What the operating system says of a disk, as an exception's own message: not in values.
_BY_THE_SYSTEM = r"(?:Exception|Error|\berror(?:=28)?\b)[:,] (?:[^\[\n'\"]|\[Errno \d+\])*?"
_FULL = re.compile(
    _BY_THE_SYSTEM + r"(?:No space left on device|Disk quota exceeded|not enough space on the disk)"
)
_CLOSED = re.compile(_BY_THE_SYSTEM + r"(Read-only file system|Permission denied)")
_QUOTED_TEXT = re.compile(r"USER_RAISED_EXCEPTION|^\s*- ")
_QUOTED_VALUE = re.compile(r"'[^']*'|\"[^\"]*\"")
#: The folder or file that was written meanwhile.
_WRITTEN = re.compile(
    r"writing rows to (\S+?)\.?(?=\s|$)"
    r"|(?:Exception|Error): ((?:\w+:)?/\S+?):? \(?(?:No space left|Read-only|Permission denied)"
)
#: The longest that an error without a SQL state may be, and what may be added of its cause.
_LONGEST, _LONGEST_CAUSE = 1500, 400
_IN_THE_LOG = (
    " (the log of the Spark server names the cause: a full disk, or a folder it may not write)"
)
_STORE_IN_THE_LOG = (
    " (the log of the Spark server names the cause: a path without a connector, or a store that "
    "denies access or does not answer)"
)
#: A name that Hadoop cannot list where a path is a pattern.
_COLON = re.compile(r"Relative path in absolute URI: ([^\n]*)")
_DERBY = re.compile(r"XSDB6|Another instance of Derby may have already booted")
_CANCELLED = re.compile(
    r"SPARK_JOB_CANCELLED|cancelled part of cancelled job group|OPERATION_CANCELED|"
    r"java\.lang\.InterruptedException|Query failed with status: CANCELED_STATE"
)
_TARGET = re.compile(
    r"\b(?:merge\s+(?:with\s+schema\s+evolution\s+)?into|insert\s+(?:with\s+schema\s+evolution\s+)?"
    r"(?:into|overwrite)|delete\s+from|update|optimize|(?:create|replace|alter|drop|truncate)\s+table"
    r"(?:\s+if\s+(?:not\s+)?exists)?)\s+(?:table\s+)?([`\w.]+)",
    re.IGNORECASE,
)
_LISTS = re.compile(r"\s*show\s", re.IGNORECASE)
_COMMENTS = re.compile(r"/\*.*?\*/|--[^\n]*", re.DOTALL)

#: What the statements that create the ledger carry (macros/ledger/create_ledger.sql).
LEDGER_MARK = "/*floodmark:ledger*/"

#: What Hive says on a database without its tables, and what it means.
VERSION_NOT_FOUND = "Version information not found"
NO_HIVE_TABLES = (
    "The metastore's database has none of Hive's tables yet: create them once with "
    "`floodmark setup --metastore TARGET`, where TARGET is the target of the profile."
)

CANCELLED = "cancelled: this statement was stopped before it ended"


def is_derby_locked(text: str) -> bool:
    """Tell whether Derby refused a second process."""
    return bool(_DERBY.search(text))


def is_unsettled(text: str) -> bool:
    """Tell whether a statement was cancelled or met another writer: its batch is not refused."""
    said = heads(text)
    return bool(_CONFLICT.search(said) or _CANCELLED.search(said) or _STAGE_GONE.search(text))


def heads(text: str) -> str:
    """Return what opens each cause in an error's text, up to its condition: class and condition.

    What follows may hold anything: values of rows, what a SELECT raises, a plan with its texts.
    """
    found = []
    for cause in _CAUSED_BY.split(text):
        line = _PY4J.sub("", _own_text(cause).strip()).partition("\n")[0]
        condition = _CONDITION.search(line)
        found.append(line[: condition.end()] if condition else line)
    return "\n".join(found)


def target_table(sql: str) -> str:
    """Return the table a statement writes, as it stands there, or 'the table'."""
    match = _TARGET.search(_COMMENTS.sub(" ", sql))
    return match.group(1).replace("`", "") if match else "the table"


def readable(text: str, sql: str = "") -> str:
    """Return the sentence in an error's text: condition, message, SQL state, position.

    ``sql`` is the statement that failed; it names the table in a commit conflict.
    """
    text = "\n".join(map(_shortened, text.split("\n")))
    said = heads(text)
    if LEDGER_MARK in sql and (_CONFLICT.search(said) or _ALREADY_THERE.search(text)):
        return "another run is creating the ledger at the same time: nothing was loaded; run again"
    if _CONFLICT.search(said):
        return (
            f"another run wrote {target_table(sql)} at the same time: "
            "nothing of this batch was applied; run again"
        )
    if _CANCELLED.search(said):
        return CANCELLED
    # A list of tables reads each, and names those that are dropped meanwhile: it is made again.
    taken = _STAGE_GONE.search(text) if not _LISTS.match(_COMMENTS.sub(" ", sql)) else None
    if taken:
        return (
            f"the staging table {taken.group(1)} is gone: another run has taken the batch over, or "
            "given it up. This statement wrote nothing; run again"
        )
    full = _full_disk(text, sql)
    if full:
        return full
    closed = _closed_folder(text, sql)
    if closed:
        return closed
    store = of_store(text)
    if store:
        return store
    colon = _COLON.search(text)
    if colon:
        return (
            f"{colon.group(1)} has a colon in its name, which Spark cannot list where a path is a "
            "pattern (*, ?, [ or { in it). Name only the folder in the path, and the files in "
            "glob; or rename the file, for example to "
            f"{colon.group(1).replace(':', '-')}"
        )
    gone = _GONE.search(text)
    if gone:
        if _STAGE.search(gone.group(1)):
            return (
                f"the file {gone.group(1)}, which a batch has staged, is gone. The statement wrote "
                "nothing. Run again: where nothing of the batch is applied yet, it is staged anew"
            )
        return (
            f"the file {gone.group(1)}, which its table's log names, is gone. VACUUM removes files "
            "of earlier versions, after a week by default. If the model reads what changed since "
            "then, run it once with --full-refresh to load everything again, or set its mark with "
            "`floodmark reset`. After that, run it before VACUUM removes what it still has to read"
        )
    sentence, cause = _innermost(text)
    state = _SQLSTATE.search(sentence)
    if state is None:
        return _bounded(_folded(sentence), _LONGEST) + _because(cause, sentence)
    position = _POSITION.search(sentence, state.end())
    where = f" (line {position.group(1)}, position {position.group(2)})" if position else ""
    return _folded(sentence[: state.end()]) + where + _because(cause, sentence)


def _shortened(line: str) -> str:
    """A line without the middle of what is too long to be shown: patterns take long over values."""
    half = 2 * _LONGEST
    return line if len(line) <= 2 * half else f"{line[:half]} … {line[-half:]}"


def _full_disk(text: str, sql: str) -> str | None:
    """Say that a disk is full, and which, where that is what the text tells."""
    if _by_the_system(_FULL, text) is None:
        return None
    place = _written_place(text, sql)
    what = f"while {place} was written" if place else "while the statement ran"
    return (
        f"the disk is full: no space was left on the device {what}. Make room there, and on the "
        "disk of Spark's own files (spark.local.dir), and run again: `floodmark maintain` removes "
        "files that tables do not need any more"
    )


def _closed_folder(text: str, sql: str) -> str | None:
    """Say which folder is closed to Spark, and how, where that is what the text tells."""
    found = _by_the_system(_CLOSED, text)
    if found is None:
        return None
    place = _written_place(text, sql) or "a file that the statement needs"
    if found.group(1) == "Permission denied":
        return (
            f"permission denied at {place}: nothing was written. Give the user that runs Spark "
            "access to it, and run again"
        )
    return (
        f"{place} is on a read-only file system: nothing was written. Mount it for writing, and "
        "run again"
    )


def _by_the_system(said: re.Pattern[str], text: str) -> re.Match[str] | None:
    """Find what the operating system says in an error's text, outside of values."""
    lines = [line for line in text.splitlines() if not _QUOTED_TEXT.search(line)]
    found = (said.search(_QUOTED_VALUE.sub("", line)) for line in lines)
    return next(filter(None, found), None)


def _written_place(text: str, sql: str) -> str:
    """Return the folder, file or table that was written; '' where nothing tells."""
    written = _WRITTEN.search(text)
    if written:
        return written.group(1) or written.group(2)
    table = target_table(sql)
    return "" if table == "the table" else table


def root_cause(text: str) -> str:
    """Return the message of the last cause in a Java exception's text, in one line."""
    last = _CAUSED_BY.split(text)[-1]
    lines = _bare(_own_text(last)).splitlines()
    return (lines[0] if lines else "").rstrip(". ")


def _innermost(text: str) -> tuple[str, str]:
    """The part of a chain of causes that says most, and what lies below it.

    That is the last one with an error condition; where none has one, the first that says something.
    """
    causes = _CAUSED_BY.split(text)
    for number, cause in reversed(list(enumerate(causes))):
        body = _own_text(cause)
        conditions = list(_CONDITION.finditer(body))
        if conditions:
            below = causes[-1] if number < len(causes) - 1 else ""
            return body[_start(body, conditions) :], below
    # What only says that a future failed says nothing.
    told = [cause for cause in causes if not _FUTURE.search(_own_text(cause))] or causes
    return _bare(_own_text(told[0])), told[-1] if len(told) > 1 else ""


def _own_text(cause: str) -> str:
    return _STACK.split(cause, maxsplit=1)[0]


def _start(body: str, conditions: list[re.Match[str]]) -> int:
    # Hive repeats the condition before the exception's name, and pyspark the whole text: the last
    # time before the first SQL state opens the message. Other words in brackets are of its values.
    state = _SQLSTATE.search(body)
    end = state.start() if state else len(body)
    first = conditions[0]
    same = [one.start() for one in conditions if one.group() == first.group()]
    named = [at for at in same if at < end and re.search(_CLASS + r"$", body[:at])]
    return named[-1] if named else first.start()


def _bare(text: str) -> str:
    """A text without what Hive, py4j and Java write before it."""
    bare = _PY4J.sub("", text.strip())
    previous = None
    while previous != bare:
        previous = bare
        bare = _HIVE.sub("", _EXCEPTION_NAME.sub("", bare)).strip()
    bare = _SAID_AGAIN.split(bare, maxsplit=1)[0].strip()
    return bare or text.strip() or "Spark failed without a message"


def _because(cause: str, sentence: str) -> str:
    """What lies below a sentence in its chain of causes, where it says something else."""
    own = _own_text(cause).strip()
    told = "" if re.fullmatch(r"[\w$.]*", own) else _folded(_bare(own))
    if told and told not in _folded(sentence):
        return f" (cause: {_bounded(told, _LONGEST_CAUSE)})"
    # A Thrift server sends the outermost cause alone.
    if cause:
        return ""
    if sentence.startswith("[FAILED_TO_CREATE_PLAN_FOR_DIRECT_QUERY]"):
        return _STORE_IN_THE_LOG
    return _IN_THE_LOG if sentence.startswith("[TASK_WRITE_FAILED]") else ""


def _folded(text: str) -> str:
    """A text in one line; the lines of a list become its members."""
    listed = re.sub(r":\s*\n\s*- ", ": ", text.strip())
    listed = re.sub(r"\s*\n\s*- (?=[^\n]* : )", ", ", listed)
    return re.sub(r"\s+", " ", listed).strip()


def _bounded(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 2].rstrip() + " …"
