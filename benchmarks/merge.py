"""MERGE of 10,000 changed and 1,000 new rows against dbt-spark's own merge, on the same tables."""

from __future__ import annotations

from benchmarks.bench import Project, Result, project
from benchmarks.tables import arrive, ours, ours_and_theirs, theirs


def measure(made: Project, rows: int, keys: str, rounds: int) -> list[list[float]]:
    """Seconds of ours and of dbt-spark's node."""
    return ours_and_theirs(made, rows, rounds, lambda number: arrive(made, rows, number, keys))


def run(rows: int = 10_000_000, rounds: int = 5) -> list[Result]:
    """Recent and random keys at `rows`, and the growth from 1 million on."""
    results = []
    with project() as made:
        made.sources("source")
        made.model("ours", ours())
        made.model("theirs", theirs())
        least = 2 if rows <= 10_000_000 else 5
        small, _ = measure(made, 1_000_000, "recent", rounds)
        recent, peer = measure(made, rows, "recent", rounds)
        label = f"{rows // 1_000_000} million rows"
        goal = f"≤ {1 / least:.2f}"
        results.append(Result(f"MERGE, recent keys, {label}", goal, recent, peer, 1 / least))
        growth = f"MERGE, recent keys, {label} (ours) against 1 million (ours)"
        results.append(Result(growth, "≤ 1.40", recent, small, 1.4))
        if rows <= 10_000_000:
            random, peer = measure(made, rows, "random", rounds)
            results.append(Result(f"MERGE, random keys, {label}", "≤ 0.50", random, peer, 0.5))
    return results
