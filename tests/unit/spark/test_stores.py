"""What Hadoop's connectors throw becomes one sentence, which names the place and no key."""

from __future__ import annotations

import pytest

from dbt_floodmark.spark.messages import readable
from dbt_floodmark.spark.stores import of_store

OUTER = (
    "[FAILED_TO_CREATE_PLAN_FOR_DIRECT_QUERY] Failed to create plan for direct query on files: "
    "text SQLSTATE: 58030"
)
KEYS = (
    "Spark takes its keys from the environment of the process that starts it (AWS_ACCESS_KEY_ID, "
    "AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN) or from the server_side_parameters of the profile. "
    "A running Spark server keeps its old keys: restart it"
)
S3 = "software.amazon.awssdk.services.s3.model.S3Exception:"
SDK = "software.amazon.awssdk.core.exception.SdkClientException:"
REQUEST = "Request ID: 5w7FKuQN"

SAID = {
    "java.lang.RuntimeException: java.lang.ClassNotFoundException: Class "
    "org.apache.hadoop.fs.s3a.S3AFileSystem not found": (
        "the connector of S3 is not installed: run `floodmark setup --with s3` once, restart any "
        "Spark server that is running, and run again"
    ),
    "java.lang.RuntimeException: java.lang.ClassNotFoundException: Class "
    "org.apache.hadoop.fs.azurebfs.SecureAzureBlobFileSystem not found": (
        "Spark has no connector for this path: the class "
        "org.apache.hadoop.fs.azurebfs.SecureAzureBlobFileSystem is not on its class path. Name "
        "the connector's package in spark.jars.packages, in the server_side_parameters of the "
        "profile, and run again"
    ),
    'org.apache.hadoop.fs.UnsupportedFileSystemException: No FileSystem for scheme "s3"': (
        "Spark reads S3 by paths that begin with s3a://. Write s3a:// instead of s3://"
    ),
    'org.apache.hadoop.fs.UnsupportedFileSystemException: No FileSystem for scheme "oss"': (
        "Spark has no connector for paths that begin with oss://. Name its package in "
        "spark.jars.packages, in the server_side_parameters of the profile, or correct the path"
    ),
    "org.apache.hadoop.fs.s3a.UnknownStoreException: `s3a://gone/in': getFileStatus on "
    "s3a://gone/in: software.amazon.awssdk.services.s3.model.NoSuchBucketException: The specified "
    f"bucket does not exist (Service: S3, Status Code: 404, {REQUEST}) (SDK Attempt Count: 1):"
    "NoSuchBucket: The specified bucket does not exist": (
        "the bucket gone does not exist. Correct its name in the path, or create it. If it is not "
        "at Amazon, see that spark.hadoop.fs.s3a.endpoint names its server"
    ),
    "java.nio.file.AccessDeniedException: s3a://b/a b: c.json: getFileStatus on s3a://b/a b: "
    f"c.json: {S3} FORBIDDEN (Service: S3, Status Code: 403, {REQUEST}):null": (
        "S3 denies access to s3a://b/a b: c.json: the key is wrong, or its user may not list or "
        f"read there. {KEYS}"
    ),
    f"java.nio.file.AccessDeniedException: s3a://b/in: list on s3a://b/in: {S3} The request "
    "signature we calculated does not match (Service: S3, Status Code: 403, "
    f"{REQUEST}):SignatureDoesNotMatch: The request signature we calculated": (
        "S3 denies access to s3a://b/in (SignatureDoesNotMatch): the key is wrong, or its user may "
        f"not list or read there. {KEYS}"
    ),
    "java.nio.file.AccessDeniedException: s3a://b/in: "
    "org.apache.hadoop.fs.s3a.auth.NoAuthWithAWSException: No AWS Credentials provided by "
    f"EnvironmentVariableCredentialsProvider : {SDK} Unable to load credentials": (
        f"there are no keys for s3a://b/in. {KEYS}"
    ),
    "org.apache.hadoop.fs.s3a.AWSBadRequestException: getFileStatus on s3a://b/in: "
    f"{S3} Bad Request (Service: S3, Status Code: 400, {REQUEST}):ExpiredToken: it expired": (
        "S3 rejects the request for s3a://b/in (ExpiredToken): a short-lived key has expired, or "
        f"the bucket is in another region than spark.hadoop.fs.s3a.endpoint.region. {KEYS}"
    ),
    f"java.net.ConnectException: getFileStatus on s3a://b/in: {SDK} Unable to execute HTTP "
    "request: Connect to 127.0.0.1:9 [/127.0.0.1] failed: Connection refused (SDK Attempt Count: "
    "2)": (
        "S3 does not answer for s3a://b/in: Connect to 127.0.0.1:9 [/127.0.0.1] failed: Connection "
        "refused. See that the network is up and spark.hadoop.fs.s3a.endpoint is right, and run "
        "again"
    ),
}


@pytest.mark.parametrize("cause", SAID, ids=range(len(SAID)))
@pytest.mark.parametrize("prefix", [f"{OUTER}\n\tat org.X(X.scala:1)\nCaused by: ", ""])
def test_what_a_store_or_its_connector_says(cause, prefix):
    assert (
        readable(f"{prefix}{cause}\n\tat org.apache.hadoop.Y(Y.java:2)\n\t... 3 more\n")
        == (SAID[cause])
    )


def test_a_host_that_nobody_knows():
    text = (
        f"{OUTER}\nCaused by: java.net.UnknownHostException: getFileStatus on s3a://b/in: {SDK} "
        "Received an UnknownHostException when attempting to interact with a service.\n"
        f"Caused by: {SDK} Unable to execute HTTP request: nohost.invalid (SDK Attempt Count: 2)\n"
        "Caused by: java.net.UnknownHostException: nohost.invalid\n"
    )
    assert readable(text).startswith("S3 does not answer for s3a://b/in: nohost.invalid. See that")


def test_where_only_the_outermost_cause_came():
    assert readable(OUTER) == (
        f"{OUTER} (the log of the Spark server names the cause: a path without a connector, or a "
        "store that denies access or does not answer)"
    )


@pytest.mark.parametrize(
    "text",
    [
        "[PATH_NOT_FOUND] Path does not exist: s3a://b/in. SQLSTATE: 42K03",
        "[FAILED_READ_FILE.CANNOT_READ_FILE_FOOTER] Encountered error while reading file "
        "s3a://b/in/a.parquet. Could not read footer. SQLSTATE: KD001\nCaused by: "
        "java.lang.RuntimeException: s3a://b/in/a.parquet is not a Parquet file: too short",
        "java.lang.ClassNotFoundException: Class my.Udf not found",
    ],
)
def test_what_is_no_fault_of_the_store(text):
    assert of_store(text) is None
