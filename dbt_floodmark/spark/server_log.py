"""The log of our own Spark Thrift server: it has all of an error, of which Hive sends a part."""

from __future__ import annotations

import re
from pathlib import Path

#: How much of the log's end is looked at: an error stands there before the client hears of it.
_TAIL = 1 << 20
_HIVE = re.compile(r"^Error running query: (?:\[[A-Z][A-Z0-9_.]*\] )?")
_NEXT = re.compile(r"\n\d{4}-\d\d-\d\d \d\d:\d\d:\d\d [A-Z]+ ")


def whole_error(message: str, log: Path) -> str:
    """Return an error with its chain of causes, as the log has it; else the message as it came.

    Hive sends the text of the outermost exception alone. A full disk, a record that cannot be
    parsed and a file that is no Parquet are told further down.
    """
    outermost = _HIVE.sub("", message).strip()
    if outermost == message.strip():
        return message
    try:
        with log.open("rb") as file:
            file.seek(0, 2)
            file.seek(max(file.tell() - _TAIL, 0))
            tail = file.read().decode("utf-8", "replace")
    except OSError:
        return message
    at = tail.rfind(f"\n{outermost}\n")
    if at < 0:
        return message
    told = tail[at + 1 :]
    end = _NEXT.search(told)
    return told[: end.start()] if end else told
