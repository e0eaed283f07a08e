"""The versions floodmark is built for, stated here and nowhere else in the package."""

from __future__ import annotations

__version__ = "0.1.0"

SCALA = "2.13"
SPARK = "4.2"
DELTA = "4.4.0"

#: What Ivy resolves; Delta names its jar after the Spark it is compiled for.
JAR_COORDINATE = f"io.delta:delta-spark_{SPARK}_{SCALA}:{DELTA}"

#: The jars a session needs on its class path; all else comes with pyspark.
JARS = (
    f"delta-spark_{SPARK}_{SCALA}-{DELTA}.jar",
    f"delta-storage-{DELTA}.jar",
    f"delta-kernel-api-{DELTA}.jar",
    f"delta-kernel-defaults-{DELTA}.jar",
    f"delta-kernel-unitycatalog-{DELTA}.jar",
)

JAVA_MINIMUM = 17
PYTHON_SUPPORTED = ((3, 10), (3, 12))
DBT_CORE = "1.11"
DBT_SPARK = "1.11"
PYSPARK = "4.2.0"

#: What `floodmark setup --with NAME` fetches beside, with all that it needs.
EXTRAS = {
    "kafka": f"org.apache.spark:spark-sql-kafka-0-10_{SCALA}:{PYSPARK}",
    "postgresql": "org.postgresql:postgresql:42.7.7",
}
DELTA_SPARK = DELTA
#: The version of Hive's metastore tables that Spark's own Hive client (2.3) works with.
HIVE_SCHEMA = "2.3.0"
