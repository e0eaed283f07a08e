"""FILES.md, invariant of all loading: of two runs of one model one gives way, and each file is loaded once."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator

import pytest

from tests.support.files import land, lines, loader
from tests.support.harness import FULL, Project, sentence
from tests.support.zygote import Zygote

pytestmark = [pytest.mark.lab, pytest.mark.edge]

ROUNDS = 4 if FULL else 2
MODELS = {
    "texts": loader("in", "id, corrupt, _metadata.file_name as file", max_files_per_batch=2),
    "typed": loader("in", "id, corrupt, _metadata.file_name as file", infer_column_types=True),
}


@pytest.fixture(scope="module")
def zygote() -> Iterator[Zygote]:
    zygote = Zygote.start()
    yield zygote
    zygote.stop()


def written(number: int) -> str:
    """A file: two records, and one that is corrupt."""
    return lines({"id": number, "corrupt": "no"}, {"id": -number, "corrupt": "no"}, f"no {number}")


@pytest.mark.parametrize("target", ["thrift"], scope="module")
def test_two_runs_load_each_file_once(make_project: Callable[..., Project], zygote: Zygote) -> None:
    project = make_project("both")
    for name, sql in MODELS.items():
        project.model(name, sql)
    request = {"args": ["run"], "root": str(project.root)}
    names: list[str] = []
    for round_ in range(ROUNDS):
        landed = [f"{round_}_{number}.json" for number in range(6)]
        for name in landed[:3]:
            land(project.root / "in", {name: written(len(names) + 1)})
            names.append(name)

        def land_meanwhile(landed: list[str] = landed) -> None:
            for name in landed[3:]:
                time.sleep(1.5)
                land(project.root / "new", {name: written(len(names) + 1)})
                (project.root / "new" / name).rename(project.root / "in" / name)
                names.append(name)

        meanwhile = threading.Thread(target=land_meanwhile)
        meanwhile.start()
        answers = zygote.run(request, request)
        meanwhile.join()
        for answer in answers:
            log = sentence(answer["log"])
            assert answer["status"] == 0 or (
                "another run is loading it now" in log or "at the same time" in log
            ), log
        assert any(answer["status"] == 0 for answer in answers) or ROUNDS > 1
    project.build()
    wanted = Counter({name: 2 for name in names})
    for model in MODELS:
        rows = project.sql(f"select file from {project.schema}.{model}")
        assert Counter(name for (name,) in rows) == wanted, model
        bad = project.sql(
            f"select _floodmark_file from {project.schema}.{model}__quarantine "
            "where _floodmark_state = 'open'"
        )
        assert Counter(path.rpartition("/")[2] for (path,) in bad) == Counter(names), model
        files = project.ledger(model, "path, state, rows, rows_quarantined", "files")
        assert sorted((path.rpartition("/")[2], *rest) for path, *rest in files) == sorted(
            (name, "committed", 2, 1) for name in names
        ), model
