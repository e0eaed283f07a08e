"""Every way of loading under Spark's own defaults, as users run it: the other tests have settings that suit a few rows."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.support.faults import Faults, injected
from tests.support.harness import SPARK_PARAMETERS, Project
from tests.support.story_of_before import WAYS, deliver, make_tables, wrong

pytestmark = pytest.mark.long("session")

#: What Spark and Delta take where nobody sets it, of the settings of a session that the suite has changed.
DEFAULTS = {
    "spark.sql.adaptive.enabled": "true",
    "spark.sql.dataFrameQueryContext.enabled": "true",
    "spark.sql.codegen.wholeStage": "true",
    "spark.sql.codegen.factoryMode": "FALLBACK",
    "spark.sql.shuffle.partitions": "200",
    "spark.databricks.delta.snapshotPartitions": "50",
    "spark.databricks.delta.properties.defaults.checkpointInterval": "10",
}
LOADED = (
    "append",
    "merge",
    "overwrite",
    "version",
    "files",
    "latest",
    "history",
    "extracts",
    "nested_1",
    "stream_append",
    "stream_merge",
)
#: Way -> how many statements load a batch, and how many see that nothing is new.
STATEMENTS = {
    "append": (0, 0),
    "merge": (0, 0),
    "overwrite": (0, 0),
    "version": (0, 0),
    "files": (0, 0),
    "latest": (0, 0),
    "history": (0, 0),
    "extracts": (0, 0),
    "nested_1": (0, 0),
}


def test_every_way_of_loading(make_project: Callable[..., Project]) -> None:
    project = make_project("defaults")
    project.write_profile(server_side_parameters=SPARK_PARAMETERS | DEFAULTS)
    project.model(
        "seen",
        "{{ config(materialized='table') }}\n"
        + " union all ".join(
            f"select '{name}' as name, '${{{name}}}' as value" for name in DEFAULTS
        ),
    )
    make_tables(project)
    for way in LOADED:
        project.model(way, WAYS[way])
    for number in range(3):
        deliver(project, number)
    project.build()
    assert dict(project.sql(f"select name, value from {project.schema}.seen")) == DEFAULTS
    deliver(project, 3)
    with injected(Faults()) as loading:
        project.build("--exclude", "seen")
    assert wrong(project, {way: way for way in LOADED}) == {}
    with injected(Faults()) as idle:
        quiet = project.build("--exclude", "seen")
    assert {way for way in LOADED if not quiet.message[way].endswith("nothing new")} == set()
    # Both are counted without what one node asks for all.
    assert {
        way: (len(loading.sent[way]), len(idle.sent.get(way, []))) for way in STATEMENTS
    } == STATEMENTS
