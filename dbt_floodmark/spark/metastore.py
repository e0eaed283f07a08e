"""Hive's own tables in the database of a metastore that processes share.

Hive can make them one by one as it needs them, but on PostgreSQL two of its connections then wait
for each other for ever: they are made all at once, before the first session.
"""

from __future__ import annotations

import re
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dbt_floodmark.errors import FloodmarkError
from dbt_floodmark.spark.conf import METASTORE_URIS, METASTORE_URL, metastore_name, spark_conf
from dbt_floodmark.spark.gateway import launch_jvm
from dbt_floodmark.spark.home import Workplace
from dbt_floodmark.spark.jars import pyspark_jars, require_jars, require_metastore_driver
from dbt_floodmark.spark.java import find_java
from dbt_floodmark.spark.messages import root_cause
from dbt_floodmark.versions import HIVE_SCHEMA

_HADOOP = "spark.hadoop."
_MODEL = "org.apache.hadoop.hive.metastore.model."


def make_metastore(home: Path, parameters: Mapping[str, str]) -> bool:
    """Make Hive's tables in an empty database; return False where they are there already.

    Args:
        home: floodmark's home, for the log.
        parameters: the `server_side_parameters` of a target.

    Raises:
        FloodmarkError: Derby's metastore, no driver, or the database cannot be worked with.
    """
    from py4j.protocol import Py4JJavaError

    find_java()
    workplace = Workplace.session(home)
    conf = spark_conf(workplace, require_jars(), parameters)
    if not conf[METASTORE_URL].startswith("jdbc:postgresql:") or conf.get(METASTORE_URIS):
        raise FloodmarkError(
            "Its metastore is not in PostgreSQL: Derby and metastore servers create their tables "
            "themselves; for other databases use Hive's schematool."
        )
    require_metastore_driver(conf)
    workplace.create()
    launch_jvm(workplace, conf)
    from pyspark import SparkContext

    try:
        return _make(SparkContext._gateway.jvm, conf)
    except Py4JJavaError as exc:
        said = root_cause(str(exc))
        raise FloodmarkError(f"The metastore at {metastore_name(conf)} said: {said}.") from exc


def _make(jvm: Any, conf: Mapping[str, str]) -> bool:
    given = {key[len(_HADOOP) :]: value for key, value in conf.items() if key.startswith(_HADOOP)}
    version = _version(jvm, given)
    if version == HIVE_SCHEMA:
        return False
    if version is not None:
        raise FloodmarkError(
            f"The metastore at {metastore_name(conf)} has Hive's tables of version {version}, and "
            f"Spark's Hive needs {HIVE_SCHEMA}: name another database, or set "
            "spark.sql.hive.metastore.version and spark.sql.hive.metastore.jars."
        )
    hive = jvm.org.apache.hadoop.hive.conf.HiveConf()
    for key, value in {
        **given,
        "datanucleus.schema.autoCreateAll": "true",
        "hive.metastore.schema.verification": "false",
        "hive.metastore.schema.verification.record.version": "true",
        "hive.metastore.warehouse.dir": conf["spark.sql.warehouse.dir"],
    }.items():
        hive.set(key, value)
    store = jvm.org.apache.hadoop.hive.metastore.ObjectStore()
    store.setConf(hive)
    factory = store.getClass().getDeclaredField("pmf")
    factory.setAccessible(True)
    names = jvm.java.util.HashSet()
    for name in _classes():
        names.add(name)
    manager = factory.get(None).getNucleusContext().getStoreManager()
    manager.createSchemaForClasses(names, jvm.java.util.Properties())
    # Its database and roles take numbers, and so the table of numbers is made, too.
    jvm.org.apache.hadoop.hive.metastore.HiveMetaStoreClient(hive).close()
    # Last: whoever finds a version finds all tables.
    store.setMetaStoreSchemaVersion(HIVE_SCHEMA, "floodmark")
    return True


def _version(jvm: Any, conf: Mapping[str, str]) -> str | None:
    """Return the version that Hive's tables have, or None where there are none."""
    prefix = "javax.jdo.option.Connection"
    jvm.java.lang.Class.forName(conf[f"{prefix}DriverName"])
    connection = jvm.java.sql.DriverManager.getConnection(
        conf[f"{prefix}URL"], conf.get(f"{prefix}UserName"), conf.get(f"{prefix}Password")
    )
    try:
        tables = connection.getMetaData().getTables(None, None, "VERSION", None)
        if not tables.next():
            return None
        rows = connection.createStatement().executeQuery('select "SCHEMA_VERSION" from "VERSION"')
        return str(rows.getString(1)) if rows.next() else None
    finally:
        connection.close()


def _classes() -> list[str]:
    """Return the classes that Hive's jar says it keeps in the database."""
    (jar,) = pyspark_jars().glob("hive-metastore-*.jar")
    with zipfile.ZipFile(jar) as opened:
        described = opened.read("package.jdo").decode()
    return [_MODEL + name for name in re.findall(r'<class name="(\w+)"', described)]
