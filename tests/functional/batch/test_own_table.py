"""A SELECT that reads the model's own table: a batch whose process dies behind its INSERT is not loaded again.

Such an INSERT loses a transaction id that stands in the statement itself (decision 4).
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.support.faults import Faults, injected
from tests.support.harness import Project, incremental, sentence, table

pytestmark = [pytest.mark.long("session"), pytest.mark.edge]

#: Columns of `describe history`, by their places.
OPERATION, USER_METADATA = 4, 13
HOLDS = {"name": "held", "expect": "n < 7", "on_violation": "quarantine"}


def counted(relation: str) -> str:
    """An append of new numbers, each with how many rows `relation` has."""
    sql = incremental(table("up") + " as u", "u.n, known", alias="u", watermark={"column": "n"})
    return sql.replace(
        " as u\n",
        " as u\n{% if is_incremental() %}join (select count(*) as known from "
        + relation
        + "){% else %}"
        "join (select bigint(0) as known){% endif %}\n",
    )


MODELS = {
    "joined": counted("{{ this }}"),
    "viewed": counted("{{ target.schema }}.over_viewed"),
    "held": incremental(
        table("up"),
        incremental_strategy="merge",
        unique_key="n",
        watermark={"column": "n", "lookback": 2},
        expectations=[HOLDS],
    ),
}
CUTS = {
    "joined": r"after: insert into \S+joined ",
    "viewed": r"after: insert into \S+viewed ",
    "held": r"after: insert into \S+held__quarantine",
}


def test_a_batch_that_died_behind_its_insert_is_found(make_project: Callable[..., Project]) -> None:
    project = make_project("own_table")
    project.source("up")
    project.sql(f"create table {project.schema}.up (n bigint) using delta")
    project.sql(f"insert into {project.schema}.up values (1), (2), (8)")
    for name, sql in MODELS.items():
        project.model(name, sql)
    project.build()
    project.sql(
        f"create view {project.schema}.over_viewed as select * from {project.schema}.viewed"
    )
    project.sql(f"insert into {project.schema}.up values (9), (10)")
    with injected(Faults(cuts=dict(CUTS))):
        run = project.dbt("run")
    assert {name: run.status[name] for name in MODELS} == dict.fromkeys(MODELS, "error")
    assert project.ledger("joined", "state")[-1] == ("planned",)
    run = project.dbt("run")
    assert set(run.status.values()) == {"success"}, run.log[-6000:]
    for name in ("joined", "viewed"):
        rows = project.sql(f"select n, known from {project.schema}.{name} order by n")
        assert rows == [(1, 0), (2, 0), (8, 0), (9, 3), (10, 3)]
    held = project.sql(f"select n from {project.schema}.held__quarantine order by n")
    assert held == [(8,), (9,), (10,)]
    history = project.sql(f"describe history {project.schema}.held__quarantine")
    tags = [row[USER_METADATA] for row in history if row[OPERATION] == "WRITE"]
    assert len(tags) == 2 and all(tags)


#: What the table does not have yet.
UNKNOWN = "{% if is_incremental() %}and u.n not in (select n from {{ this }}){% endif %}\n"
LATER = "{% if is_incremental() %}and u.ts > (select max(ts) from {{ this }}){% endif %}\n"
#: A value in each row leaves out none.
KNOWN = "{% if is_incremental() %}(select count(*) from {{ this }}){% else %}bigint(0){% endif %}"


def test_a_select_of_what_its_own_table_lacks(make_project: Callable[..., Project]) -> None:
    """A backfill would find the rows that it deletes, so it is refused; a run that replaces partitions warns."""
    project = make_project("own_rows")
    s = project.schema
    project.source("up")
    project.sql(f"create table {s}.up (n bigint, ts timestamp) using delta")
    project.sql(
        f"insert into {s}.up values (1, timestamp'2024-05-01 08:00:00'), (2, timestamp'2024-05-01 09:00:00')"
    )
    up = table("up") + " as u"
    model = incremental(up, "u.n, u.ts", alias="u", watermark={"column": "ts"})
    project.model("added", model + UNKNOWN)
    project.model("later", model + LATER)
    select = f"u.n, u.ts, {KNOWN} as known"
    project.model("numbered", incremental(up, select, alias="u", watermark={"column": "ts"}))
    by_day = {"incremental_strategy": "insert_overwrite", "partition_by": "day"}
    select = "u.n, u.ts, cast(u.ts as date) as day"
    parts = incremental(up, select, alias="u", watermark={"column": "ts"}, **by_day) + UNKNOWN
    project.model("parts", parts)
    project.build()
    backfill = "{floodmark_backfill: {from: '2024-05-01', to: '2024-05-02'}}"
    run = project.dbt("run", "--vars", backfill)
    assert run.status["numbered"] == "success", sentence(run.message["numbered"])
    assert project.sql(f"select n, known from {s}.numbered order by n") == [(1, 2), (2, 2)]
    for name in ("added", "later", "parts"):
        assert run.status[name] == "error"
        assert f'got "a SELECT that reads {s}.{name}"' in sentence(run.message[name])
        assert project.sql(f"select n from {s}.{name} order by n") == [(1,), (2,)]
    no_backfill = "is_incremental() and not var('floodmark_backfill', none)"
    project.model("added", model + UNKNOWN.replace("is_incremental()", no_backfill))
    project.build("--select", "added", "--vars", backfill)
    assert project.sql(f"select n from {s}.added order by n") == [(1,), (2,)]
    project.sql(f"insert into {s}.up values (3, timestamp'2024-05-01 10:00:00')")
    run = project.build("--select", "parts")
    assert f"the SELECT reads {s}.parts, and finds the rows there" in sentence(run.log)
