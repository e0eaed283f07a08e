"""A clock that is ahead: dbt's for a while, and that of the writer of a table's newest commit."""

from __future__ import annotations

import datetime
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.support.harness import Project


@contextmanager
def ahead(**by: float) -> Iterator[None]:
    """Let macros see a clock that is ahead of the machine's: `ahead(days=1)`."""
    from dbt.context import base

    original = base.get_datetime_module_context

    class Ahead(datetime.datetime):
        @classmethod
        def now(cls, tz: datetime.tzinfo | None = None) -> Any:
            return datetime.datetime.now(tz) + datetime.timedelta(**by)

    base.get_datetime_module_context = lambda: original() | {"datetime": Ahead}
    try:
        yield
    finally:
        base.get_datetime_module_context = original


def date_newest_commit_ahead(project: Project, relation: str, **by: float) -> None:
    """Rewrite the time of a Delta table's newest commit, as a writer with a clock ahead would have left it."""
    milliseconds = int(datetime.timedelta(**by).total_seconds() * 1000)
    location = project.sql(f"describe detail {relation}")[0][4]
    log = Path(str(location).removeprefix("file:")) / "_delta_log"
    commit = max(path for path in log.glob("*.json") if path.stem.isdigit())
    actions = [json.loads(line) for line in commit.read_text("utf-8").splitlines()]
    for action in actions:
        if "commitInfo" in action:
            action["commitInfo"]["timestamp"] += milliseconds
    changed = os.stat(commit).st_mtime + milliseconds / 1000
    commit.write_text("".join(json.dumps(action) + "\n" for action in actions), "utf-8")
    os.utime(commit, (changed, changed))
    commit.with_suffix(".crc").unlink(missing_ok=True)
    (log / f".{commit.name}.crc").unlink(missing_ok=True)
