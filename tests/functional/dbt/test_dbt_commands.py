"""dbt's own ways: retry, clone, --defer, ls, show, docs generate, source freshness, dispatch."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pytest
import yaml

from tests.support.harness import FULL, Project, Run, incremental, sentence, table

pytestmark = pytest.mark.long("session")

MERGE = {"incremental_strategy": "merge", "unique_key": "id", "watermark": {"column": "ts"}}
APPEND = {"watermark": {"column": "ts"}}

#: A package of the community's that overrides a macro of dbt's by dispatch.
COMMUNITY = "{% macro spark__current_timestamp() %}timestamp'2001-01-01 00:00:00Z'{% endmacro %}"


@dataclass
class Story:
    project: Project
    other: str
    state: str

    def dbt(self, *args: str, target: str | None = None) -> Run:
        return self.project.dbt(*args, *(("--target", target) if target else ()))


@pytest.fixture(scope="module")
def story(make_project: Callable[..., Project]) -> Iterator[Story]:
    """A project built once in `prod`; `dev` is a target of its own."""
    project = make_project("story")
    s = project.schema
    other = f"{s}_dev"
    for name in (other, f"{other}_floodmark"):
        project.sql(f"drop schema if exists {name} cascade")
    profiles = yaml.safe_load((project.root / "profiles.yml").read_text())
    outputs = profiles["shop"]["outputs"]
    outputs["dev"] = outputs[project.target] | {"schema": other}
    (project.root / "profiles.yml").write_text(yaml.safe_dump(profiles))
    project.sql(f"create table {s}.orders (id bigint, v string, ts timestamp) using delta")
    project.sql(f"insert into {s}.orders values (1, 'a', now() - interval 1 hour)")
    source = {
        "name": "raw",
        "schema": s,
        "loaded_at_field": "ts",
        "freshness": {"error_after": {"count": 1, "period": "day"}},
        "tables": [{"name": "orders"}],
    }
    (project.root / "models" / "sources.yml").write_text(yaml.safe_dump({"sources": [source]}))
    rules = [{"name": "has_text", "expect": "v is not null"}]
    merged = incremental(table("orders"), expectations=rules, **MERGE)
    project.model("merged", merged, 'description: "All orders"\ncolumns: [{name: v}]')
    project.model("appended", incremental(table("orders"), **APPEND))
    project.model("downstream", incremental("{{ ref('merged') }}", **MERGE))
    package = project.root / "dbt_packages" / "community"
    (package / "macros").mkdir(parents=True)
    (package / "dbt_project.yml").write_text("name: community\nversion: 1.0.0\nconfig-version: 2\n")
    (package / "macros" / "time.sql").write_text(COMMUNITY)
    (project.root / "packages.yml").write_text(
        "packages: [{local: dbt_packages/floodmark}, {local: dbt_packages/community}]\n"
    )
    config = yaml.safe_load((project.root / "dbt_project.yml").read_text())
    config["dispatch"] = [
        {"macro_namespace": "dbt", "search_order": ["shop", "community", "floodmark", "dbt"]}
    ]
    config["flags"]["write_json"] = True
    config["models"] = {"shop": {"+file_format": "delta"}}  # dbt-spark clones no other
    (project.root / "dbt_project.yml").write_text(yaml.safe_dump(config))
    project.model(
        "dispatched",
        "{{ config(materialized='table', file_format='delta') }}"
        "select {{ dbt.current_timestamp() }} as at",
    )
    state = project.root / "state"
    project.build()
    state.mkdir()
    (state / "manifest.json").write_text((project.root / "target" / "manifest.json").read_text())
    yield Story(project, other, str(state))
    for name in (other, f"{other}_floodmark"):
        project.sql(f"drop schema if exists {name} cascade")


def test_ls_and_selectors(story: Story) -> None:
    listed = story.dbt("ls", "--select", "config.incremental_strategy:merge", "--output", "name")
    assert {"merged", "downstream"} <= set(listed.log.split())
    assert "appended" not in listed.log.split()


def test_show_prints_the_rows_of_the_next_batch(story: Story) -> None:
    story.project.sql(f"insert into {story.project.schema}.orders values (2, 'b', now())")
    shown = story.dbt("show", "--select", "appended", "--output", "json")
    assert '"id": 2' in shown.log
    assert '"id": 1' not in shown.log


def test_docs_generate_has_every_model_and_its_lineage(story: Story) -> None:
    assert story.dbt("docs", "generate").success
    target = story.project.root / "target"
    catalog = json.loads((target / "catalog.json").read_text())
    assert {"model.shop.merged", "model.shop.appended"} <= set(catalog["nodes"])
    manifest = json.loads((target / "manifest.json").read_text())
    assert manifest["parent_map"]["model.shop.downstream"] == ["model.shop.merged"]
    merged = manifest["nodes"]["model.shop.merged"]
    rules = "All orders\n\n**Expectations**\n\n- `has_text` (warn): `v is not null`"
    assert merged["description"] == rules
    assert merged["columns"]["v"]["description"] == "Expected: `v is not null` (warn)."
    # Other commands, and what they compare, know the description as it was written.
    assert story.dbt("parse").success
    manifest = json.loads((target / "manifest.json").read_text())
    assert manifest["nodes"]["model.shop.merged"]["description"] == "All orders"


def test_source_freshness(story: Story) -> None:
    assert story.dbt("source", "freshness").success


@pytest.mark.edge
def test_retry_loads_what_failed(story: Story) -> None:
    project = story.project
    broken = incremental(
        table("orders"), "id, ts, cast(raise_error('broken') as string) as v", **MERGE
    )
    project.model("retried", broken)
    assert story.dbt("run", "--select", "retried", "merged").status["retried"] == "error"
    project.model("retried", incremental(table("orders"), **MERGE))
    run = story.dbt("retry")
    assert run.status["retried"] == "success"
    assert "merged" not in run.status
    assert project.sql(f"select count(*) from {project.schema}.retried") == [(2,)]
    (project.root / "models" / "retried.sql").unlink()


def test_other_packages_macros_go_before_dbts(story: Story) -> None:
    rows = story.project.sql(f"select year(at) from {story.project.schema}.dispatched")
    assert rows == [(2001,)]


@pytest.mark.edge
def test_defer_reads_the_other_targets_upstream(story: Story) -> None:
    run = story.dbt(
        "run", "--select", "downstream", "--defer", "--state", story.state, target="dev"
    )
    assert run.success, run.log
    project = story.project
    assert project.sql(f"select count(*) from {story.other}.downstream") == project.sql(
        f"select count(*) from {project.schema}.merged"
    )


@pytest.mark.edge
def test_a_deferred_model_is_tested_in_the_other_target(story: Story) -> None:
    """And so is what its rules look into: neither is in this one."""
    project = story.project
    before = {path: path.read_text() for path in (project.root / "models").glob("merged.*")}
    rule = "{'name': 'there', 'expect': floodmark.in_relation('id', 'appended') ~ ' or id > 1'}"
    settings = "incremental_strategy='merge', unique_key='id', watermark={'column': 'ts', 'from': 'raw.orders'}"
    project.model(
        "merged",
        f"{{{{ config(materialized='incremental', {settings}, expectations=[{rule}]) }}}}\n"
        f"select * from {table('orders')} where {{{{ floodmark.watermark_filter() }}}}\n",
        "data_tests: [floodmark.expectations_hold, floodmark.no_pii]",
    )
    project.sql(f"drop table if exists {story.other}.merged")
    run = story.dbt("test", "--select", "merged", "--defer", "--state", story.state, target="dev")
    assert run.success and list(run.status.values()).count("pass") == 2, run.log
    for path, text in before.items():
        path.write_text(text)


@pytest.mark.edge
def test_a_clone_has_rows_and_no_mark(story: Story) -> None:
    """merge loads from the start, once; append is refused until the mark is set, which test_disagreements.py has, too."""
    cloned = story.dbt(
        "clone", "--select", "merged", "appended", "--state", story.state, target="dev"
    )
    assert cloned.success, cloned.log
    run = story.dbt("run", "--select", "merged", "appended", target="dev")
    assert (run.status["merged"], run.status["appended"]) == ("success", "error")
    assert (
        f"{story.other}.appended has rows, but the ledger has no mark for it, so append cannot tell "
        "which rows are new: run it once with --full-refresh to load everything again, or set the "
        "mark with `floodmark reset appended --to <value>`"
    ) in sentence(run.message["appended"])
    project = story.project
    ids = project.sql(f"select id from {story.other}.merged order by id")
    assert ids == project.sql(f"select id from {project.schema}.orders order by id")
    if not FULL:
        return
    mark = project.mark("appended")
    done = story.dbt(
        "run-operation",
        "floodmark.reset",
        "--args",
        f"{{model: appended, to: '{mark}'}}",
        target="dev",
    )
    assert done.success, done.log
    assert story.dbt("run", "--select", "appended", target="dev").success
    assert project.sql(f"select id from {story.other}.appended order by id") == ids
