"""Secrets in what people write on the command line, found before dbt writes it into its log.

macros/support/_secrets.sql tells the same of what stands in models.
"""

from __future__ import annotations

import re

_NAMES = (
    r"token|sig|signature|password|passwd|pwd|secret"
    r"|(?:secret|access|account|api|private)[._-]?key(?:[._-]?id)?|credentials?|sas"
)
#: User and password of an address, and what a name of a secret is set to: what stays, the secret.
_PATTERNS = (
    re.compile(r"(://[^\s/@:'\"]*(?::|%3[aA]))(?!\d{1,5}(?:[/\s]|$))([^\s@'\"]+)(?=@)"),
    re.compile(
        r"(?i)((?:^|[?&;,\s'\"])[\w.%-]*(?:" + _NAMES + r")\s*=\s*['\"\\]*)([^\s&;,'\"\\]+)"
    ),
)

#: Where credentials of a path belong.
PLACE = (
    "Put them in the profile's server_side_parameters (for a Thrift server, in its own "
    "settings), such as spark.hadoop.fs.s3a.access.key and spark.hadoop.fs.s3a.secret.key from "
    "env_var('DBT_ENV_SECRET_...'), or leave them to the credential provider of the environment. "
    "Then change them, since they may be in logs already"
)


def has_secret(text: str) -> bool:
    """Tell whether a text holds a password, a key or a token."""
    return any(pattern.search(text) for pattern in _PATTERNS)


def masked(text: str) -> str:
    """Return a text with *** in the place of its secrets."""
    for pattern in _PATTERNS:
        text = pattern.sub(r"\1***", text)
    return text
