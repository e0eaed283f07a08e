"""Credentials in paths are found and masked, by the macros and by the command alike."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from dbt_floodmark import secrets
from tests.support.macros import Refused, load

WITH_SECRETS = {
    "s3a://AKIA1:PW/with+slash@bucket/in": "s3a://AKIA1:***@bucket/in",
    "s3a://user:1234@bucket/x": "s3a://user:***@bucket/x",
    "s3a://user%3APW@bucket/x": "s3a://user%3A***@bucket/x",
    "https://host/in?token=PW": "https://host/in?token=***",
    "https://host/in?a=1&access_token=PW&b=2": "https://host/in?a=1&access_token=***&b=2",
    "wasbs://c@a.blob.core.windows.net/in?sv=1&sig=PW%3D": "wasbs://c@a.blob.core.windows.net/in?sv=1&sig=***",
    "s3://b/x?X-Amz-Signature=PW&X-Amz-Credential=PW": "s3://b/x?X-Amz-Signature=***&X-Amz-Credential=***",
    "s3://b/x?AWSAccessKeyId=PW": "s3://b/x?AWSAccessKeyId=***",
    "s3a://b/in?access.key=PW&fs.s3a.secret.key=PW": "s3a://b/in?access.key=***&fs.s3a.secret.key=***",
    "jdbc:postgresql://h/db;password=PW": "jdbc:postgresql://h/db;password=***",
    "password = PW": "password = ***",
    "LoginModule required username='u' password='PW';": "LoginModule required username='u' password='***';",
}
WITHOUT = [
    "abfss://container@account.dfs.core.windows.net/in",
    "hdfs://namenode:8020/in/a@b",
    "hdfs://namenode:8020",
    "s3a://bucket/token=a/sig=b",
    "in/day=2024-01-01/*.json",
    "/data/passwords/x.json",
    "file:///in/a:b@c",
    "s3a://bucket/in?versionId=3",
    "orders@v12",
]


@pytest.fixture(scope="module")
def floodmark() -> SimpleNamespace:
    return load()


@pytest.mark.parametrize("path", WITH_SECRETS)
def test_a_secret_is_found_and_masked(floodmark: SimpleNamespace, path: str) -> None:
    assert secrets.has_secret(path) and floodmark._has_secret(path)
    assert secrets.masked(path) == floodmark._masked(path) == WITH_SECRETS[path]
    assert "PW" not in floodmark._masked(f'x: got {{"path": "{path}", "a": 1}}; expected')


@pytest.mark.parametrize("path", WITHOUT)
def test_what_only_looks_like_one(floodmark: SimpleNamespace, path: str) -> None:
    assert not secrets.has_secret(path) and not floodmark._has_secret(path)
    assert secrets.masked(path) == floodmark._masked(path) == path


def test_where_secrets_belong_is_said_alike(floodmark: SimpleNamespace) -> None:
    assert floodmark._where_secrets_belong() == secrets.PLACE


@pytest.mark.parametrize(
    ("setting", "got"),
    [
        ("files.options.fs.s3a.secret.key", "PW"),
        ("files.secret_key", "PW"),
        ("meta.floodmark.token", 17),
        (
            "files",
            {"path": "in", "options": {"fs.s3a.access.key": "PW", "a": [{"password": "PW"}]}},
        ),
        ("files", {"path": "s3a://u:PW@b/x"}),
    ],
)
def test_a_problem_does_not_print_what_a_secret_is_set_to(
    floodmark: SimpleNamespace, setting: str, got: object
) -> None:
    problem = {"setting": setting, "got": got, "expected": "another", "todo": "Do it"}
    with pytest.raises(Refused) as refused:
        floodmark._refuse([problem], what="the run")
    assert "PW" not in str(refused.value) and "17" not in str(refused.value)
    assert "***" in str(refused.value) and f"- {setting}: got " in str(refused.value)
    # What else a value says stays.
    assert ("s3a://u:***@b/x" in str(refused.value)) == ("s3a:" in str(got))


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"fs.s3a.secret.key": "PW"}, ["fs.s3a.secret.key"]),
        ({"rowTag": "r", "rowValidationXSDPath": "s3a://u:PW@b/x.xsd"}, ["rowValidationXSDPath"]),
        ({"rowTag": "r", "rowValidationXSDPath": "s3a://b/x.xsd", "nullValue": "token"}, []),
    ],
)
def test_options_of_files_hold_no_credentials(
    floodmark: SimpleNamespace, options: dict[str, str], named: list[str]
) -> None:
    problems = floodmark._reader_option_problems(
        {"format": "xml", "options": {"rowTag": "r"} | options}
    )
    assert [one["setting"] for one in problems] == [f"files.options.{name}" for name in named]
    for one in problems:
        assert one["got"] == "***" and one["todo"] == secrets.PLACE
        assert one["expected"] == "no credentials, which would appear in logs and in target/"
