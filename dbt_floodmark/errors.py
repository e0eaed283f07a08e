"""The one family of exceptions floodmark raises: each is a sentence with the way out."""

from __future__ import annotations


class FloodmarkError(Exception):
    """Something the user can act on; the message says what is wrong and what to do.

    ``found`` is what is wrong, ``remedy`` what to do where it stands apart.
    """

    def __init__(self, found: str, remedy: str = "") -> None:
        """Join both as ``found: remedy.``."""
        super().__init__(f"{found}: {remedy}." if remedy else found)
        self.found = found
        self.remedy = remedy


class JavaError(FloodmarkError):
    """Java is missing or too old."""


class JarsError(FloodmarkError):
    """The Delta jars are missing or could not be fetched."""


class ArchiveError(FloodmarkError):
    """The archive of Spark's classes could not be made."""


class HomeError(FloodmarkError):
    """floodmark's folder cannot be written."""


class MetastoreLockedError(FloodmarkError):
    """Another process holds the embedded metastore."""


class ServerError(FloodmarkError):
    """The local Spark Thrift server could not be started, reached or stopped."""


class UsageError(FloodmarkError):
    """The command was given something it cannot work with (exit code 2)."""
