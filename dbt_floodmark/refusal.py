"""A refusal as dbt shows it: the sentence alone."""

from __future__ import annotations

from dbt_common.exceptions import CompilationError


class RefusedError(CompilationError):  # type: ignore[misc]
    """What floodmark refuses, in one message.

    dbt notes every macro on an error's way out and prints them below the message. Which macros of
    floodmark's these were helps nobody; the model and its file stand in the message's first line.
    """

    def process_stack(self) -> list[str]:
        """Return the lines below the message: none."""
        return []


class TryAgainError(RefusedError):
    """A refusal that may be gone at the next try: another run was in the way, nothing is wrong.

    A stream that `floodmark stream` keeps running is started again; any other refusal ends it.
    """


class RejectedError(RefusedError):
    """A refusal of the batch at hand: it fails with `reason`, and the next run plans anew.

    `may_pass`: another run that has the batch could still apply it.
    """

    def __init__(self, message: str, reason: str, may_pass: bool = False) -> None:
        """Take the message of the node, and the few words that the ledger keeps."""
        super().__init__(message)
        self.reason = reason
        self.may_pass = may_pass
