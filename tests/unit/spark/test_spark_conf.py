"""The settings that Spark is started with. No Spark."""

from __future__ import annotations

import shlex
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

from dbt_floodmark.spark.conf import (
    CLASS_PATH,
    JAVA_OPTIONS,
    LOCAL_JAR,
    S3_CONF,
    SMALL_MACHINE_CONF,
    log_option,
    spark_conf,
    without_secrets,
)
from dbt_floodmark.spark.home import Workplace


@pytest.mark.parametrize("master", [None, "local[2]"])
def test_on_one_machine_an_empty_file_stands_before_yarns_defaults(tmp_path, master):
    given = {} if master is None else {"spark.master": master}
    jars = [Path("/jars/delta.jar")]
    entries = spark_conf(Workplace.session(tmp_path), jars, given)[CLASS_PATH].split(":")
    assert entries[0] == "/jars/delta.jar"
    defaults = ElementTree.parse(Path(entries[1]) / "yarn-default.xml").getroot()
    assert defaults.tag == "configuration" and not list(defaults)


def test_the_empty_file_is_in_a_jar_where_setup_has_made_one(tmp_path):
    (tmp_path / LOCAL_JAR).write_bytes(b"")
    jars = [tmp_path / "delta.jar"]
    entries = spark_conf(Workplace.session(tmp_path), jars)[CLASS_PATH].split(":")
    assert entries == [str(tmp_path / "delta.jar"), str(tmp_path / LOCAL_JAR)]


@pytest.mark.parametrize(
    ("given", "store"),
    [
        ({}, "io.delta.storage.LocalLogStore"),
        ({"spark.delta.logStore.file.impl": "own"}, "own"),
        ({"spark.master": "yarn"}, None),
    ],
)
def test_one_machine_writes_delta_logs_without_processes(tmp_path, given, store):
    conf = spark_conf(Workplace.session(tmp_path), [], given)
    assert conf.get("spark.delta.logStore.file.impl") == store


CLUSTERS = ["yarn", "spark://host:7077", "k8s://https://host"]


@pytest.mark.parametrize("master", CLUSTERS)
def test_clusters_keep_them(tmp_path, master):
    given = {"spark.master": master, CLASS_PATH: "/given/a.jar"}
    conf = spark_conf(Workplace.session(tmp_path), [Path("/jars/delta.jar")], given)
    assert conf[CLASS_PATH] == "/jars/delta.jar:/given/a.jar"


@pytest.mark.parametrize("master", CLUSTERS)
def test_executors_of_a_cluster_find_driver_and_jars(tmp_path, master):
    """The driver at 127.0.0.1 is another machine's, and its class path is its own."""
    jars = [Path("/jars/delta.jar"), Path("/jars/storage.jar")]
    given = {"spark.master": master}
    conf = spark_conf(Workplace.session(tmp_path), jars, given)
    assert not conf.keys() & SMALL_MACHINE_CONF.keys()
    assert conf["spark.jars"] == "/jars/delta.jar,/jars/storage.jar"
    given |= {"spark.jars": "/own/a.jar", "spark.driver.host": "10.0.0.1"}
    conf = spark_conf(Workplace.session(tmp_path), jars, given)
    assert conf["spark.jars"] == "/jars/delta.jar,/jars/storage.jar,/own/a.jar"
    assert conf["spark.driver.host"] == "10.0.0.1"


@pytest.mark.parametrize("mark", [" ", "=", " : ", "\t"])
@pytest.mark.parametrize(
    ("given", "jars"),
    [
        ({}, "/jars/delta.jar,/site/b.jar"),
        ({"spark.jars": "/own/a.jar"}, "/jars/delta.jar,/own/a.jar"),
    ],
)
def test_jars_of_sparks_own_defaults_reach_executors(tmp_path, monkeypatch, mark, given, jars):
    """What floodmark gives Spark takes the place of its defaults."""
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))
    text = f"spark.jars{mark}/old.jar\nspark.jarsx /no.jar\n# spark.jars /no.jar\nspark.jars{mark}/site/b.jar\n"
    (tmp_path / "spark-defaults.conf").write_text(text)
    conf = spark_conf(
        Workplace.session(tmp_path), [Path("/jars/delta.jar")], {"spark.master": "yarn", **given}
    )
    assert conf["spark.jars"] == jars


@pytest.mark.parametrize("given", [{}, {"spark.master": "local[2]"}])
def test_one_machine_keeps_to_itself(tmp_path, given):
    conf = spark_conf(Workplace.session(tmp_path), [Path("/jars/delta.jar")], given)
    assert conf.items() >= SMALL_MACHINE_CONF.items()
    assert conf["spark.driver.host"] == "127.0.0.1" and "spark.jars" not in conf


def test_s3_is_given_up_within_seconds_unless_somebody_says_other(tmp_path):
    limit = "spark.hadoop.fs.s3a.retry.limit"
    conf = spark_conf(Workplace.session(tmp_path), [])
    assert {key: conf[key] for key in S3_CONF} == S3_CONF and limit in S3_CONF
    conf = spark_conf(Workplace.session(tmp_path), [], {limit: 7})
    assert {key: conf[key] for key in S3_CONF} == S3_CONF | {limit: "7"}


def test_keys_of_s3_are_on_no_command_line():
    keys = {
        f"spark.hadoop.fs.s3a.{name}": "x"
        for name in (
            "access.key",
            "secret.key",
            "session.token",
            "encryption.key",
            "bucket.landing.access.key",
            "bucket.landing.secret.key",
            "assumed.role.session.token",
        )
    }
    shown, secret = without_secrets(keys | {"spark.hadoop.fs.s3a.endpoint": "https://host"})
    assert shown == {"spark.hadoop.fs.s3a.endpoint": "https://host"}
    assert secret == keys


@pytest.mark.parametrize(
    "name", ["plain", "a b", "o'brien", 'say "hi"', "back\\slash", "tab\there", "all ' \" \\ of"]
)
def test_any_path_stays_one_option_of_the_jvm(tmp_path, name):
    """Spark's launcher takes them apart by the rules of a shell."""
    workplace = Workplace.session(tmp_path / name)
    options = shlex.split(spark_conf(workplace, [])[JAVA_OPTIONS])
    assert log_option(workplace) in options
    assert f"-Dderby.stream.error.file={workplace.root / 'derby.log'}" in options
    assert len(options) == 3
