"""The process that runs commands of floodmark in turn, one a line of its input; console.py starts it.

It imports nothing of the repository, so that it can be run where only the wheel is installed.
"""

from __future__ import annotations

import json
import os

#: What a line with a command's exit code begins with.
ENDED = "floodmark-ended:"


def serve() -> None:
    """Run what the input asks for until it ends: a line is a JSON list, a folder and the words of a command."""
    from dbt_floodmark.cli import main

    # Nothing that a command starts reads the requests.
    requests = os.fdopen(os.dup(0), encoding="utf-8")
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    for line in requests:
        folder, *arguments = json.loads(line)
        os.chdir(folder)
        code: object = 0
        try:
            main(args=arguments, prog_name="floodmark")
        except SystemExit as ended:
            code = ended.code or 0
        print(f"{ENDED}{code}", flush=True)


if __name__ == "__main__":
    serve()
