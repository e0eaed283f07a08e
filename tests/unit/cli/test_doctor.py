"""`floodmark doctor` asks the target's server as dbt does, or says that it did not. No server."""

from __future__ import annotations

import socket
from functools import partial
from importlib import import_module

import pytest
from dbt.adapters.spark.connections import SparkCredentials

from dbt_floodmark.spark import server as serve

# The package has the command under the module's name.
doctor = import_module("dbt_floodmark.cli.doctor")


class Server:
    """What is told of a server by doctor, and how it was asked."""

    def __init__(self, monkeypatch, fails=None):
        self.asked = []

        def connect(**login):
            self.asked.append(login)
            if fails is not None:
                raise fails
            return self

        monkeypatch.setattr("pyhive.hive.connect", connect)
        monkeypatch.setattr(doctor, "is_open", lambda host, port: True)

    def cursor(self):
        return self

    def execute(self, sql):
        assert sql == "select 1"

    def fetchall(self):
        return [(1,)]

    def close(self):
        raise RuntimeError("NoClassDefFoundError: org/apache/hadoop/hive/llap/security/LlapSigner")


def _credentials(**more):
    return SparkCredentials(method="thrift", host="127.0.0.1", port=1, user="u", schema="s", **more)


@pytest.mark.parametrize(
    "login", [{}, {"auth": "NOSASL"}, {"auth": "LDAP", "password": "p"}, {"auth": "NONE"}]
)
def test_doctor_asks_a_server_as_the_profile_does(monkeypatch, login):
    server = Server(monkeypatch)
    found = doctor.check_server(_credentials(**login))
    assert found == doctor.Finding("Thrift server", "answers at 127.0.0.1:1")
    wanted = {"host": "127.0.0.1", "port": 1, "username": "u", "auth": None, "password": None}
    assert server.asked == [wanted | login]


@pytest.mark.parametrize(
    ("login", "how"),
    [
        ({"auth": "KERBEROS", "kerberos_service_name": "hive"}, "auth KERBEROS"),
        ({"auth": "LDAP", "password": "p", "use_ssl": True}, "SSL"),
    ],
)
def test_doctor_says_that_it_did_not_ask(monkeypatch, login, how):
    server = Server(monkeypatch)
    found = doctor.check_server(_credentials(**login))
    assert found.ok and found.found == f"something listens at 127.0.0.1:1 (not asked: {how})"
    assert not server.asked


def test_doctor_says_what_the_server_said(monkeypatch):
    Server(monkeypatch, fails=RuntimeError("Bad status: 3 (Error validating the login)"))
    found = doctor.check_server(_credentials(auth="LDAP", password="p"))
    assert found.found == (
        "something listens at 127.0.0.1:1 and runs no statement: "
        "Bad status: 3 (Error validating the login)"
    )
    assert found.fix == (
        "see that host, port, user, password and auth in profiles.yml are the server's"
    )


def test_a_silent_port_does_not_hold_doctor_up(monkeypatch):
    monkeypatch.setattr(doctor, "ask", partial(serve.ask, seconds=0.2))
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        port = silent.getsockname()[1]
        found = doctor.check_server(
            SparkCredentials(method="thrift", host="127.0.0.1", port=port, user="u", schema="s")
        )
    assert found.found == (
        f"something listens at 127.0.0.1:{port} and runs no statement: no answer within 0.2 s"
    )
    assert found.fix.startswith("see that host, port")


def test_doctor_tells_what_is_wrong_with_java_apart_from_the_remedy(monkeypatch, tmp_path):
    home = tmp_path / "Java: old"
    monkeypatch.setenv("JAVA_HOME", str(home))
    assert doctor.check_java() == doctor.Finding(
        "Java",
        f"JAVA_HOME is {home}, but there is no bin/java in it",
        "install Java 17 and put it on PATH, or point JAVA_HOME at it",
    )
