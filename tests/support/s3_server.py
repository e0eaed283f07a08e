"""A real S3 server for the tests: moto's, in a process of its own, on loopback."""

from __future__ import annotations

import json
import subprocess
import sys
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.support.servers import free_ports, stop, wait_for
from tests.support.spark_host import SparkHost

REGION = "us-east-1"
_MAIN = "from moto.server import main; main()"


@dataclass(frozen=True)
class Keys:
    """What a user of the server signs requests with."""

    id: str
    secret: str

    @property
    def environment(self) -> dict[str, str]:
        return {"AWS_ACCESS_KEY_ID": self.id, "AWS_SECRET_ACCESS_KEY": self.secret}


#: What a policy says of a user who may do everything.
EVERYTHING = {"Effect": "Allow", "Action": "*", "Resource": "*"}


@dataclass(frozen=True)
class S3:
    """A server that runs, on loopback: it checks the keys, signatures and policies of who asks.

    Who has the keys `admin` may do everything.
    """

    port: int
    admin: Keys = field(default=Keys("nobody", "yet"))

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def client(self, service: str = "s3") -> Any:
        """A client of boto3's."""
        import boto3

        return boto3.client(
            service,
            endpoint_url=self.endpoint,
            region_name=REGION,
            aws_access_key_id=self.admin.id,
            aws_secret_access_key=self.admin.secret,
        )

    def land(self, bucket: str, files: Mapping[str, bytes | str]) -> None:
        """Put objects into a bucket, which is made where there is none."""
        client = self.client()
        if bucket not in [one["Name"] for one in client.list_buckets()["Buckets"]]:
            client.create_bucket(Bucket=bucket)
        for name, content in files.items():
            body = content if isinstance(content, bytes) else content.encode()
            client.put_object(Bucket=bucket, Key=name, Body=body)

    def user(self, name: str, *statements: Mapping[str, Any]) -> Keys:
        """Make a user who may do what these statements of a policy say; its keys."""
        client = self.client("iam")
        client.create_user(UserName=name)
        self.allow(name, *statements)
        made = client.create_access_key(UserName=name)["AccessKey"]
        return Keys(made["AccessKeyId"], made["SecretAccessKey"])

    def allow(self, name: str, *statements: Mapping[str, Any]) -> None:
        """Let a user do what these statements say, and nothing else."""
        policy = json.dumps({"Version": "2012-10-17", "Statement": list(statements)})
        self.client("iam").put_user_policy(UserName=name, PolicyName="own", PolicyDocument=policy)


def settings(server: S3, bucket: str | None = None, keys: Keys | None = None) -> dict[str, str]:
    """Hadoop's settings of the server, for all buckets or for one."""
    prefix = "fs.s3a." if bucket is None else f"fs.s3a.bucket.{bucket}."
    of_keys = {f"{prefix}access.key": keys.id, f"{prefix}secret.key": keys.secret} if keys else {}
    return of_keys | {
        f"{prefix}endpoint": server.endpoint,
        f"{prefix}endpoint.region": REGION,
        f"{prefix}path.style.access": "true",
        f"{prefix}connection.ssl.enabled": "false",
    }


@contextmanager
def running_s3(folder: Path) -> Iterator[S3]:
    """Start a server with its log in `folder`; it ends with the block."""
    [port] = free_ports(1)
    log = folder / "s3.log"
    with open(log, "w") as said:
        process = subprocess.Popen(
            [sys.executable, "-c", _MAIN, "-H", "127.0.0.1", "-p", str(port)],
            stdout=said,
            stderr=said,
        )
    try:
        wait_for(process, port, log)
        server = S3(port)
        server = S3(port, server.user("admin", EVERYTHING))
        _check_who_asks(server)
        yield server
    finally:
        stop(process)


def _check_who_asks(server: S3) -> None:
    asked = urllib.request.Request(
        f"{server.endpoint}/moto-api/reset-auth",
        data=b"0",
        headers={"Content-Type": "text/plain"},
    )
    urllib.request.urlopen(asked, timeout=10).read()


def configure(host: SparkHost, given: Mapping[str, str]) -> None:
    """Give the suite's JVM, both of its targets, Hadoop's settings: of buckets that nobody has read yet."""
    from py4j.java_gateway import GatewayParameters, JavaGateway

    parameters = GatewayParameters(port=host.gateway_port, auth_token=host.gateway_secret)
    gateway = JavaGateway(gateway_parameters=parameters)
    conf = gateway.jvm.org.apache.spark.SparkContext.getOrCreate().hadoopConfiguration()
    for name, value in given.items():
        conf.set(name, value)
    gateway.close()
