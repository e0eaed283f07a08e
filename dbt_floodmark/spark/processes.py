"""Small questions about other processes, answered without extra packages."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path


def is_alive(pid: int) -> bool:
    """Tell whether a process runs; one that is dead but not yet reaped does not."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return _state(pid) != "Z"


def command_of(pid: int) -> str:
    """Return a process's command line, or an empty string when it cannot be told."""
    proc = Path(f"/proc/{pid}/cmdline")
    try:
        return proc.read_bytes().replace(b"\0", b" ").decode("utf-8", "replace").strip()
    except OSError:
        return _ps(pid, "command=")


def _state(pid: int) -> str:
    try:
        # The second field is the name in brackets and may hold spaces.
        return Path(f"/proc/{pid}/stat").read_text("utf-8").rpartition(")")[2].split()[0]
    except (OSError, IndexError):
        return _ps(pid, "state=")[:1]


def _ps(pid: int, field: str) -> str:
    try:
        answer = subprocess.run(
            ["ps", "-ww", "-o", field, "-p", str(pid)], capture_output=True, text=True, check=False
        )
    except OSError:
        return ""
    return answer.stdout.strip()
