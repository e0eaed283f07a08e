"""`floodmark stream` under files that land every second, killed and started again; in the end the counts must agree.

python -m tests.support.soak --seconds 600
"""

from __future__ import annotations

import argparse
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dbt_floodmark.spark.home import Workplace
from tests.support.harness import BRIEF_SPARK_PARAMETERS, REPOSITORY, Project
from tests.support.streams import stream

EVERY_SECOND = {"processing_time": "1 second"}
MODELS = {
    "landed": stream(
        "select id, k, at from stream(json.`landing`) with (schema = 'id bigint, k string, at timestamp')",
        trigger=EVERY_SECOND,
    ),
    "merged": stream(
        "select * from stream({{ ref('landed') }})",
        incremental_strategy="merge",
        unique_key="id",
        trigger=EVERY_SECOND,
    ),
    "counted": stream(
        "select k, count(*) as n from stream({{ ref('landed') }}) group by k",
        output_mode="complete",
        trigger=EVERY_SECOND,
    ),
}
ROWS_A_FILE = 10


@dataclass
class Soak:
    """A project in `root`, the process that streams it, and what has landed.

    `counted_by` runs the SQL that counts in the end; without it a dbt process of its own does.
    """

    root: Path
    counted_by: Callable[[str], list[tuple[Any, ...]]] | None = None
    landed: int = 0
    log: list[str] = field(default_factory=list)
    process: subprocess.Popen[str] | None = None

    def __post_init__(self) -> None:
        """Write the project."""
        self.project = Project(self.root / "project", "session", "soak", thrift_port=0)
        self.project.write_profile(server_side_parameters=BRIEF_SPARK_PARAMETERS)
        for name, sql in MODELS.items():
            self.project.model(name, sql)
        (self.project.root / "landing").mkdir()

    def start(self) -> None:
        """Start `floodmark stream` in a process of its own."""
        self.process = subprocess.Popen(
            [sys.executable, "-c", CODE, "stream", *self._options()],
            env=self._environment(),
            cwd=REPOSITORY,
            stdout=open(self.root / "stream.log", "a"),  # noqa: SIM115 (the child's)
            stderr=subprocess.STDOUT,
            text=True,
        )

    def kill(self) -> None:
        """Kill the process in the middle of whatever it does."""
        assert self.process is not None
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def stop(self) -> int:
        """Ask the process to stop behind its batches, and return its exit status."""
        assert self.process is not None
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(timeout=120)

    def land(self) -> None:
        """Land one file, whole at once."""
        folder = self.project.root / "landing"
        lines = []
        for _ in range(ROWS_A_FILE):
            lines.append(
                f'{{"id": {self.landed}, "k": "k{self.landed % 7}", "at": "2026-01-01T00:00:00"}}\n'
            )
            self.landed += 1
        hidden = folder / f".{self.landed}"
        hidden.write_text("".join(lines))
        hidden.rename(folder / f"{self.landed:09}.json")

    def wait_for(self, text: str, times: int, seconds: float = 120) -> None:
        """Wait until the process has printed a text so many times."""
        deadline = time.monotonic() + seconds
        while self.printed().count(text) < times:
            if time.monotonic() > deadline or (self.process and self.process.poll() is not None):
                raise AssertionError(f"no '{text}': {self.printed()[-3000:]}")
            time.sleep(0.2)

    def printed(self) -> str:
        """All that the processes have printed."""
        path = self.root / "stream.log"
        return path.read_text() if path.exists() else ""

    def counts(self) -> dict[str, list[int]]:
        """Rows of each table, and its distinct ids (of `counted` the groups)."""
        sql = (
            "select 'landed' as t, count(*) as n, count(distinct id) as d from soak.landed union all "
            "select 'merged', count(*), count(distinct id) from soak.merged union all "
            "select 'counted', sum(n), count(*) from soak.counted"
        )
        if self.counted_by is not None:
            # By their paths: the metastore is that of the processes.
            folder = Workplace.session(self.root / "home").warehouse / "soak.db"
            rows = self.counted_by(re.sub(r"soak\.(\w+)", rf"delta.`{folder}/\1`", sql))
            return {name: [int(n), int(d)] for name, n, d in rows}
        options = ["show", "--inline", sql, "--output", "json", "--quiet", *self._options()]
        outcome = subprocess.run(
            [sys.executable, "-c", CODE, *options],
            env=self._environment(),
            cwd=REPOSITORY,
            capture_output=True,
            text=True,
            check=False,
        )
        assert outcome.returncode == 0, outcome.stdout + outcome.stderr
        shown = json.loads(outcome.stdout[outcome.stdout.index("{") :])["show"]
        return {row["t"]: [int(row["n"]), int(row["d"])] for row in shown}

    def _options(self) -> list[str]:
        root = str(self.project.root)
        return ["--project-dir", root, "--profiles-dir", root]

    def _environment(self) -> dict[str, str]:
        return {**os.environ, "FLOODMARK_HOME": str(self.root / "home"), "NO_COLOR": "1"}


CODE = "from dbt_floodmark.cli import main; main(prog_name='floodmark')"


def soak(
    made: Soak,
    seconds: float,
    kills: int,
    say: Callable[[str], None] = print,
    status: int = 0,
) -> None:
    """Land a file a second for `seconds`, kill the process `kills` times on the way, and stop it in the end.

    Raises:
        AssertionError: a row is missing or doubled, or the process did not stop with `status`.
    """
    made.land()
    made.start()
    made.wait_for("rows in", 1)
    begun = time.monotonic()
    killed = 0
    while time.monotonic() - begun < seconds:
        time.sleep(1)
        made.land()
        if killed < kills and time.monotonic() - begun > seconds * (killed + 1) / (kills + 1):
            killed += 1
            made.kill()
            say(f"killed after {made.landed:,} rows")
            made.start()
    # What landed last has gone through all three tables once the query upon the first was idle.
    made.wait_for("batch ", made.printed().count("batch ") + 3)
    time.sleep(10)
    assert made.stop() == status, made.printed()[-3000:]
    found = made.counts()
    say(f"{made.landed:,} rows landed, {killed} kills: {found}")
    assert found == {
        "landed": [made.landed, made.landed],
        "merged": [made.landed, made.landed],
        "counted": [made.landed, 7],
    }, (made.landed, found)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--kills", type=int, default=2)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        soak(Soak(Path(folder)), given.seconds, given.kills)
