"""The wheel, as a user gets it: a new virtual environment, without the repository and without network."""

from __future__ import annotations

import os
import site
import subprocess
import sys
import zipfile
from pathlib import Path

from dbt_floodmark.spark.jars import jar_folder
from tests.support.console import make_spark_brief
from tests.support.harness import REPOSITORY


def _run(*command: str | Path, cwd: Path, **environment: str) -> str:
    done = subprocess.run(
        [str(part) for part in command],
        cwd=cwd,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_init_and_build_from_the_wheel_alone(tmp_path: Path) -> None:
    """The other packages are lent from this environment by a .pth file; floodmark's own is the wheel's."""
    _run(
        sys.executable,
        "-m",
        "pip",
        "wheel",
        "--quiet",
        "--no-deps",
        "--no-build-isolation",
        "--wheel-dir",
        tmp_path,
        REPOSITORY,
        cwd=tmp_path,
    )
    (wheel,) = tmp_path.glob("dbt_floodmark-*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    assert "dbt_floodmark/package/dbt_project.yml" in names
    assert "dbt_floodmark/package/macros/merge/_merge_sql.sql" in names
    assert not any(name.startswith(("tests/", "models/", "benchmarks/")) for name in names)

    _run(sys.executable, "-m", "venv", "--without-pip", tmp_path / "venv", cwd=tmp_path)
    python = tmp_path / "venv" / "bin" / "python"
    inside = Path(
        _run(python, "-c", "import site; print(site.getsitepackages()[0])", cwd=tmp_path).strip()
    )
    zipfile.ZipFile(wheel).extractall(inside)
    (inside / "lent.pth").write_text("\n".join(site.getsitepackages()) + "\n")
    where = _run(python, "-c", "import dbt_floodmark; print(dbt_floodmark.__file__)", cwd=tmp_path)
    assert where.startswith(str(inside))

    code = "from dbt_floodmark.cli import main; main(prog_name='floodmark')"
    offline = {
        "FLOODMARK_JARS": str(jar_folder()),
        "HOME": str(tmp_path),
        "http_proxy": "http://127.0.0.1:9",
        "https_proxy": "http://127.0.0.1:9",
    }
    offline |= {"FLOODMARK_HOME": ""}
    _run(python, "-c", code, "init", "shop", cwd=tmp_path, **offline)
    shop = tmp_path / "shop"
    make_spark_brief(shop)
    # In one process, so that they share a JVM.
    code = (
        "from click.testing import CliRunner; from dbt_floodmark.cli import main\n"
        "for line in ['build'], ['status', '--json']:\n"
        "    done = CliRunner().invoke(main, line); print(done.output); assert not done.exit_code"
    )
    said = _run(python, "-c", code, cwd=shop, **offline)
    assert "APPEND 3 read, 3 inserted" in said or "MERGE 3 read" in said
    assert '"mark": "2024-05-0' in said
