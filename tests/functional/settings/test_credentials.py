"""Credentials in paths are refused before anything runs, and stand in no message, log or compiled SQL."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pytest

from tests.support.harness import Project, Run, sentence

pytestmark = [pytest.mark.long("session"), pytest.mark.edge]

SECRET = "hVRYpw9"
FILES = (
    "{{{{ config(materialized='{how}', files={{'path': '{path}', 'schema': 'a int'}}{more}) }}}}\n"
    "select a from {{{{ floodmark.new_files() }}}}"
)
#: Paths, and how they are shown.
PATHS = {
    f"s3a://AKIA:{SECRET}@bucket/in": "s3a://AKIA:***@bucket/in",
    f"https://host/in?token={SECRET}": "https://host/in?token=***",
    f"wasbs://c@a.net/in?sv=1&sig={SECRET}": "wasbs://c@a.net/in?sv=1&sig=***",
    f"s3a://bucket/in?password={SECRET}": "s3a://bucket/in?password=***",
}
KAFKA = {
    "kafka.sasl.jaas.config": f'PlainLoginModule required username="u" password="{SECRET}";',
    "kafka.ssl.keystore.password": SECRET,
}
MODELS = {
    f"path_{number}": FILES.format(how="incremental", path=path, more="")
    for number, path in enumerate(PATHS)
} | {
    "more": FILES.format(
        how="incremental", path=f"s3a://u:{SECRET}@b/in", more=", location_root='s3a://u:x1y2z@b/t'"
    ).replace("{{ floodmark.new_files() }}", "values (1) as t(a)"),
}
STREAMS = {
    "stream_path": FILES.format(how="streaming_table", path=f"s3a://u:{SECRET}@b/in", more=""),
    "stream_checkpoint": FILES.format(
        how="streaming_table", path="in", more=f", checkpoint_location='s3a://u:{SECRET}@b/c'"
    ),
    "stream_by_sql": "{{ config(materialized='streaming_table') }}\n"
    f"select a from stream(json.`s3a://u:{SECRET}@b/in`) with (schema = 'a int')",
    "doubled": "{{ config(materialized='streaming_table') }}\n"
    "select a, b, b as B from stream({{ source('raw', 'feed') }})",
} | {
    f"kafka_{number}": "{{ config(materialized='streaming_table') }}\n"
    f"select * from {{{{ floodmark.kafka_stream('host:9092', 't', options={ {name: value}!r}) }}}}"
    for number, (name, value) in enumerate(KAFKA.items())
}


@dataclass
class Refused:
    """One run of models that are all refused."""

    project: Project
    run: Run

    def said(self, name: str) -> str:
        assert self.run.status[name] == "error"
        assert SECRET not in self.run.message[name]
        return sentence(self.run.message[name])


@pytest.fixture(scope="module")
def refused(make_project: Callable[..., Project]) -> Refused:
    project = make_project("credentials")
    project.sql(f"create table {project.schema}.feed (a int, b string) using delta")
    project.source("feed")
    for name, sql in (MODELS | (STREAMS if project.target == "session" else {})).items():
        project.model(name, sql)
    return Refused(project, project.dbt("run"))


def test_no_secret_is_written(refused: Refused) -> None:
    assert not refused.run.success
    assert not [name for name, text in refused.run.message.items() if SECRET in text]
    written = [
        file
        for folder in ("compiled", "run")
        for file in (refused.project.root / "target" / folder).rglob("*")
        if file.is_file()
    ]
    # A path in the SELECT itself is in what dbt compiles before floodmark sees it.
    written = [file for file in written if file.name != "stream_by_sql.sql"]
    assert not [file for file in written if SECRET in file.read_text()]


@pytest.mark.parametrize("number", range(len(PATHS)))
def test_a_secret_in_the_path_of_files(refused: Refused, number: int) -> None:
    said = refused.said(f"path_{number}")
    shown = list(PATHS.values())[number]
    assert (
        f'files.path: got "{shown}"; expected a path without credentials, which would appear in logs and in target/. '
        "Put them in the profile's server_side_parameters" in said
    )
    assert "spark.hadoop.fs.s3a.access.key" in said


def test_another_problem_of_the_same_setting_shows_it_neither(refused: Refused) -> None:
    said = refused.said("more")
    assert (
        "files: got {" in said
        and "location_root: got" in said
        and "x1y2z" not in said.split("floodmark refuses")[1]
    )


def test_a_secret_in_a_diff(refused: Refused) -> None:
    path = f"s3a://u:{SECRET}@bucket/x"
    arguments = "{a: " + path + ", b: src, key: id}"
    run = refused.project.dbt("run-operation", "floodmark.diff", "--args", arguments)
    assert not run.success
    assert "floodmark diff: A got 's3a://u:***@bucket/x': expected a path without" in sentence(
        run.log
    )


def test_secrets_of_a_stream(refused: Refused) -> None:
    if refused.project.target != "session":
        pytest.skip("a stream lives in the dbt process")
    assert 'files.path: got "s3a://u:***@b/in"' in refused.said("stream_path")
    assert 'checkpoint_location: got "s3a://u:***@b/c"' in refused.said("stream_checkpoint")
    said = refused.said("stream_by_sql")
    assert "got 's3a://u:***@b/in' in stream(): expected a path without credentials" in said
    for number, name in enumerate(KAFKA):
        said = refused.said(f"kafka_{number}")
        assert f'kafka_stream.options.{name}: got "***"; expected no credentials' in said


def test_a_stream_with_a_column_that_comes_twice(refused: Refused) -> None:
    if refused.project.target != "session":
        pytest.skip("a stream lives in the dbt process")
    assert (
        'SELECT: got "a column b twice in the SELECT, as b and B"; expected each column once'
        in refused.said("doubled")
    )
    project = refused.project
    assert "called by" not in refused.run.message["doubled"]
    assert not project.sql(f"show tables in {project.schema} like 'doubled'")
