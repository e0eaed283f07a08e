"""The crash lab of expectations: a batch that drops and quarantines, and a replay, are cut at each of their statements.

Between cut and second run more rows arrive. Table, quarantine and counts are those of a run that nobody disturbed.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Sequence

import pytest

from tests.support.commands import command
from tests.support.faults import Faults, assert_cut, injected, lab_points
from tests.support.files import land, lines, loader
from tests.support.harness import FULL, Project, incremental, table, values
from tests.support.selection import sample

pytestmark = [pytest.mark.lab, pytest.mark.edge, pytest.mark.long("session")]

RULES = [
    {"name": "positive", "expect": "amount > 0", "on_violation": "quarantine"},
    {"name": "small", "expect": "amount < 100", "on_violation": "drop"},
    {"name": "even", "expect": "amount % 2 = 0"},
]
AT = {"watermark": {"column": "at"}}
MERGE = {"incremental_strategy": "merge", "unique_key": "id"}
SNAPSHOT = (
    "{{ config(materialized='incremental', incremental_strategy='snapshot_diff', unique_key='id', "
    f"expectations={RULES!r}) }}}} select id, amount from {{{{ source('raw', 't') }}}}"
)
SCENARIOS = {
    "append": incremental(table("t"), expectations=RULES, **AT),
    "merge": incremental(
        table("t"), expectations=RULES, **MERGE, watermark={"column": "at", "lookback": "1 day"}
    ),
    "merge_once": incremental(table("t"), expectations=RULES, **MERGE, **AT),
    "overwrite": incremental(
        table("t"),
        expectations=RULES,
        incremental_strategy="insert_overwrite",
        partition_by="day",
        **AT,
    ),
    "cdc": incremental(
        table("t"),
        expectations=RULES,
        incremental_strategy="cdc",
        unique_key="id",
        cdc={"sequence_by": "at", "stored_as_scd_type": 2, "apply_as_deletes": "amount = 0"},
        **AT,
    ),
    "snapshot": SNAPSHOT,
    "files": loader(
        "landing", format="json", schema="id int, amount int", config={"expectations": RULES}
    ),
}
SOME, SOME_CUTS = ("append", "merge", "cdc", "files"), 3
#: Rows of three days: (id, amount, hour).
DAYS = (
    [(1, 2, 1), (2, -2, 2), (3, 200, 3)],
    [(1, 0, 25), (2, 4, 26), (4, -4, 27), (5, 500, 28), (6, 5, 29), (7, None, 30)],
    [(8, 8, 49), (9, -9, 50)],
)


def arrive(project: Project, day: int) -> None:
    rows = [
        (
            *row[:2],
            f"2024-05-0{1 + row[2] // 24} {row[2] % 24:02}:00:00",
            f"2024-05-0{1 + row[2] // 24}",
        )
        for row in DAYS[day]
    ]
    project.sql(f"insert into {project.schema}.t values {values(rows)}")
    made = lines(*({"id": row[0], "amount": row[1]} for row in DAYS[day]), "not JSON")
    land(project.root / "landing", {f"{day}.json": made})


def held(project: Project, model: str) -> tuple[Counter, Counter]:
    """Rows of the table, and what is open in its quarantine or replayed."""
    names = [row[0] for row in project.sql(f"describe table {project.schema}.{model}") if row[0]]
    own = [f"`{name}`" for name in names if name[0] != "_" and not name.startswith("#")]
    rows = Counter(
        project.sql(f"select to_json(struct({', '.join(own)})) from {project.schema}.{model}")
    )
    kept = Counter(
        project.sql(
            "select id, amount, to_json(_floodmark_rules), _floodmark_raw, _floodmark_state from "
            f"{project.schema}.{model}__quarantine where _floodmark_state <> 'superseded'"
        )
    )
    return rows, kept


def totals(project: Project, model: str) -> tuple:
    """Rows that the committed batches of a model have read, kept, dropped and quarantined."""
    [counts] = project.sql(
        "select sum(rows_read), sum(rows_kept), sum(rows_dropped), sum(rows_quarantined) from "
        f"{project.schema}_floodmark.batches where model = '{project.schema}.{model}' "
        "and state = 'committed'"
    )
    return counts


def lay_out(project: Project, scenarios: Sequence[str]) -> None:
    project.source("t")
    project.sql(
        f"create table {project.schema}.t (id int, amount int, at timestamp, day date) using delta"
    )
    for name in scenarios:
        project.model(f"{name}_control", SCENARIOS[name])
        for number in range(45 if FULL else SOME_CUTS):
            project.model(f"{name}_{number}", SCENARIOS[name])


def cut_all(project: Project, scenarios: Sequence[str], *words: str) -> dict[str, int]:
    """Run the control of each scenario whole, and each copy up to one of its statements."""
    cuts: dict[str, int] = {}
    for name in scenarios:
        with injected(Faults()) as seen:
            run = project.dbt("run", "--select", f"{name}_control", *words)
        assert run.success, run.log[-3000:]
        points = lab_points(seen.sent[f"{name}_control"])
        assert 4 <= len(points) <= 45, seen.sent
        points = points if FULL else sample(points, SOME_CUTS)
        cuts |= {f"{name}_{number}": point for number, point in enumerate(points)}
    with injected(Faults(cuts=cuts)) as faults:
        run = project.dbt("run", "--select", *cuts, *words)
    assert_cut(faults, run.status, cuts)
    return cuts


@pytest.mark.parametrize("names", [[name] for name in SCENARIOS] if FULL else [SOME], ids="_".join)
def test_each_cut_ends_as_an_undisturbed_run(
    make_project: Callable[..., Project], names: Sequence[str]
) -> None:
    project = make_project(names[0])
    lay_out(project, names)
    arrive(project, 0)
    project.build()
    arrive(project, 1)
    cuts = cut_all(project, names)
    arrive(project, 2)
    project.build("--select", *cuts, *(f"{name}_control" for name in names))
    for name in names:
        expected = held(project, f"{name}_control")
        assert expected[0] and expected[1]
        reads_again = name in ("merge", "overwrite", "snapshot")
        for copy in (copy for copy in cuts if copy.rpartition("_")[0] == name):
            assert held(project, copy) == expected, (copy, cuts[copy])
            for read, kept, dropped, quarantined in project.sql(
                "select rows_read, rows_kept, rows_dropped, rows_quarantined from "
                f"{project.schema}_floodmark.batches where model = '{project.schema}.{copy}' and state = 'committed'"
            ):
                assert read == kept + dropped + quarantined
            # However many batches it took.
            assert reads_again or totals(project, copy) == totals(project, f"{name}_control"), copy
    states = project.sql(f"select distinct state from {project.schema}_floodmark.batches")
    assert {state for (state,) in states} <= {"committed", "failed"}
    assert project.sql(f"show tables in {project.schema}_floodmark like 'stage__*'") == []


REPLAYED = ("append", "merge_once", "overwrite", "cdc")


@pytest.mark.parametrize(
    "names", [[name] for name in REPLAYED] if FULL else [("append", "cdc")], ids="_".join
)
def test_each_cut_of_a_replay_loads_its_rows_once(
    make_project: Callable[..., Project], names: Sequence[str]
) -> None:
    project = make_project("replay_" + names[0])
    lay_out(project, names)
    for day in (0, 1):
        arrive(project, day)
        project.build()
    replay = ("--vars", "{floodmark_replay: {rule: positive, set: {amount: abs(amount)}}}")
    cuts = cut_all(project, names, *replay)
    arrive(project, 2)
    everything = [*cuts, *(f"{name}_control" for name in names)]
    project.build("--select", *everything)
    project.build("--select", *everything, *replay)
    for name in names:
        # The control has replayed twice: the second time what had come since.
        expected = held(project, f"{name}_control")
        for copy in (copy for copy in cuts if copy.rpartition("_")[0] == name):
            assert held(project, copy) == expected, (copy, cuts[copy])
    assert project.sql(f"show tables in {project.schema}_floodmark like 'stage__*'") == []


@pytest.mark.parametrize("least", [2, -2], ids=["some are kept", "none is kept"])
def test_each_cut_of_a_replay_of_corrupt_records_loads_them_once(
    make_project: Callable[..., Project], least: int
) -> None:
    """What rules refuse of them is in the quarantine once; where no row is kept, the table has no commit to tell."""
    project = make_project(f"replay_records_{abs(least - 2)}")
    lay_out(project, ["files"])
    for day in (0, 1):
        arrive(project, day)
        project.build()
    text = f"if(_floodmark_file like '%0.json', '{{id: 100, amount: {least}}}', '{{id: 101, amount: -4}}')"
    corrected = text.replace("id", '"id"').replace("amount", '"amount"')
    asked = {"floodmark_replay": {"set": {"_floodmark_raw": corrected}}}
    replay = ("--vars", json.dumps(asked))
    cuts = cut_all(project, ["files"], *replay)
    arrive(project, 2)
    everything = [*cuts, "files_control"]
    project.build("--select", *everything)
    project.build("--select", *everything, *replay)
    expected = held(project, "files_control")
    assert (100 in {json.loads(row)["id"] for (row,) in expected[0]}) == (least > 0)
    assert sum(count for (id, *_), count in expected[1].items() if id == 101) == 2
    for copy, point in cuts.items():
        assert held(project, copy) == expected, (copy, point)
    assert project.sql(f"show tables in {project.schema}_floodmark like 'stage__*'") == []


def test_a_reset_takes_back_what_the_open_batch_had_quarantined(
    make_project: Callable[..., Project],
) -> None:
    """The next run reads the rows again, and refuses them once."""
    project = make_project("reset_quarantine")
    lay_out(project, ["append"])
    arrive(project, 0)
    project.build("--select", "append_control")
    arrive(project, 1)
    with injected(Faults(cuts={"append_control": "after: insert into .*__quarantine"})):
        assert not project.dbt("run", "--select", "append_control").success
    mark = project.mark("append_control")
    code, output = command(project, "reset", "append_control", "--to", str(mark))
    assert code == 0, output
    project.build("--select", "append_control")
    [kept] = project.sql(
        f"select count(*), count(distinct id) from {project.schema}.append_control__quarantine where _floodmark_state = 'open'"
    )
    assert kept == (4, 4)


def test_a_batch_that_was_given_up_and_not_failed_keeps_its_rows(
    make_project: Callable[..., Project],
) -> None:
    """The run takes its rows out of the quarantine, and dies before the ledger has the batch as failed."""
    project = make_project("given_up")
    names = ("append", "merge_once", "cdc")
    lay_out(project, names)
    arrive(project, 0)
    project.build()
    copies = [f"{name}_0" for name in names]
    for copy in copies:
        table_name = f"{project.schema}.{copy}"
        project.sql(f"alter table {table_name} add constraint low check (amount < 3)")
    arrive(project, 1)
    cuts = dict.fromkeys(copies, "before: insert into .*batch_log.*'failed'")
    with injected(Faults(cuts=cuts)):
        run = project.dbt("run", "--select", *copies)
    assert {run.status[copy] for copy in copies} == {"error"}, run.status
    for copy in copies:
        assert project.ledger(copy, "state")[-1] == ("planned",), copy
        project.sql(f"alter table {project.schema}.{copy} drop constraint low")
    project.build()
    for name in names:
        assert held(project, f"{name}_0") == held(project, f"{name}_control"), name
        batches = project.ledger(f"{name}_0", "state, error")
        assert [state for state, _ in batches] == ["committed", "failed", "committed"], name
        assert batches[1][1].startswith("an earlier run gave the batch up"), name
    assert project.sql(f"show tables in {project.schema}_floodmark like 'stage__*'") == []
