"""What Hadoop's connectors say of an object store that does not answer, in one sentence."""

from __future__ import annotations

import re

#: The class of a connector that is not on Spark's class path, and a scheme that has none.
_NO_CLASS = re.compile(
    r"ClassNotFoundException: Class (org\.apache\.hadoop\.fs\.[\w.$]+) not found"
)
_NO_SCHEME = re.compile(r'UnsupportedFileSystemException: No FileSystem for scheme "([\w+.-]+)"')
_S3A = "org.apache.hadoop.fs.s3a."

#: What an error of S3 is about: names of objects may hold anything, so what follows counts too.
_PLACE = re.compile(
    r"(?:Exception: `?|\bon )(s3a://[^\n]+?)'?: (?=\w+ on s3a://|org\.apache\.|software\.amazon\.)"
)
_NO_BUCKET = re.compile(r"UnknownStoreException: |NoSuchBucketException: ")
_NO_KEYS = re.compile(r"No AWS Credentials provided by")
_DENIED = re.compile(r"\bStatus Code: (?:401|403)\b")
_BAD_REQUEST = re.compile(r"AWSBadRequestException: |\bStatus Code: 400\b")
#: S3's name of what is wrong, which it sends where a request has an answer with a text.
_CODE = re.compile(r"\):([A-Z]\w+)")
#: What did not work below HTTP: `Connect to host:port [...] failed: Connection refused`, a host.
_NO_ANSWER = re.compile(r"Unable to execute HTTP request: ([^\n]+?)(?: \(SDK Attempt Count|\n|$)")

_KEYS = (
    "Spark takes its keys from the environment of the process that starts it (AWS_ACCESS_KEY_ID, "
    "AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN) or from the server_side_parameters of the profile. "
    "A running Spark server keeps its old keys: restart it"
)


def of_store(text: str) -> str | None:
    """Say what is wrong with an object store or its connector, where an error's text tells.

    No key of a user's is in it: the connectors name none.
    """
    if missing := _NO_CLASS.search(text):
        return _no_connector(missing.group(1))
    if unknown := _NO_SCHEME.search(text):
        return _no_scheme(unknown.group(1))
    place = _PLACE.search(text)
    return _of_s3(text, place.group(1)) if place else None


def has_no_connector(text: str) -> bool:
    """Tell whether Spark lacks what reaches a path, which no further try brings."""
    return bool(_NO_CLASS.search(text) or _NO_SCHEME.search(text))


def _no_connector(name: str) -> str:
    if name.startswith(_S3A):
        return (
            "the connector of S3 is not installed: run `floodmark setup --with s3` once, "
            "restart any Spark server that is running, and run again"
        )
    return (
        f"Spark has no connector for this path: the class {name} is not on its class path. Name "
        "the connector's package in spark.jars.packages, in the server_side_parameters of the "
        "profile, and run again"
    )


def _no_scheme(scheme: str) -> str:
    if scheme in ("s3", "s3n"):
        return (
            f"Spark reads S3 by paths that begin with s3a://. Write s3a:// instead of {scheme}://"
        )
    return (
        f"Spark has no connector for paths that begin with {scheme}://. Name its package in "
        "spark.jars.packages, in the server_side_parameters of the profile, or correct the path"
    )


def _of_s3(text: str, place: str) -> str | None:
    bucket = place.removeprefix("s3a://").partition("/")[0]
    if _NO_BUCKET.search(text):
        return (
            f"the bucket {bucket} does not exist. Correct its name in the path, or create it. If "
            "it is not at Amazon, see that spark.hadoop.fs.s3a.endpoint names its server"
        )
    if _NO_KEYS.search(text):
        return f"there are no keys for {place}. {_KEYS}"
    named = _CODE.search(text)
    code = f" ({named.group(1)})" if named and named.group(1) != "null" else ""
    if _DENIED.search(text):
        return (
            f"S3 denies access to {place}{code}: the key is wrong, or its user may not list or "
            f"read there. {_KEYS}"
        )
    if _BAD_REQUEST.search(text):
        return (
            f"S3 rejects the request for {place}{code}: a short-lived key has expired, or the "
            f"bucket is in another region than spark.hadoop.fs.s3a.endpoint.region. {_KEYS}"
        )
    silent = _NO_ANSWER.search(text)
    if silent:
        reason = silent.group(1)
        return (
            f"S3 does not answer for {place}: {reason}. See that the network is up and "
            "spark.hadoop.fs.s3a.endpoint is right, and run again"
        )
    return None
