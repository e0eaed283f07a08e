"""Spark settings that no command line may show, in a file that its owner alone can read."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from dbt_floodmark.spark.home import Workplace
from dbt_floodmark.spark.processes import is_alive

_PREFIX = "secret-"


@contextmanager
def properties_options(workplace: Workplace, conf: Mapping[str, str]) -> Iterator[list[str]]:
    """Give spark-submit's options for settings in a file, which is gone behind the block.

    Whoever starts a JVM stays in the block until the JVM has read it. What a killed process left
    is removed by the next.
    """
    for left in workplace.root.glob(f"{_PREFIX}*"):
        pid = left.name.removeprefix(_PREFIX)
        if not pid.isdecimal() or int(pid) == os.getpid() or not is_alive(int(pid)):
            left.unlink(missing_ok=True)
    if not conf:
        yield []
        return
    file = workplace.root / f"{_PREFIX}{os.getpid()}"
    # Java's format of properties, in which every character can be written by its number.
    lines = [f"{key}={''.join(map(_escaped, value))}\n" for key, value in conf.items()]
    descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with open(descriptor, "w", encoding="ascii") as opened:
            opened.writelines(lines)
        # Beside a file of properties, Spark reads the user's spark-defaults.conf only if told to.
        yield ["--properties-file", str(file), "--load-spark-defaults"]
    finally:
        file.unlink(missing_ok=True)


def _escaped(character: str) -> str:
    if character.isascii() and character.isalnum():
        return character
    units = character.encode("utf-16-be")
    return "".join(f"\\u{units[at]:02x}{units[at + 1]:02x}" for at in range(0, len(units), 2))
