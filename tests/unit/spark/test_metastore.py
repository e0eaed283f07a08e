"""Settings of a metastore that processes share: what is recognised, hidden, and missing."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from dbt_floodmark.cli.doctor import check_metastore
from dbt_floodmark.errors import JarsError
from dbt_floodmark.spark.conf import (
    METASTORE_URIS,
    METASTORE_URL,
    is_shared_metastore,
    metastore_name,
    spark_conf,
    without_secrets,
)
from dbt_floodmark.spark.home import Workplace
from dbt_floodmark.spark.jars import require_metastore_driver
from dbt_floodmark.spark.messages import root_cause
from dbt_floodmark.spark.properties import properties_options

POSTGRESQL = {METASTORE_URL: "jdbc:postgresql://db/metastore?user=hive&password=hush"}


@pytest.mark.parametrize(
    ("conf", "is_shared"),
    [
        ({}, False),
        ({METASTORE_URL: "jdbc:derby:;databaseName=/x;create=true"}, False),
        ({METASTORE_URL: "jdbc:derby://db:1527/x"}, True),
        (POSTGRESQL, True),
        ({METASTORE_URIS: "thrift://hive:9083"}, True),
    ],
)
def test_which_metastores_are_shared(conf, is_shared):
    assert is_shared_metastore(conf) is is_shared


def test_processes_of_a_shared_metastore_have_one_warehouse(tmp_path):
    """Not that of Derby's: its folders are full of tables that the other metastore does not know."""
    places = [
        spark_conf(workplace, [], parameters)["spark.sql.warehouse.dir"]
        for parameters in ({}, POSTGRESQL)
        for workplace in (Workplace.session(tmp_path), Workplace.thrift(tmp_path))
    ]
    assert places == [
        str(tmp_path / place)
        for place in (
            "session/warehouse",
            "thrift/warehouse",
            "shared/warehouse",
            "shared/warehouse",
        )
    ]


def test_secrets_do_not_go_on_a_command_line():
    conf = POSTGRESQL | {"spark.hadoop.a.ConnectionPassword": "x", "b.access.key": "y", "c": "d"}
    shown, secret = without_secrets(conf)
    assert shown == {"c": "d"} and shown | secret == conf


def test_secrets_of_a_server_are_written_for_their_owner_alone(tmp_path):
    workplace = Workplace.thrift(tmp_path).create()
    # A process that was killed left one, another starts beside us.
    (workplace.root / f"secret-{2**22 + 1}").touch()
    beside = workplace.root / f"secret-{os.getppid()}"
    beside.touch()
    with properties_options(workplace, {"a.password": " \\n#é=𝄞"}) as options:
        option, name, *others = options
        file = Path(name)
        # The user's spark-defaults.conf counts as it does without secrets.
        assert (option, others) == ("--properties-file", ["--load-spark-defaults"])
        assert sorted(workplace.root.glob("secret-*")) == sorted([file, beside])
        assert file.stat().st_mode & 0o777 == 0o600
        assert file.read_text() == (
            "a.password=\\u0020\\u005cn\\u0023\\u00e9\\u003d\\ud834\\udd1e\n"
        )
    assert list(workplace.root.glob("secret-*")) == [beside]
    with properties_options(workplace, {}) as options:
        assert options == []


@pytest.mark.parametrize(
    ("conf", "is_there"),
    [
        ({"spark.driver.extraClassPath": "/x/delta.jar:/y/postgresql-42.7.7.jar"}, True),
        ({"spark.jars": "/a.jar,/y/postgresql-42.7.7.jar"}, True),
        ({"spark.jars.packages": "org.postgresql:postgresql:42.7.7"}, True),
        ({"spark.driver.extraClassPath": "/drivers/*"}, True),
        ({"spark.driver.extraClassPath": "/home/postgresql-etl/delta.jar"}, False),
    ],
)
def test_the_driver_of_postgresql(conf, is_there, monkeypatch, tmp_path):
    monkeypatch.setenv("FLOODMARK_JARS", str(tmp_path))
    require_metastore_driver(conf)  # not asked for
    if is_there:
        require_metastore_driver(POSTGRESQL | conf)
        return
    with pytest.raises(JarsError) as caught:
        require_metastore_driver(POSTGRESQL | conf)
    assert str(caught.value) == (
        f"The metastore is on PostgreSQL and its JDBC driver is not in {tmp_path}: run `floodmark "
        "setup --with postgresql` once."
    )


def test_the_driver_need_not_be_named(tmp_path):
    conf = spark_conf(Workplace.session(tmp_path), [], POSTGRESQL)
    assert conf["spark.hadoop.javax.jdo.option.ConnectionDriverName"] == "org.postgresql.Driver"


def test_doctor_shows_where_a_shared_metastore_is_and_no_password(tmp_path, monkeypatch):
    monkeypatch.setenv("FLOODMARK_JARS", str(tmp_path))
    found = check_metastore(tmp_path, POSTGRESQL)
    assert (found.found, found.fix) == (
        "jdbc:postgresql://db/metastore",
        "run `floodmark setup --with postgresql` once",
    )
    (tmp_path / "postgresql").mkdir()
    (tmp_path / "postgresql" / "postgresql-42.7.7.jar").touch()
    found = check_metastore(tmp_path, POSTGRESQL)
    assert (found.found, found.ok) == (
        "jdbc:postgresql://db/metastore, for many processes at a time",
        True,
    )


def test_the_last_cause_tells():
    text = (
        "java.lang.RuntimeException: Unable to instantiate Client\n\tat a.B.c(D.java:1)\n"
        "Caused by: MetaException(message:x)\n\tat a.B.c(D.java:2)\n\t... 9 more\n"
        "Caused by: org.postgresql.util.PSQLException: Connection to 127.0.0.1:5 refused.\n\tat e.F.g(H.java:3)"
    )
    assert root_cause(text) == "Connection to 127.0.0.1:5 refused"


WITH_PASSWORD = {
    METASTORE_URL: "jdbc:mysql://hive:s3cret@db:3306/hive",
    METASTORE_URIS: "thrift://hive:9083,thrift://other:9083",
    "spark.jars.repositories": "https://ci:tok3n@nexus/maven",
}


def test_the_user_part_of_an_address_is_on_no_command_line():
    shown, secret = without_secrets(WITH_PASSWORD)
    assert list(shown) == [METASTORE_URIS] and shown | secret == WITH_PASSWORD


def test_the_name_of_a_metastore_has_no_password():
    assert metastore_name(WITH_PASSWORD) == WITH_PASSWORD[METASTORE_URIS]
    only = {METASTORE_URL: WITH_PASSWORD[METASTORE_URL]}
    assert metastore_name(only) == "jdbc:mysql://hive:***@db:3306/hive"
