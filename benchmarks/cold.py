"""Cold processes: `floodmark build` of one small model, a bare PySpark script, a warm server; memory."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.bench import BARE_SESSION, Result, in_turn, timed

SCRIPT = f"""{BARE_SESSION}spark.sql("create table if not exists target (id bigint, name string, amount double, at timestamp) using delta")
spark.sql('''merge into target t using (select cast(id as bigint) as id, 'name' as name, 1.0D as amount,
    timestamp'2025-01-01' as at from range(3)) s on s.id = t.id
    when matched then update set * when not matched then insert *''')
print(spark.sql("select count(*) from target").collect())
"""


def _run(*command: str, cwd: Path) -> None:
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)} failed:\n{done.stdout}{done.stderr}")


def run(rounds: int = 5) -> list[Result]:
    """Cold build against the script; a build on a warm server against the cold one; peak memory."""
    from dbt_floodmark.spark.jars import jar_folder

    code = "from dbt_floodmark.cli import main; main(prog_name='floodmark')"
    floodmark = (sys.executable, "-c", code)
    with tempfile.TemporaryDirectory(prefix="floodmark-bench-") as folder:
        root = Path(folder)
        _run(*floodmark, "init", "shop", cwd=root)
        shop = root / "shop"
        (root / "bare.py").write_text(SCRIPT)
        script = (sys.executable, str(root / "bare.py"), str(jar_folder()), str(root / "bare"))
        _run(*floodmark, "seed", cwd=shop)
        number = [0]

        def more(_: int) -> None:
            number[0] += 1
            with (shop / "seeds" / "raw_events.csv").open("a", encoding="utf-8") as seed:
                seed.write(f"{100 + number[0]},Ada,1.00,2025-01-01 00:00:{number[0]:02}\n")
            _run(*floodmark, "seed", cwd=shop)

        build = (*floodmark, "run", "--select", "events")
        cold, bare = in_turn(
            rounds,
            more,
            lambda: timed(lambda: _run(*build, cwd=shop)),
            lambda: timed(lambda: _run(*script, cwd=root)),
            warm_up=1,
        )
        _run(*floodmark, "serve", "start", "--port", "0", cwd=shop)
        try:
            from dbt_floodmark.spark.server import running_server

            server = running_server(shop / ".floodmark")
            if server is None:
                raise SystemExit("the server did not start")
            os.environ["FLOODMARK_THRIFT_PORT"] = str(server.port)
            on_server = (*floodmark, "build", "-t", "thrift")
            _run(*on_server, cwd=shop)
            warm = [timed(lambda: _run(*on_server, cwd=shop)) for _ in range(rounds)]
        finally:
            _run(*floodmark, "serve", "stop", cwd=shop)
    return [
        Result(
            "Cold `floodmark run` of one small model, against a PySpark script",
            "≤ 1.30",
            cold,
            bare,
            1.3,
        ),
        Result(
            "Build on a warm `floodmark serve`, against the cold one", "≤ 0.30", warm, cold, 0.3
        ),
    ]


def peak_memory() -> float:
    """Peak resident memory in MB of this process, the runner; the JVM is another process."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
