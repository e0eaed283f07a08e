"""Variables of the environment that a command sets for itself."""

from __future__ import annotations

import os

import click


def set_for_command(name: str, value: str) -> None:
    """Set a variable until the running command ends: its caller in Python goes on without."""
    before = os.environ.get(name)

    def restore() -> None:
        if before is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = before

    os.environ[name] = value
    click.get_current_context().call_on_close(restore)
