"""What people do to a warehouse: a ledger changed by hand, an alias twice, a model renamed."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.functional.test_corrections import AT, merged, rows_of
from tests.harness import Project, incremental, sentence, table


@pytest.fixture
def project(make_project: Callable[..., Project], request: pytest.FixtureRequest) -> Project:
    made = make_project(request.node.originalname.removeprefix("test_")[:20])
    made.sql(f"create table {made.schema}.src (id int, n bigint, ts timestamp) using delta")
    made.sql(f"insert into {made.schema}.src values (1, 1, {AT}), (2, 2, {AT} + interval 1 hour)")
    made.source("src")
    return made


@pytest.mark.long("thrift")
def test_a_mark_that_is_none_stops_the_run(project: Project) -> None:
    """A ledger changed by hand is no reason to load everything again beside what is there."""
    log = f"{project.schema}_floodmark.batch_log"
    project.model("by_time", incremental(table("src"), watermark={"column": "ts"}))
    project.model("by_number", incremental(table("src"), watermark={"column": "n"}))
    project.model("merged", merged("src"))
    names = ("by_time", "by_number", "merged")
    project.build()
    project.sql(f"update {log} set mark = 'yesterday' where mark is not null")
    project.sql(f"insert into {project.schema}.src values (3, 3, {AT} + interval 2 hours)")
    run = project.dbt("run")
    for name, family in zip(names, ("timestamp", "sequence", "timestamp"), strict=True):
        said = sentence(run.message[name])
        assert f"the ledger has 'yesterday' as its mark, which is no {family}: somebody" in said, (
            said
        )
        assert f"or set the mark with `floodmark reset {name} --to <value>`" in said, said
        assert len(rows_of(project, name)) == 2, name


@pytest.mark.long("thrift")
def test_one_alias_in_two_models_of_one_schema_is_refused(project: Project) -> None:
    """dbt itself tells: no table has two models."""
    for name in ("one", "two"):
        sql = incremental(table("src"), watermark={"column": "ts"})
        project.model(name, sql.replace("config(", "config(alias='same', ", 1))
    run = project.dbt("run")
    assert not run.success and not run.status
    assert "two resources with the database representation" in sentence(run.log)


@pytest.mark.long("thrift")
def test_a_renamed_model_is_a_new_one_and_leaves_the_old_table(project: Project) -> None:
    """Its first run is a first load; the table that it had stays as it was."""
    project.model("before", merged("src"))
    project.build()
    (project.root / "models" / "before.sql").rename(project.root / "models" / "after.sql")
    project.sql(f"insert into {project.schema}.src values (3, 3, {AT} + interval 2 hours)")
    project.build()
    assert {row["id"] for row in rows_of(project, "after")} == {1, 2, 3}
    assert {row["id"] for row in rows_of(project, "before")} == {1, 2}
    assert project.ledger("after", "kind") == [("first_load",)]
