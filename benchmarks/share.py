"""The framework's own share of a small batch, in one-row inserts into a Delta table."""

from __future__ import annotations

from benchmarks.bench import SCHEMA, Result, in_turn, project, timed
from benchmarks.tables import create_source, ours


def run(rounds: int = 7) -> list[Result]:
    """A merge of one row less the MERGE itself, against six inserts."""
    with project() as made:
        made.sources("source")
        made.model("ours", ours())
        create_source(made, 1_000)
        made.run("ours", full_refresh=True)
        made.sql(f"create table {SCHEMA}.log (id bigint, text string) using delta")
        made.sql(f"create table {SCHEMA}.bare using delta as select * from {SCHEMA}.source")
        made.sql(
            f"alter table {SCHEMA}.bare set tblproperties ('delta.enableDeletionVectors' = 'true')"
        )

        def one_more(number: int) -> None:
            at = f"timestamp'2025-01-02 00:00:00Z' + make_interval(0, 0, 0, {number})"
            made.sql(
                f"insert into {SCHEMA}.source select id, customer, amount, status, ordered_on, "
                f"{at} from {SCHEMA}.source where id = 1 limit 1"
            )

        def six_inserts() -> None:
            for number in range(6):
                made.sql(f"insert into {SCHEMA}.log values ({number}, 'a text')")

        merge = (
            f"merge into {SCHEMA}.bare t using (select * from {SCHEMA}.source where updated_at = "
            f"(select max(updated_at) from {SCHEMA}.source)) s on s.id <=> t.id and t.id between 1 "
            "and 1 when matched then update set * when not matched then insert *"
        )
        node, bare, inserts = in_turn(
            rounds,
            one_more,
            lambda: made.run("ours")["ours"],
            lambda: timed(lambda: made.sql(merge)),
            lambda: timed(six_inserts),
        )
        share = [whole - alone for whole, alone in zip(node, bare, strict=True)]
        question = "A batch of one row, without its MERGE, against six one-row inserts"
        return [Result(question, "≤ 0.50", share, inserts, 0.5)]
