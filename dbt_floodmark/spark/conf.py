"""The settings Spark is started with: Delta, the workplace, and a small machine's defaults."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path

from dbt_floodmark.secrets import has_secret, masked
from dbt_floodmark.spark.home import Workplace, spark_default

_RESOURCES = Path(__file__).resolve().parents[1] / "resources"

#: Nearly half of Hadoop's defaults are YARN's. Spark compresses each of them for every job that
#: writes, so on one machine an empty file stands before them (docs/decisions/0006).
LOCAL_FOLDER = _RESOURCES / "local"
#: The same as a jar beside Delta's, which `floodmark setup` makes (spark/archive.py).
LOCAL_JAR = "floodmark-local.jar"

CLASS_PATH = "spark.driver.extraClassPath"
JAVA_OPTIONS = "spark.driver.extraJavaOptions"
_JARS = "spark.jars"

DELTA_CONF = {
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
}

#: The database of Hive's metastore (DataNucleus).
METASTORE_URL = "spark.hadoop.javax.jdo.option.ConnectionURL"
#: Servers of Hive's metastore.
METASTORE_URIS = "spark.hadoop.hive.metastore.uris"
_DRIVER = "spark.hadoop.javax.jdo.option.ConnectionDriverName"

#: What Spark itself hides in its logs (`spark.redaction.regex`), and the keys of Azure, Google and
#: S3 that it does not know.
_SECRET = re.compile(
    r"secret|password|token|(?:access|account|private|encryption)[._-]?key|[.]sas(?:[.]|$)",
    re.IGNORECASE,
)
_PASSWORD = re.compile(r"password=", re.IGNORECASE)

#: What holds on every machine.
COMMON_CONF = {
    "spark.master": "local[*]",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    # Spark prints each plan for its page even where there is none; this is the short form.
    "spark.sql.ui.explainMode": "simple",
    # Spark keeps the compiled code of 100 steps of plans by default; one batch has more than fifty,
    # and what is compiled anew starts cold.
    "spark.sql.codegen.cache.maxEntries": "1000",
    # Delta keeps each table's log for an hour, with the session that read it: 4 MB each, and every
    # staged batch is a table (docs/decisions/0006).
    "spark.databricks.delta.delta.log.cacheSize": "100",
    # Else Spark walks the stack for every column that Delta's own code names.
    "spark.sql.dataFrameQueryContext.enabled": "false",
    "spark.sql.session.timeZone": "UTC",
    # DESCRIBE prints types with it: a struct of more fields would be cut short.
    "spark.sql.debug.maxToStringFields": "10000",
    # Else Hive logs a long stack trace whenever a column changes; Delta keeps the schema.
    "spark.hadoop.hive.metastore.disallow.incompatible.col.type.changes": "false",
}

#: Spark's and Delta's defaults are a cluster's; these cost seconds per statement on two cores.
#: They hold where the driver is all of Spark: executors elsewhere would look for it at 127.0.0.1.
SMALL_MACHINE_CONF = {
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.sql.shuffle.partitions": "4",
    # Each task that puts a table's state together writes the code for it first.
    "spark.databricks.delta.snapshotPartitions": "1",
    "spark.sql.sources.parallelPartitionDiscovery.threshold": "100000",
    # VACUUM lists a table in so many tasks; Spark's 10,000 take half a minute for a few rows.
    "spark.sql.sources.parallelPartitionDiscovery.parallelism": "16",
    "spark.sql.files.openCostInBytes": "65536",
    # Files of the log without Hadoop's FileContext, which starts ten processes a commit.
    "spark.delta.logStore.file.impl": "io.delta.storage.LocalLogStore",
}

#: Hadoop repeats for many minutes what S3 does not answer, and within each try the SDK repeats it
#: again. With these, a run gives up after a quarter of a minute where nothing listens, and after
#: four or five minutes where what it sends is lost. Hadoop takes no shorter time to connect.
S3_CONF = {
    "spark.hadoop.fs.s3a.attempts.maximum": "1",
    "spark.hadoop.fs.s3a.retry.limit": "3",
    "spark.hadoop.fs.s3a.connection.establish.timeout": "15s",
}


def spark_conf(
    workplace: Workplace, jars: list[Path], overrides: Mapping[str, str] | None = None
) -> dict[str, str]:
    """Return the settings of a Spark application in ``workplace``.

    ``overrides`` (the profile's ``server_side_parameters``) win, except that class path, jars and
    JVM options are added to ours.
    """
    given = {key: str(value) for key, value in (overrides or {}).items()}
    is_local = given.get("spark.master", COMMON_CONF["spark.master"]).startswith("local")
    class_path = [str(jar) for jar in jars]
    java_options = [
        f"-Dlog4j2.configurationFile={_RESOURCES / 'log4j2.properties'}",
        log_option(workplace),
        f"-Dderby.stream.error.file={workplace.root / 'derby.log'}",
    ]
    conf = {
        **COMMON_CONF,
        **(SMALL_MACHINE_CONF if is_local else {}),
        **S3_CONF,
        **DELTA_CONF,
        "spark.app.name": "floodmark",
        "spark.driver.memory": _driver_memory(),
        "spark.sql.catalogImplementation": "hive",
        "spark.sql.warehouse.dir": str(
            workplace.shared_warehouse if is_shared_metastore(given) else workplace.warehouse
        ),
        METASTORE_URL: f"jdbc:derby:;databaseName={workplace.metastore};create=true",
        **given,
    }
    if not is_local:
        # A class path does not reach executors on other machines.
        own = given.get(_JARS) or spark_default(_JARS)
        conf[_JARS] = ",".join([*class_path, *filter(None, [own])])
    if given.get(CLASS_PATH):
        class_path.append(given[CLASS_PATH])
    if conf[METASTORE_URL].startswith("jdbc:postgresql:"):
        conf.setdefault(_DRIVER, "org.postgresql.Driver")
    if is_local:
        local = jars[0].parent / LOCAL_JAR if jars else LOCAL_FOLDER
        class_path.append(str(local if local.exists() else LOCAL_FOLDER))
    conf[CLASS_PATH] = os.pathsep.join(class_path)
    options = [quoted(option) for option in java_options]
    if given.get(JAVA_OPTIONS):
        options.append(given[JAVA_OPTIONS])
    conf[JAVA_OPTIONS] = " ".join(options)
    return conf


def quoted(option: str) -> str:
    """Return an option of the JVM as Spark takes it among others (parseOptionString)."""
    if not re.search(r"[\s'\"\\]", option):
        return option
    return '"' + re.sub(r'(["\\])', r"\\\1", option) + '"'


def log_option(workplace: Workplace) -> str:
    """Return the option that names the log, by which a workplace's JVM can be told from others."""
    return f"-Dfloodmark.log={workplace.log}"


def is_shared_metastore(conf: Mapping[str, str]) -> bool:
    """Tell whether these settings name a metastore that is not Derby's own files."""
    url = conf.get(METASTORE_URL, "jdbc:derby:")
    return bool(conf.get(METASTORE_URIS)) or not re.match(r"jdbc:derby:(?!//)", url)


def metastore_name(conf: Mapping[str, str]) -> str:
    """Return where a shared metastore is, without passwords and the options of its URL."""
    return masked(conf.get(METASTORE_URIS) or conf[METASTORE_URL].partition("?")[0])


def without_secrets(conf: Mapping[str, str]) -> tuple[dict[str, str], dict[str, str]]:
    """Part settings in those that a command line may show to everybody, and the others."""
    shown = {
        key: value
        for key, value in conf.items()
        if not (_SECRET.search(key) or _PASSWORD.search(value) or has_secret(value))
    }
    return shown, {key: value for key, value in conf.items() if key not in shown}


def _driver_memory() -> str:
    """A quarter of the machine, between 1 and 4 GiB: it is heap, not the whole process."""
    try:
        total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    except (ValueError, OSError):
        total = 8.0
    return f"{max(1, min(4, int(total // 4)))}g"
