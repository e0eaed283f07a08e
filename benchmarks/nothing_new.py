"""A model with nothing new against dbt-spark's, which merges no rows."""

from __future__ import annotations

from benchmarks.bench import Result, in_turn, project
from benchmarks.tables import create_source, ours, ours_and_theirs, theirs

MODELS = 10


def run(rows: int = 10_000_000, rounds: int = 5) -> list[Result]:
    """Tiny, 1 million and `rows`; and ten models of 1 million rows in one build on four threads."""
    results = []
    with project() as made:
        made.sources("source")
        made.model("ours", ours())
        made.model("theirs", theirs())
        for size, limit in ((1_000, 1.3), (1_000_000, 0.5), (rows, 0.2)):
            quiet, peer = ours_and_theirs(made, size, rounds, lambda number: None)
            question = f"Nothing new, {size:,} rows"
            results.append(Result(question, f"≤ {limit:.2f}", quiet, peer, limit))
        create_source(made, 1_000_000)
        for number in range(MODELS):
            made.model(f"ours_{number}", ours())
            made.model(f"theirs_{number}", theirs())
        made.run("ours_*", "theirs_*", full_refresh=True)
        quiet, peer = in_turn(
            rounds,
            lambda number: None,
            lambda: made.run("ours_*")["wall"],
            lambda: made.run("theirs_*")["wall"],
        )
        question = f"Nothing new, {MODELS} models of 1 million rows, four threads, whole build"
        results.append(Result(question, "≤ 0.50", quiet, peer, 0.5))
    return results
