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
#: The Hadoop that this pyspark brings, and the AWS SDK which that Hadoop is built with.
HADOOP = "3.5.0"
AWS_SDK = "2.35.4"

#: What `floodmark setup --with NAME` fetches beside, with all that it needs: the first one is what
#: its folder is known by.
EXTRAS = {
    "kafka": (f"org.apache.spark:spark-sql-kafka-0-10_{SCALA}:{PYSPARK}",),
    "postgresql": ("org.postgresql:postgresql:42.7.7",),
    # The parts of the SDK that hadoop-aws calls, 14 MB, in the place of its bundle of all services,
    # which has more than 600.
    "s3": (
        f"org.apache.hadoop:hadoop-aws:{HADOOP}",
        *(
            f"software.amazon.awssdk:{part}:{AWS_SDK}"
            for part in ("s3", "s3-transfer-manager", "sts", "apache-client", "netty-nio-client")
        ),
    ),
}
#: What is left out of them: the bundle, and what pyspark has under another name (jcl-over-slf4j).
EXTRAS_WITHOUT = {
    "s3": ("software.amazon.awssdk:bundle", "commons-logging:commons-logging"),
}
DELTA_SPARK = DELTA
#: The version of Hive's metastore tables that Spark's own Hive client (2.3) works with.
HIVE_SCHEMA = "2.3.0"
