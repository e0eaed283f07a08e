"""A process that has dbt loaded and forks a child a request: a dbt run that may be killed, without the start-up.

Reads JSON lines {"args", "root", "cuts"} and answers each, in order, with the child's exit status and log.
Requests of one line (a list) run at once.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

REPOSITORY = Path(__file__).resolve().parents[2]


@dataclass
class Zygote:
    """The client's side."""

    process: subprocess.Popen[str]

    @classmethod
    def start(cls) -> Zygote:
        """Start the process."""
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.support.zygote"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=REPOSITORY,
        )
        return cls(process)

    def run(self, *requests: dict[str, Any]) -> list[dict[str, Any]]:
        """Run requests at once: {"args": [...], "root": "...", "cuts": {node: statement}}."""
        assert self.process.stdin and self.process.stdout
        self.process.stdin.write(json.dumps(requests) + "\n")
        self.process.stdin.flush()
        answers: list[dict[str, Any]] = json.loads(self.process.stdout.readline())
        return answers

    def stop(self) -> None:
        """End the process."""
        assert self.process.stdin
        self.process.stdin.close()
        self.process.wait(timeout=30)


def run_request(request: dict[str, Any]) -> tuple[bool, str]:
    """Run dbt, killed by SIGKILL where the request's cuts say; success and log."""
    from dbt.cli.main import dbtRunner

    from tests.support.faults import Faults, injected

    lines: list[str] = []
    runner = dbtRunner(callbacks=[lambda event: lines.append(str(event.info.msg))])
    os.chdir(request["root"])
    with injected(Faults(cuts=request.get("cuts") or {}, kill=True)):
        command = [*request["args"], "--project-dir", request["root"]]
        outcome = runner.invoke([*command, "--profiles-dir", request["root"], "--quiet"])
    return outcome.success, "\n".join(lines)


def _child(request: dict[str, Any], output: Path) -> None:
    success, log = run_request(request)
    output.write_text(log)
    os._exit(0 if success else 1)


def _serve() -> None:
    import tempfile

    from dbt.adapters import spark  # noqa: F401 - loaded once, before the forks

    silent = os.open(os.devnull, os.O_WRONLY)
    for line in sys.stdin:
        children = []
        for request in json.loads(line):
            output = Path(tempfile.mkstemp()[1])
            pid = os.fork()
            if pid == 0:
                os.dup2(silent, 1)
                os.dup2(silent, 2)
                _child(request, output)
            children.append((pid, output))
        answers = []
        for pid, output in children:
            status = os.waitpid(pid, 0)[1]
            answers.append({"status": os.waitstatus_to_exitcode(status), "log": output.read_text()})
            output.unlink()
        print(json.dumps(answers), flush=True)


if __name__ == "__main__":
    _serve()
