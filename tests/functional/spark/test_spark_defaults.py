"""Every way of loading under Spark's own defaults, as users run it: the other tests have settings that suit a few rows."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.support.faults import Faults, injected
from tests.support.harness import SPARK_PARAMETERS, Project
from tests.support.story_of_before import WAYS, deliver, make_tables, wrong

pytestmark = [pytest.mark.edge, pytest.mark.long("session")]

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
    "files",
    "latest",
    "history",
    "extracts",
    "stream_append",
)
#: Way -> how many statements load a batch (docs/benchmarks.md), and how many see that nothing is new: without those that
#: one node sends for all (tests/support/faults.py). `append` and the feeds of cdc look for late rows, as it is the batch
#: behind a first load: later ones send three statements fewer.
STATEMENTS = {
    "append": (12, 2),
    "merge": (11, 2),
    "overwrite": (16, 2),
    "files": (13, 4),
    "latest": (17, 2),
    "history": (24, 2),
    "extracts": (18, 2),
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
    assert {
        way: (len(loading.sent[way]), len(idle.sent.get(way, []))) for way in STATEMENTS
    } == STATEMENTS
