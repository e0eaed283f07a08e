"""What ten rules cost a batch of 1 million rows of 20 columns, against the same model without rules."""

from __future__ import annotations

from typing import Any

from benchmarks.bench import SCHEMA, Project, Result, in_turn, project

ROWS = 1_000_000
#: Strategy -> its settings.
WAYS: dict[str, dict[str, Any]] = {
    "append": {},
    "merge": {"incremental_strategy": "merge", "unique_key": "id"},
}
#: Ten conditions of the kinds that people write: NULL, range, list, pattern, two columns, `where`.
CONDITIONS = (
    "id is not null",
    "n1 >= 0",
    "n2 between 0 and 1000000000",
    "n3 + n4 >= n3",
    "length(t1) < 100",
    "t2 rlike '^[a-z0-9-]+$'",
    "t3 in ('t-0', 't-1', 't-2', 't-3', 't-4', 't-5', 't-6', 't-7')",
    "d1 >= 0",
    "at >= timestamp'2020-01-01 00:00:00'",
)


def rules(divisor: int | None) -> list[dict[str, str]]:
    """Nine rules that hold, and one that every so many rows break."""
    last = f"id % {divisor} <> 0" if divisor else "id >= 0"
    found = [{"name": f"r{number}", "expect": text} for number, text in enumerate(CONDITIONS)]
    return [*found, {"name": "last", "expect": last, "on_violation": "quarantine"}]


def arrive(made: Project, number: int) -> None:
    """1 million rows with keys of their own."""
    texts = ", ".join(f"concat('t-', id % 8) as t{n}" for n in range(1, 7))
    numbers = ", ".join(f"id * {n} % 1000003 as n{n}" for n in range(1, 7))
    decimals = ", ".join(f"cast(id % 10007 as decimal(12, 2)) / {n} as d{n}" for n in range(1, 7))
    select = (
        f"select id, {texts}, {numbers}, {decimals}, timestamp_micros(1704067200000000 + id) as at "
        f"from range({number * ROWS}, {(number + 1) * ROWS}, 1, 4)"
    )
    made.sql(
        f"insert into {SCHEMA}.source {select}"
        if number
        else f"create or replace table {SCHEMA}.source using delta as {select}"
    )


def run(rounds: int = 5) -> list[Result]:
    """Ten rules that hold, and ten of which one sends 1 % of the rows to the quarantine."""
    results = []
    with project() as made:
        made.sources("source")
        for way, settings in WAYS.items():
            for name, divisor in (("bare", 0), ("clean", None), ("held", 100)):
                config = {"materialized": "incremental", "watermark": {"column": "at"}} | settings
                if divisor != 0:
                    config["expectations"] = rules(divisor)
                arguments = ", ".join(f"{key}={value!r}" for key, value in config.items())
                made.model(
                    f"{way}_{name}",
                    f"{{{{ config({arguments}) }}}}\nselect * from {{{{ source('raw', 'source') }}}} "
                    "where {{ floodmark.watermark_filter() }}",
                )
        for way in WAYS:
            arrive(made, 0)
            names = [f"{way}_{name}" for name in ("bare", "clean", "held")]
            for name in names:
                made.run(name, full_refresh=True)
            bare, clean, held = in_turn(
                rounds,
                lambda number: arrive(made, number + 1),
                *(lambda name=name: made.run(name)[name] for name in names),
            )
            label = f"{way}, 1 million rows of 20 columns, ten rules"
            results.append(Result(label, "≤ 1.15", clean, bare, 1.15))
            results.append(Result(f"{label}, 1 % to the quarantine", "≤ 1.30", held, bare, 1.3))
    return results
