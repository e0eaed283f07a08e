"""`python -m benchmarks [--rows N] [--rounds N] [question ...]`: run, print, and keep the results."""

from __future__ import annotations

import argparse
import datetime as dt
import subprocess
import sys
from collections.abc import Callable

from benchmarks import (
    cdc,
    cold,
    expectations,
    files,
    loader,
    merge,
    nothing_new,
    share,
    small_project,
    snapshot_diff,
    streams,
)
from benchmarks.bench import REPOSITORY, Result, machine

QUESTIONS: dict[str, Callable[..., list[Result]]] = {
    "merge": merge.run,
    "nothing_new": nothing_new.run,
    "share": share.run,
    "loader": loader.run,
    "cdc": cdc.run,
    "snapshot_diff": snapshot_diff.run,
    "streams": streams.run,
    "cold": cold.run,
    "files": files.run,
    "expectations": expectations.run,
    "small_project": small_project.run,
}
SIZED = ("merge", "nothing_new", "loader", "cdc", "snapshot_diff", "streams", "files")
PAGE = REPOSITORY / "docs" / "benchmarks.md"
MARK = "<!-- results of {name} -->"


def section(name: str, results: list[Result], command: str) -> str:
    """The part of the page that a question owns."""
    today = dt.datetime.now(dt.timezone.utc).strftime("%Y-%m-%d")
    rows = [result.line() for result in results]
    head = ["| question | ours | peer | ours / peer | goal | |", "|---|---|---|---|---|---|"]
    return "\n".join(
        [MARK.format(name=name), f"`{command}`, {today}; {machine()}", "", *head, *rows]
    )


def keep(name: str, text: str) -> None:
    """Put a question's section in the page in the place of its last one."""
    page = PAGE.read_text("utf-8")
    begin, end = MARK.format(name=name), f"<!-- end of {name} -->"
    if begin not in page:
        page = page.rstrip("\n") + f"\n\n{begin}\n{end}\n"
    before, _, rest = page.partition(begin)
    PAGE.write_text(before + text + f"\n\n{end}" + rest.partition(end)[2], "utf-8")


def main() -> None:
    """Ask the questions one after the other."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--rows", type=int, help="rows of the large tables (default: 10 million)")
    parser.add_argument("--rounds", type=int, help="rounds that count, after those that warm up")
    parser.add_argument("questions", nargs="*", choices=[[], *QUESTIONS])
    given = parser.parse_args()
    names = given.questions or list(QUESTIONS)
    arguments = " ".join(sys.argv[1:])
    if len(names) == 1:
        ask(names[0], given.rows, given.rounds, arguments)
        return
    options = [one for one in sys.argv[1:] if one not in QUESTIONS]
    for name in names:
        # Each in a process of its own: a Spark's metastore goes with the question's folder.
        subprocess.run([sys.executable, "-m", "benchmarks", *options, name], check=True)


def ask(name: str, rows: int | None, rounds: int | None, arguments: str) -> None:
    """Ask one question, print its results and keep them in the page."""
    options: dict[str, int | None] = {"rows": rows if name in SIZED else None, "rounds": rounds}
    print(f"{name} ...", file=sys.stderr, flush=True)
    results = QUESTIONS[name](**{key: value for key, value in options.items() if value})
    # Other sizes have a section of their own.
    label = f"{name}, {rows:,} rows" if options["rows"] else name
    text = section(label, results, f"make bench ARGS='{arguments}'")
    print(text, flush=True)
    keep(label, text)
    if name != "cold":
        print(f"peak memory of this runner: {cold.peak_memory():.0f} MB")


if __name__ == "__main__":
    main()
