"""Snapshots of 10 columns, 1 % changed and 0.1 % deleted: against dbt's own snapshot, and against a full outer join by hand."""

from __future__ import annotations

from benchmarks.bench import SCHEMA, Project, Result, in_turn, project, timed

VALUES = ("customer", "amount", "status", "name", "city", "ordered_on", "score", "flag", "note")
COLUMNS = (
    "id, id % 50000 as customer, cast(id % 9999 as decimal(12, 2)) as amount, concat('status ', id % 7) as status, "
    "concat('name ', id) as name, concat('city ', id % 900) as city, date'2024-01-01' + cast(id % 700 as int) as ordered_on, "
    "cast(id % 1000 as double) / 7 as score, id % 2 = 0 as flag, if(id % 5 = 0, null, concat('note ', id % 77)) as note"
)
OURS = """
{{{{ config(materialized='incremental', incremental_strategy='snapshot_diff', unique_key='id',
          snapshot_diff={{'stored_as_scd_type': {scd}}}) }}}}
select * from {{{{ source('raw', 'extract') }}}}
"""
SNAPSHOT = """
{% snapshot snapped %}
{{ config(unique_key='id', strategy='check', check_cols='all', file_format='delta', hard_deletes='invalidate') }}
select * from {{ source('raw', 'extract') }}
{% endsnapshot %}
"""


def by_hand(made: Project) -> None:
    """What people write: both sides hashed whole, joined, and what differs merged."""
    digest = "sha2(concat_ws('||', " + ", ".join(VALUES) + "), 256)"
    changed = (
        f"select coalesce(n.id, o.id) as key, n.*, n.id is null as gone from (select *, {digest} as h from {SCHEMA}.extract) n "
        f"full outer join (select id, {digest} as h from {SCHEMA}.by_hand) o on n.id = o.id "
        "where n.id is null or o.id is null or n.h <> o.h"
    )
    names = ("id", *VALUES)
    assignments = ", ".join(f"t.{name} = s.{name}" for name in names)
    values = ", ".join(f"s.{name}" for name in names)
    made.sql(
        f"merge into {SCHEMA}.by_hand t using ({changed}) s on t.id = s.key when matched and s.gone then delete "
        f"when matched then update set {assignments} when not matched then insert ({', '.join(names)}) values ({values})"
    )


def _extract(made: Project, rows: int) -> None:
    made.sql(
        f"create or replace table {SCHEMA}.extract using delta as select {COLUMNS} from range(0, {rows}, 1, 8)"
    )
    made.sql(
        f"create or replace table {SCHEMA}.by_hand using delta as select * from {SCHEMA}.extract"
    )
    made.sql(f"drop table if exists {SCHEMA}.snapped")
    made.run("latest", "history", full_refresh=True)
    made.run("snapped", command="snapshot")


def _change(made: Project, number: int) -> None:
    """1 % of the rows, spread over the table, get another amount; 0.1 % go."""
    made.sql(
        f"update {SCHEMA}.extract set amount = amount + {number + 1} where id % 100 = {number}"
    )
    made.sql(f"delete from {SCHEMA}.extract where id % 1000 = {500 + number}")


def run(rows: int = 5_000_000, rounds: int = 3) -> list[Result]:
    """SCD 2 against dbt's snapshot and SCD 1 against the join, at a fifth of `rows` and at `rows`; then an unchanged snapshot."""
    results = []
    with project() as made:
        made.sources("extract")
        made.model("latest", OURS.format(scd=1))
        made.model("history", OURS.format(scd=2))
        (made.root / "snapshots").mkdir()
        (made.root / "snapshots" / "snapped.sql").write_text(SNAPSHOT)
        for size, limits in ((rows // 5, (0.4, 0.9)), (rows, (1 / 3, 1.0))):
            _extract(made, size)
            history, snapped, latest, hand = in_turn(
                rounds,
                lambda number: _change(made, number),
                lambda: made.run("history")["history"],
                lambda: made.run("snapped", command="snapshot")["snapped"],
                lambda: made.run("latest")["latest"],
                lambda: timed(lambda: by_hand(made)),
            )
            many = f"{size / 1_000_000:g} million rows, 1 % changed"
            question = f"Snapshot diff, SCD 2, against dbt's snapshot (check), {many}"
            results.append(Result(question, f"≤ {limits[0]:.2f}", history, snapped, limits[0]))
            question = f"Snapshot diff, SCD 1, against a full outer join over sha2, {many}"
            results.append(Result(question, f"≤ {limits[1]:.2f}", latest, hand, limits[1]))
        before = [_version(made, name) for name in ("latest", "history")]
        made.run("latest", "history")
        if [_version(made, name) for name in ("latest", "history")] != before:
            raise SystemExit("an unchanged snapshot made a commit")
    return results


def _version(made: Project, name: str) -> int:
    return int(made.sql(f"describe history {SCHEMA}.`{name}` limit 1")[0]["version"])
