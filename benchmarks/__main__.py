"""`python -m benchmarks [--rows N] [--rounds N] [question ...]`: run, print, and keep the results."""

from __future__ import annotations

import argparse
import datetime as dt
import sys

from benchmarks import cold, loader, merge, nothing_new, share
from benchmarks.bench import REPOSITORY, Result, machine

QUESTIONS = {
    "merge": merge.run,
    "nothing_new": nothing_new.run,
    "share": share.run,
    "loader": loader.run,
    "cold": cold.run,
}
SIZED = ("merge", "nothing_new", "loader")
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
    parser.add_argument("--rounds", type=int, help="rounds that count, after one that warms up")
    parser.add_argument("questions", nargs="*", choices=[[], *QUESTIONS])
    given = parser.parse_args()
    for name in given.questions or QUESTIONS:
        options = {}
        if given.rows and name in SIZED:
            options["rows"] = given.rows
        if given.rounds:
            options["rounds"] = given.rounds
        print(f"{name} ...", file=sys.stderr, flush=True)
        results = QUESTIONS[name](**options)
        arguments = " ".join(sys.argv[1:])
        text = section(
            name, results, f"make bench ARGS='{arguments}'" if arguments else "make bench"
        )
        print(text, flush=True)
        keep(name, text)
    if "cold" not in (given.questions or QUESTIONS) or len(given.questions) != 1:
        print(f"peak memory of this runner: {cold.peak_memory():.0f} MB")


if __name__ == "__main__":
    main()
