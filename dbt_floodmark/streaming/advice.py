"""What Structured Streaming cannot do, and what to write in its place."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from dbt_common.exceptions import DbtRuntimeError

from dbt_floodmark.refusal import RefusedError, TryAgainError


@dataclass(frozen=True)
class Advice:
    """What to do about an error of Spark's.

    `error` is what a stream ends with: only a `RefusedError` is not tried again.
    """

    text: str
    error: type[DbtRuntimeError] = DbtRuntimeError


#: A pattern in Spark's message, and what to do about it. The first that is found counts.
_ADVICE: Sequence[tuple[str, str] | tuple[str, str, type[DbtRuntimeError]]] = (
    (
        r"Sorting is not supported|Sorting must be",
        "an endless stream cannot be sorted: leave ORDER BY out and sort where the table is read, "
        "or aggregate with output_mode='complete'.",
    ),
    (
        r"[Mm]ultiple streaming aggregations|possible 'correctness' issue due to global watermark",
        "several aggregations or joins, one after another, need output_mode='append' and an "
        "event-time watermark on every stream, or a separate model for each.",
    ),
    (
        r"Append output mode not supported when there are streaming aggregations|"
        r"STREAMING_OUTPUT_MODE\.UNSUPPORTED_OPERATION.*\bappend\b",
        "an aggregation can be appended only once its groups are closed: put a watermark on the "
        "stream (`from stream(...) watermark ts delay of interval 1 hour`) and group by "
        "window(ts, ...), or set output_mode to 'update' or 'complete'.",
    ),
    (
        r"Complete output mode not supported when there are no streaming aggregations|"
        r"STREAMING_OUTPUT_MODE\.UNSUPPORTED_OPERATION.*\bcomplete\b",
        "output_mode='complete' rewrites an aggregation in each batch: without GROUP BY use "
        "'append'.",
    ),
    (
        r"(?:Left|Right|Full) ?[Oo]uter|LeftSemi|stream-stream",
        "an outer join of two streams needs an event-time watermark on both and a time range in "
        "its condition, so that Spark knows when no match can come any more.",
    ),
    (
        r"dropDuplicatesWithinWatermark",
        "unique_key on an append stream drops what comes again within the event-time watermark: "
        "put a watermark on the stream (`from stream(...) watermark ts delay of interval 1 hour`) "
        "and its column into the SELECT, neither cast nor within an expression; or use "
        "incremental_strategy='merge'.",
    ),
    (
        r"NON_TIME_WINDOW_NOT_SUPPORTED|Non-time-based windows",
        "a window function needs all rows at once, which a stream never has: keep the latest row "
        "of a key with incremental_strategy='merge', or compute it in a table downstream.",
    ),
    (
        r"[Ll]imits? (?:are|is) not supported",
        "LIMIT has no meaning on an endless stream: leave it out, and limit where it is read.",
    ),
    (
        r"DELTA_SOURCE_TABLE_IGNORE_CHANGES|DELTA_SOURCE_IGNORE_DELETE",
        "the source table has had rows updated or deleted, which a stream of new rows cannot "
        "follow: read stream(...) with (skipChangeCommits = true) to pass over such commits, or "
        "with (readChangeFeed = true) and incremental_strategy='cdc' to apply them, "
        "where _change_type <> 'update_preimage'.",
    ),
    (
        r"STATE_STORE_(?:KEY|VALUE)_SCHEMA|STATE_STORE_\w*SCHEMA|STATEFUL_OPERATOR_NOT_MATCH|"
        r"sources in the checkpoint offsets|NUM_SOURCES|"
        r"Provided schema doesn't match to the schema for existing state",
        "the SELECT groups, joins or reads differently from the one that its checkpoint was made "
        "with, so the state in the checkpoint does not fit: undo the change, or run with "
        "--full-refresh to start over.",
        RefusedError,
    ),
    (
        r"STATEFUL_OPERATOR_MISSING_STATE_DIRECTORY",
        "the SELECT keeps state (groups, a join of streams, or rows that come once by unique_key), "
        "and its checkpoint has none. If the SELECT did not keep state before, undo the change. If "
        "the folder `state` of the checkpoint is gone, put it back. Or run with --full-refresh to "
        "start over.",
        RefusedError,
    ),
    (
        r"DELTA_SCHEMA_CHANGED|DELTA_STREAMING_(?:INCOMPATIBLE_SCHEMA|SCHEMA_MISMATCH|CANNOT_CONTINUE)",
        "columns of the source table were renamed, dropped or given another type. Run again. If "
        "the message comes back, run with --full-refresh to read what is there now.",
        TryAgainError,
    ),
    (
        r"Permission denied|Read-only file system|AccessControlException|"
        r"[Mm]kdirs? (?:of .* )?failed",
        "the stream cannot write to the folder of its checkpoint or of its table: let the user "
        "that runs dbt write there.",
    ),
    (
        r"DIFFERENT_DELTA_TABLE_READ_BY_STREAMING_SOURCE",
        "a source of the SELECT is not the table that its checkpoint has read in that place. If "
        "the SELECT was changed, undo the change: the order of its sources counts, too, as in a "
        "UNION ALL. If the table was dropped and recreated, run the model with --full-refresh to "
        "start over.",
        RefusedError,
    ),
    (
        r"DELTA_VIOLATE_CONSTRAINT|DELTA_NOT_NULL_CONSTRAINT_VIOLATED",
        "the table refuses a row. The stream reads the same rows again, even if you correct them "
        "upstream: change the constraint, correct or leave out the rows in the SELECT, or correct "
        "them upstream and run once with --full-refresh.",
    ),
    (
        r"CONCURRENT_STREAM_LOG_UPDATE|Concurrent update to the log|Multiple streaming jobs",
        "another process runs this stream on the same checkpoint: stop one of the two.",
    ),
    (
        r"DELTA_FILE_NOT_FOUND|DELTA_MISSING_FILES|"
        r"DELTA_VERSIONS_NOT_CONTIGUOUS|logs have been deleted|log files? [^\n]* deleted",
        "what the stream still has to read is gone from its source (VACUUM, or an expired log): "
        "run with --full-refresh to read what is there now.",
        RefusedError,
    ),
    (
        r"FILE_NOT_EXIST|no longer exists|[Ff]ile [^\n]* does not exist",
        "a file that the stream reads is gone, from its source or from a table that it joins. Run "
        "again. If the message comes back, run with --full-refresh to read what is there now.",
        TryAgainError,
    ),
)


#: What Spark prints behind an error: its SELECT, the sources and the plan, up to the stack. Of a
#: SELECT that it cannot analyse the plan follows a semicolon at a line's end.
_QUERY = re.compile(
    r"(?:\n(?:=== Streaming Query ===|Logical Plan:)|;\n(?!\s*(?:Caused by: |at ))['!~]*[A-Z]\w*)"
    r".*?(?=\n\s+at [\w.$/]+\(|\n\s*Caused by: |\Z)",
    re.DOTALL,
)


def explain(text: str) -> Advice | None:
    """Return what to write instead of what Spark refuses in `text`, or None.

    Only its messages count, and not the words of the query.
    """
    text = _QUERY.sub("", text)
    for pattern, *advice in _ADVICE:
        if re.search(pattern, text, re.DOTALL):
            return Advice(*advice)
    return None
