"""Batches that cannot be applied: failed with their error, never stuck; keys that cannot be one; stages that are not whole."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlparse

import pytest

from tests.functional.faults import Faults, injected
from tests.functional.test_corrections import AT, rows_of
from tests.harness import Project, incremental, sentence, table

#: Strategies whose batches are one statement or several on tables that may refuse a row.
WAYS: dict[str, dict[str, Any]] = {
    "append": {},
    "merge": {"incremental_strategy": "merge", "unique_key": "id"},
    "overwrite": {"incremental_strategy": "insert_overwrite", "partition_by": ["day"]},
    "latest": {
        "incremental_strategy": "cdc",
        "unique_key": "id",
        "cdc": {"sequence_by": "ts", "apply_as_deletes": "v < 0 and id = 3"},
    },
    "periods": {
        "incremental_strategy": "cdc",
        "unique_key": "id",
        "cdc": {"sequence_by": "ts", "stored_as_scd_type": 2, "apply_as_deletes": "v < 0 and id = 3"},
    },
}  # fmt: skip
SNAPSHOTS = {"extract": 1, "extracts": 2}


def write_models(project: Project, select: str = "*") -> list[str]:
    for name, config in WAYS.items():
        watermark = {"column": "ts"} | ({"lookback": "2 days"} if name == "merge" else {})
        project.model(name, incremental(table("src"), select, watermark=watermark, **config))
    for name, scd_type in SNAPSHOTS.items():
        project.model(
            name,
            "{{ config(materialized='incremental', incremental_strategy='snapshot_diff', unique_key='id', "
            f"snapshot_diff={{'stored_as_scd_type': {scd_type}}}) }}}} select {select} from {table('src')}",
        )
    return [*WAYS, *SNAPSHOTS]


def make_source(project: Project) -> None:
    schema = project.schema
    project.sql(f"create table {schema}.src (id int, v int, day date, ts timestamp) using delta")
    project.sql(
        f"insert into {schema}.src values (1, 1, date'2024-05-01', {AT}), (2, 2, date'2024-05-01', {AT})"
    )
    project.source("src")


def test_what_the_table_refuses_is_failed_and_planned_anew(
    make_project: Callable[..., Project],
) -> None:
    """A CHECK constraint added by hand: once the row upstream is mended, the next run loads."""
    project = make_project("checked")
    schema = project.schema
    make_source(project)
    names = write_models(project)
    project.build()
    for name in names:
        project.sql(
            f"alter table {schema}.`{name}` add constraint positive check (v > 0 or v is null)"
        )
    project.sql(
        f"insert into {schema}.src values (3, -3, date'2024-05-02', {AT} + interval 1 day), "
        f"(4, -4, date'2024-05-02', {AT} + interval 1 day)"
    )
    run = project.dbt("run")
    for name in names:
        assert run.status[name] == "error", name
        state, error = project.ledger(name, "state, error")[-1]
        assert state == "failed" and "positive" in error.lower(), (name, state, error)
        assert len(rows_of(project, name)) == 2, name
    project.sql(f"update {schema}.src set v = 4 where id = 4")
    project.sql(f"update {schema}.src set v = 3 where id = 3")
    project.build()
    for name in names:
        assert {row["id"] for row in rows_of(project, name)} == {1, 2, 3, 4}, name
        assert project.ledger(name, "state")[-1] == ("committed",)


def test_a_select_that_fails_leaves_its_error(make_project: Callable[..., Project]) -> None:
    """The ledger says what stopped the batch; nothing of it is left to finish."""
    project = make_project("bombs")
    schema = project.schema
    make_source(project)
    names = write_models(
        project, "id, if(v = 13, cast(raise_error('bomb') as int), v) as v, day, ts"
    )
    project.build()
    project.sql(f"insert into {schema}.src values (5, 13, date'2024-05-02', {AT} + interval 1 day)")
    run = project.dbt("run")
    for name in names:
        assert run.status[name] == "error" and "bomb" in run.message[name], name
        state, error = project.ledger(name, "state, error")[-1]
        assert state == "failed" and "bomb" in error, (name, state, error)
    project.sql(f"update {schema}.src set v = 5 where id = 5")
    project.build()
    for name in names:
        assert {row["id"] for row in rows_of(project, name)} == {1, 2, 5}, name


@pytest.mark.long("thrift")
def test_a_first_load_that_fails_leaves_its_error(make_project: Callable[..., Project]) -> None:
    """Where there is no table yet, too."""
    project = make_project("firsts")
    make_source(project)
    names = write_models(project, "id, cast(raise_error('bomb') as int) as v, day, ts")
    run = project.dbt("run")
    for name in names:
        assert run.status[name] == "error", name
        assert project.ledger(name, "state")[-1] == ("failed",), name
    write_models(project)
    project.build()
    for name in names:
        assert {row["id"] for row in rows_of(project, name)} == {1, 2}, name


KEYS = {
    "mapped": ("map('a', id) as id, v, ts", "unique_key: got", "expected a type that can be compared"),
    "variant": ("parse_json(cast(id as string)) as id, v, ts", "unique_key: got", "a type that can be compared"),
    "nested": ("struct(map('a', id) as m) as id, v, ts", "unique_key: got", "a type that can be compared"),
    "missing": ("v, ts", 'unique_key: got "id"', "expected a column of the SELECT"),
    "ours": ("id, v, ts, 1 as _floodmark_rank", "a column _floodmark_rank", "no column that floodmark writes itself"),
}  # fmt: skip


@pytest.mark.long("thrift")
def test_keys_that_cannot_be_one_are_refused_before_anything_is_written(
    make_project: Callable[..., Project],
) -> None:
    """No table, no stage: a map, a variant, a column that is not there."""
    project = make_project("keys")
    make_source(project)
    for name, (select, _, _) in KEYS.items():
        project.model(
            name,
            incremental(
                table("src"),
                select,
                incremental_strategy="merge",
                unique_key="id",
                watermark={"column": "ts"},
            ),
        )
    run = project.dbt("run")
    for name, (_, got, expected) in KEYS.items():
        said = sentence(run.message[name])
        assert got in said and expected in said, said
    assert {row[1] for row in project.sql(f"show tables in {project.schema}")} == {"src"}
    stages = project.sql(f"show tables in {project.schema}_floodmark like 'stage__*'")
    assert not stages


def stage_files(project: Project, model: str) -> list[Path]:
    """The data files of the stages of a model, those that a crash left."""
    found = []
    for row in project.sql(
        f"show tables in {project.schema}_floodmark like 'stage__*__{model}__*'"
    ):
        described = project.sql(f"describe extended {project.schema}_floodmark.{row[1]}")
        location = next(value for key, value, *_ in described if key == "Location")
        found += sorted(Path(unquote(urlparse(location).path)).glob("part-*.parquet"))
    return found


def lose_all(files: list[Path]) -> None:
    for file in files:
        file.unlink()


def lose_one(files: list[Path]) -> None:
    max(files, key=lambda file: file.stat().st_size).unlink()


def cut_short(files: list[Path]) -> None:
    file = max(files, key=lambda file: file.stat().st_size)
    os.truncate(file, file.stat().st_size // 2)
    file.with_name(f".{file.name}.crc").unlink(missing_ok=True)


CUTS = {
    "merge": "before: merge into",
    "overwrite": "before: insert into .* replace where",
    "latest": "before: merge into",
    "periods": "before: merge into",
}


@pytest.mark.long("session")
@pytest.mark.parametrize("tamper", [lose_all, lose_one, cut_short])
def test_a_stage_that_is_not_whole_is_staged_anew(
    make_project: Callable[..., Project], tamper: Callable[[list[Path]], None]
) -> None:
    """Nothing is applied yet: the next run reads the rows again and loses none."""
    project = make_project(f"stages_{tamper.__name__}")
    schema = project.schema
    make_source(project)
    write_models(project, "/*+ repartition(3, id) */ *")
    project.build("--select", *CUTS)
    rows = ", ".join(f"({i}, {i}, date'2024-05-02', {AT} + interval 1 day)" for i in range(10, 22))
    project.sql(f"insert into {schema}.src values {rows}")
    with injected(Faults(dict(CUTS))):
        assert not project.dbt("run", "--select", *CUTS).success
    for name in CUTS:
        files = stage_files(project, name)
        assert files, name
        tamper(files)
    project.build("--select", *CUTS)
    for name in CUTS:
        assert {row["id"] for row in rows_of(project, name)} == {1, 2, *range(10, 22)}, name
        assert project.ledger(name, "state")[-1] == ("committed",), name


@pytest.mark.long("session")
@pytest.mark.parametrize("tamper", [lose_one, cut_short])
def test_half_a_batch_whose_stage_is_not_whole_names_the_way_out(
    make_project: Callable[..., Project], tamper: Callable[[list[Path]], None]
) -> None:
    """cdc has written what it remembers: the other half is refused, and a full refresh loads all."""
    project = make_project(f"halves_{tamper.__name__}")
    schema = project.schema
    make_source(project)
    write_models(project, "/*+ repartition(3, id) */ *")
    names = ["latest", "periods"]
    project.build("--select", *names)
    rows = ", ".join(f"({i}, {i}, date'2024-05-02', {AT} + interval 1 day)" for i in range(10, 22))
    late = f"(3, -3, date'2024-05-02', {AT} + interval 1 day), (1, 7, date'2024-04-01', {AT} - interval 1 day)"
    project.sql(f"insert into {schema}.src values {rows}, {late}")
    cut = f"before: (merge|insert) into {schema}\\.(latest|periods)\\b(?!__)"
    with injected(Faults(dict.fromkeys(names, cut))):
        assert not project.dbt("run", "--select", *names).success
    for name in names:
        tamper(stage_files(project, name))
    run = project.dbt("run", "--select", *names)
    for name in names:
        said = sentence(run.message[name])
        assert "half of batch 2 is written, and its staging table" in said, (name, said)
        assert "so the other half cannot be: run it once with --full-refresh" in said
    project.build("--select", *names, "--full-refresh")
    for name in names:
        assert {row["id"] for row in rows_of(project, name)} == {1, 2, *range(10, 22)}, name
