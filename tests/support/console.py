"""`floodmark` as a user types it: a process a command, or one that runs many in turn, so that they share a JVM."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import yaml

from tests.support.console_process import ENDED
from tests.support.harness import BRIEF_SPARK_PARAMETERS

_ONE = "from dbt_floodmark.cli import main; main(prog_name='floodmark')"


def _environment(more: dict[str, str]) -> dict[str, str]:
    left_out = ("FLOODMARK_HOME", "FLOODMARK_THRIFT_PORT")
    clean = {name: value for name, value in os.environ.items() if name not in left_out}
    return {**clean, "NO_COLOR": "1", **more}


def floodmark(*arguments: str, cwd: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a command in a process of its own."""
    return subprocess.run(
        [sys.executable, "-c", _ONE, *arguments],
        cwd=cwd,
        env=_environment(environment),
        capture_output=True,
        text=True,
        timeout=400,
        check=False,
    )


def make_spark_brief(shop: Path, parameters: Mapping[str, str] = {}) -> None:
    """Give the Spark of a project of `floodmark init shop` the suite's settings, and ``parameters``."""
    profiles = shop / "profiles" / "profiles.yml"
    written = yaml.safe_load(profiles.read_text())
    session = written["shop"]["outputs"]["session"]
    session["server_side_parameters"] = {**BRIEF_SPARK_PARAMETERS, **parameters}
    profiles.write_text(yaml.safe_dump(written))


@dataclass
class Console:
    """A process that runs commands in turn; what they print on stderr is the test's own."""

    process: subprocess.Popen[str]

    @classmethod
    def start(cls, python: str | Path = sys.executable, **environment: str) -> Console:
        """Start the process, with the floodmark of a Python."""
        code = Path(__file__).with_name("console_process.py").read_text("utf-8")
        process = subprocess.Popen(
            [str(python), "-c", code],
            cwd=tempfile.gettempdir(),
            env=_environment(environment),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        return cls(process)

    def run(self, *arguments: str, cwd: Path) -> tuple[int, str]:
        """Run a command in a folder: its exit code, and what it printed."""
        assert self.process.stdin and self.process.stdout
        self.process.stdin.write(json.dumps([str(cwd), *arguments]) + "\n")
        self.process.stdin.flush()
        printed = ""
        for line in self.process.stdout:
            text, ended, code = line.partition(ENDED)
            printed += text
            if ended:
                return int(code), printed
        raise AssertionError(f"the process ended in {arguments}: {printed}")

    def stop(self) -> None:
        """End the process, and its JVM."""
        assert self.process.stdin
        self.process.stdin.close()
        self.process.wait(timeout=60)
