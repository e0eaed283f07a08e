"""The settings that Spark is started with. No Spark."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

from dbt_floodmark.spark.conf import spark_conf
from dbt_floodmark.spark.home import Workplace

CLASS_PATH = "spark.driver.extraClassPath"


@pytest.mark.parametrize("master", [None, "local[2]"])
def test_on_one_machine_an_empty_file_stands_before_yarns_defaults(tmp_path, master):
    given = {} if master is None else {"spark.master": master}
    jars = [Path("/jars/delta.jar")]
    entries = spark_conf(Workplace.session(tmp_path), jars, given)[CLASS_PATH].split(":")
    assert entries[0] == "/jars/delta.jar"
    defaults = ElementTree.parse(Path(entries[1]) / "yarn-default.xml").getroot()
    assert defaults.tag == "configuration" and not list(defaults)


@pytest.mark.parametrize("master", ["yarn", "spark://host:7077", "k8s://https://host"])
def test_clusters_keep_them(tmp_path, master):
    given = {"spark.master": master, CLASS_PATH: "/given/a.jar"}
    conf = spark_conf(Workplace.session(tmp_path), [Path("/jars/delta.jar")], given)
    assert conf[CLASS_PATH] == "/jars/delta.jar:/given/a.jar"
