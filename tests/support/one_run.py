"""One dbt run in a process of its own: the request of the zygote, as JSON, in the first argument."""

from __future__ import annotations

import json
import sys

from tests.support.zygote import run_request

if __name__ == "__main__":
    success, log = run_request(json.loads(sys.argv[1]))
    if not success:
        print(log)
    sys.exit(0 if success else 1)
