"""Credentials in paths are refused before anything runs, and stand in no message, log or compiled SQL."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.harness import Project, sentence

SECRET = "hVRYpw9"
FILES = (
    "{{{{ config(materialized='{how}', files={{'path': '{path}', 'schema': 'a int'}}{more}) }}}}\n"
    "select a from {{{{ floodmark.new_files() }}}}"
)


@pytest.fixture(scope="module")
def project(make_project: Callable[..., Project]) -> Project:
    return make_project("credentials")


def refused(project: Project, name: str, sql: str) -> str:
    project.model(name, sql)
    run = project.dbt("run", "--select", name)
    assert not run.success
    assert SECRET not in run.message.get(name, "")
    assert "expected" in run.log
    (project.root / "models" / f"{name}.sql").unlink()
    written = [
        file
        for folder in ("compiled", "run")
        for file in (project.root / "target" / folder).rglob("*")
        if file.is_file()
    ]
    assert not [file for file in written if SECRET in Path(file).read_text()]
    return sentence(run.log)


@pytest.mark.parametrize(
    ("path", "shown"),
    [
        (f"s3a://AKIA:{SECRET}@bucket/in", "s3a://AKIA:***@bucket/in"),
        (f"https://host/in?token={SECRET}", "https://host/in?token=***"),
        (f"wasbs://c@a.net/in?sv=1&sig={SECRET}", "wasbs://c@a.net/in?sv=1&sig=***"),
        (f"s3a://bucket/in?password={SECRET}", "s3a://bucket/in?password=***"),
    ],
)
def test_a_secret_in_the_path_of_files(project: Project, path: str, shown: str) -> None:
    said = refused(project, "secret", FILES.format(how="incremental", path=path, more=""))
    assert (
        f'files.path: got "{shown}"; expected a path without credentials, which stand in logs and in target/. '
        "Write them into the profile's server_side_parameters" in said
    )
    assert "spark.hadoop.fs.s3a.access.key" in said


def test_another_problem_of_the_same_setting_shows_it_neither(project: Project) -> None:
    sql = FILES.format(
        how="incremental", path=f"s3a://u:{SECRET}@b/in", more=", location_root='s3a://u:x1y2z@b/t'"
    )
    said = refused(
        project, "more", sql.replace("{{ floodmark.new_files() }}", "values (1) as t(a)")
    )
    assert (
        "files: got {" in said
        and "location_root: got" in said
        and "x1y2z" not in said.split("floodmark refuses")[1]
    )


def test_a_secret_in_a_diff(project: Project) -> None:
    path = f"s3a://u:{SECRET}@bucket/x"
    arguments = "{a: " + path + ", b: src, key: id}"
    run = project.dbt("run-operation", "floodmark.diff", "--args", arguments)
    assert not run.success
    assert "floodmark diff: A got 's3a://u:***@bucket/x': expected a path without" in sentence(
        run.log
    )


def test_secrets_of_a_stream(project: Project) -> None:
    if project.target != "session":
        pytest.skip("a stream lives in the dbt process")
    how = {"how": "streaming_table", "path": f"s3a://u:{SECRET}@b/in", "more": ""}
    assert 'files.path: got "s3a://u:***@b/in"' in refused(project, "s1", FILES.format(**how))
    checkpoint = f", checkpoint_location='s3a://u:{SECRET}@b/c'"
    said = refused(project, "s2", FILES.format(**how | {"path": "in", "more": checkpoint}))
    assert 'checkpoint_location: got "s3a://u:***@b/c"' in said
    kafka = (
        "{{ config(materialized='streaming_table') }}\n"
        "select * from {{ floodmark.kafka_stream('host:9092', 't', options=%s) }}"
    )
    for name, value in {
        "kafka.sasl.jaas.config": f'PlainLoginModule required username="u" password="{SECRET}";',
        "kafka.ssl.keystore.password": SECRET,
    }.items():
        said = refused(project, "s3", kafka % repr({name: value}))
        assert f'kafka_stream.options.{name}: got "***"; expected no credentials' in said


def test_a_stream_with_a_column_that_comes_twice(project: Project) -> None:
    if project.target != "session":
        pytest.skip("a stream lives in the dbt process")
    project.sql(f"create table {project.schema}.feed (a int, b string) using delta")
    project.source("feed")
    project.model(
        "doubled",
        "{{ config(materialized='streaming_table') }}\nselect a, b, b as B from stream({{ source('raw', 'feed') }})",
    )
    run = project.dbt("run", "--select", "doubled")
    assert (
        'SELECT: got "a column b twice in the SELECT, as b and B"; expected each column once'
        in sentence(run.message["doubled"])
    )
    assert "called by" not in run.message["doubled"]
    assert not project.sql(f"show tables in {project.schema} like 'doubled'")
