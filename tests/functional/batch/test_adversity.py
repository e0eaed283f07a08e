"""What people do to a warehouse: a ledger changed by hand, an alias twice, a model renamed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pytest

from tests.support.harness import FULL, Project, Run, incremental, sentence, table
from tests.support.rows import AT, rows_of
from tests.support.ways import merged

pytestmark = [pytest.mark.long("thrift"), pytest.mark.edge]

#: Models whose mark is changed by hand: one of each family, and with FLOODMARK_LAB=full a merge beside an append.
MARKED = {
    "by_time": ("timestamp", incremental(table("src"), watermark={"column": "ts"})),
    "by_number": ("sequence", incremental(table("src"), watermark={"column": "n"})),
} | ({"merged": ("timestamp", merged("src"))} if FULL else {})


@dataclass
class Story:
    project: Project
    run: Run
    doubled: Run


@pytest.fixture(scope="module")
def story(make_project: Callable[..., Project]) -> Story:
    """A run, hands on the ledger and on a model's name, another run; then two models of one alias."""
    project = make_project("story")
    s = project.schema
    project.sql(f"create table {s}.src (id int, n bigint, ts timestamp) using delta")
    project.sql(f"insert into {s}.src values (1, 1, {AT}), (2, 2, {AT} + interval 1 hour)")
    project.source("src")
    for name, (_, sql) in MARKED.items():
        project.model(name, sql)
    project.model("before", merged("src"))
    project.build()
    log = f"{s}_floodmark.batch_log"
    project.sql(f"update {log} set mark = 'yesterday' where mark is not null")
    (project.root / "models" / "before.sql").rename(project.root / "models" / "after.sql")
    project.sql(f"insert into {s}.src values (3, 3, {AT} + interval 2 hours)")
    run = project.dbt("run")
    for name in ("one", "two"):
        sql = incremental(table("src"), watermark={"column": "ts"})
        project.model(name, sql.replace("config(", "config(alias='same', ", 1))
    return Story(project, run, project.dbt("run"))


def test_a_mark_that_is_none_stops_the_run(story: Story) -> None:
    """A ledger changed by hand is no reason to load everything again beside what is there."""
    for name, (family, _) in MARKED.items():
        said = sentence(story.run.message[name])
        assert (
            f"the ledger has 'yesterday' as its mark, which is not a {family}. Somebody" in said
        ), said
        assert f"or set the mark with `floodmark reset {name} --to <value>`" in said, said
        assert len(rows_of(story.project, name)) == 2, name


def test_one_alias_in_two_models_of_one_schema_is_refused(story: Story) -> None:
    """dbt itself tells: no table has two models."""
    assert not story.doubled.success and not story.doubled.status
    assert "two resources with the database representation" in sentence(story.doubled.log)


def test_a_renamed_model_is_a_new_one_and_leaves_the_old_table(story: Story) -> None:
    """Its first run is a first load; the table that it had stays as it was."""
    assert story.run.status["after"] == "success", story.run.message["after"]
    assert {row["id"] for row in rows_of(story.project, "after")} == {1, 2, 3}
    assert {row["id"] for row in rows_of(story.project, "before")} == {1, 2}
    assert story.project.ledger("after", "kind") == [("first_load",)]
