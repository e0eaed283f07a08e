"""Small questions about other processes."""

from __future__ import annotations

import os

# psutil is imported where it is asked: few dbt commands need it.


def is_alive(pid: int) -> bool:
    """Tell whether a process runs; one that is dead but not yet reaped does not."""
    import psutil

    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.AccessDenied:
        return True
    except psutil.NoSuchProcess:
        return False


def command_of(pid: int) -> str:
    """Return a process's command line, or an empty string when it cannot be told."""
    import psutil

    try:
        command = " ".join(psutil.Process(pid).cmdline())
    except psutil.Error:
        return ""
    # Bytes that are no UTF-8 come as surrogates, which cannot be printed.
    return os.fsencode(command).decode("utf-8", "replace").strip()
