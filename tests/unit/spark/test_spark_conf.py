"""The settings that Spark is started with. No Spark."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

from dbt_floodmark.spark.conf import CLASS_PATH, LOCAL_JAR, spark_conf
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


@pytest.mark.parametrize("master", ["yarn", "spark://host:7077", "k8s://https://host"])
def test_clusters_keep_them(tmp_path, master):
    given = {"spark.master": master, CLASS_PATH: "/given/a.jar"}
    conf = spark_conf(Workplace.session(tmp_path), [Path("/jars/delta.jar")], given)
    assert conf[CLASS_PATH] == "/jars/delta.jar:/given/a.jar"
