"""Write dbt's artifacts in one go.

`json.dump` gives a file every string by itself, in Python; `json.dumps` is C. Each command writes a
manifest with the text of every macro, and a build writes it twice.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from dbt_common.clients.system import write_file
from dbt_common.utils.encoding import JSONEncoder


def write_at_once(original: Callable[..., Any]) -> Callable[..., Any]:
    """Replace `write_json`: the same text, made before it is written."""

    def write_json(path: str, data: dict[str, Any]) -> bool:
        return bool(write_file(path, json.dumps(data, cls=JSONEncoder)))

    return write_json
