"""FILES.md, "Discovery": a file that grows, vanishes or appears between listing and reading is never half counted."""

from __future__ import annotations

import io
import re
import threading
from collections.abc import Callable

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.support.faults import Faults, injected, once
from tests.support.files import land, lines, loader, records
from tests.support.harness import FULL, Project

pytestmark = [pytest.mark.edge, pytest.mark.long("session")]

PLANNED = "after: insert into .*batch_log.*'planned'"


def ids(project: Project, model: str) -> list[int]:
    return sorted(int(row["id"]) for row in records(project, model))


def test_a_file_that_changes_is_loaded_as_a_whole_or_not(
    make_project: Callable[..., Project],
) -> None:
    project = make_project("changing")
    folders = {
        name: project.root / name
        for name in ("grown", "rewritten", "vanished", "appeared", "emptied")
    }
    for name, folder in folders.items():
        land(folder, {"a.json": lines({"id": 1}), "b.json": lines({"id": 2})})
        given = {"allow_overwrites": "append"} if name == "rewritten" else {}
        project.model(name, loader(name, format="json", schema="id bigint", **given))
    # So is JSON that is read through a staging table, here since a line of another file is corrupt.
    land(project.root / "beside", {"a.json": lines({"id": 1, "x": 1}), "b.json": "not json\n"})
    project.model("beside", loader("beside", format="json"))
    # A file of CSV is read by the header that the look found.
    swapped = project.root / "swapped"
    land(swapped, {"a.csv": "id,v\n1,2\n"})
    project.model("swapped", loader("swapped", format="csv", infer_column_types=True))
    changes: dict[str, Callable[[], object]] = {
        "grown": lambda: land(folders["grown"], {"b.json": lines({"id": 2}, {"id": 3})}),
        "rewritten": lambda: land(folders["rewritten"], {"b.json": lines({"id": 9})}),
        "vanished": lambda: (folders["vanished"] / "b.json").unlink(),
        "appeared": lambda: land(folders["appeared"], {"c.json": lines({"id": 3})}),
        "emptied": lambda: land(folders["emptied"], {"b.json": ""}),
        "swapped": lambda: land(swapped, {"a.csv": "v,id\n1,2\n"}),
        "beside": lambda: land(project.root / "beside", {"a.json": lines({"id": 1, "y": 1})}),
    }
    for name, change in changes.items():
        with injected(Faults(cuts={name: PLANNED}, act=once(change))):
            run = project.dbt("run", "--select", name)
        if name == "grown":
            assert not run.success
            assert (
                "/grown/b.json has changed since the batch was planned (10 bytes then, 20 now)"
                in (run.message[name])
            )
        elif name in ("swapped", "beside"):
            file = "swapped/a.csv" if name == "swapped" else "beside/a.json"
            assert not run.success
            assert (
                f"/{file} has changed since the batch was planned (its time is another)"
                in run.message[name]
            )
        else:
            assert run.success, run.log[-3000:]
            left_out = (
                "1 file of the batch was left out, gone or changed before the reading, such as "
            )
            is_left_out = name in ("vanished", "emptied")
            assert (f"{left_out}file:{folders[name]}/b.json" in run.log) == is_left_out, name
    assert ids(project, "vanished") == [1]
    # Spark lists no empty file.
    assert ids(project, "emptied") == [1]
    assert ids(project, "appeared") == [1, 2]
    for name in ("vanished", "emptied"):
        files = project.ledger(name, "path, rows", "files")
        assert [path.rpartition("/")[2] for path, _ in files] == ["a.json"], name
        land(folders[name], {"b.json": lines({"id": 2})})
    project.build()
    assert records(project, "swapped") == [{"v": 1, "id": 2}]
    assert records(project, "beside") == [{"id": "1", "y": "1"}]
    assert ids(project, "grown") == [1, 2, 3]
    # What was read is known by its own time, and not loaded again as overwritten.
    assert ids(project, "rewritten") == [1, 9]
    assert ids(project, "vanished") == ids(project, "emptied") == [1, 2]
    assert ids(project, "appeared") == [1, 2, 3]


def test_a_batch_that_landed_is_recorded_whatever_became_of_its_file_and_settings(
    make_project: Callable[..., Project],
) -> None:
    """The run dies behind the statement that loads: the next one counts what the dead one read."""
    project = make_project("landed")
    names = ("overwritten", "renamed")
    for name in names:
        land(project.root / name, {"a.json": lines({"id": 1})})
        project.model(name, loader(name, format="json"))
    project.build()
    land(project.root / "overwritten", {"b.json": lines({"id": 2})})
    # A corrupt line is read through a staging table.
    land(project.root / "renamed", {"b.json": lines({"id": 2}) + "not json\n"})
    overwrite = once(lambda: land(project.root / "overwritten", {"b.json": lines({"id": 9})}))
    planned = re.compile(PLANNED.partition(": ")[2], re.I | re.S)

    class Overwritten(Faults):
        """The file has another time behind its plan, and the size that it had."""

        def before(self, sql: str) -> bool:
            is_planned = any(planned.search(sent) for sent in self.sent.get("overwritten", []))
            if is_planned and 'model.shop.overwritten"' in sql:
                overwrite()
            return super().before(sql)

    # The statement that reads its file itself fails; the one behind it reads the staging table.
    loads = {name: rf"after: insert into \S+\.`?{name}`? \(.*__files" for name in names}
    with injected(Overwritten(loads)):
        run = project.dbt("run")
    assert [run.status[name] for name in names] == ["error", "error"]
    # Its SELECT has a column that the staging table of the dead run lacks.
    project.model("renamed", loader("renamed", format="json", rescued_data_column="kept"))
    project.build()
    assert ids(project, "overwritten") == [1, 9]
    assert ids(project, "renamed") == [1, 2]
    counts = {
        name: project.ledger(name, "batch_id, state, rows, rows_quarantined", "files")
        for name in names
    }
    assert counts == {
        "overwritten": [(1, "committed", 1, 0), (2, "committed", 1, 0)],
        "renamed": [(1, "committed", 1, 0), (2, "committed", 1, 1)],
    }


#: Formats whose files are looked at before the plan: how a file of these ids is written.
FORMATS: dict[str, Callable[[list[int]], bytes]] = {
    "csv": lambda ids: ("id\n" + "".join(f"{number}\n" for number in ids)).encode(),
    "json": lambda ids: lines(*({"id": number} for number in ids)).encode(),
    "parquet": lambda ids: parquet(ids),
}
#: Before which statement a file changes: the look at it, or the reading.
MOMENTS = {"look": "after: select to_json.*from image", "read": PLANNED}

#: What a default run takes of them.
SOME = {
    ("csv", "read", "grown"),
    ("csv", "read", "gone"),
    ("json", "look", "grown"),
    ("json", "look", "all_gone"),
    ("parquet", "look", "gone"),
    ("parquet", "look", "grown"),
    ("parquet", "read", "gone"),
    ("parquet", "read", "all_gone"),
}


def parquet(ids: list[int]) -> bytes:
    sink = io.BytesIO()
    pq.write_table(pa.table({"id": pa.array(ids, pa.int64())}), sink)
    return sink.getvalue()


def test_files_that_change_before_they_are_looked_at_or_read(
    make_project: Callable[..., Project],
) -> None:
    project = make_project("moments")
    acts: dict[str, Callable[[], object]] = {}
    for format, write in FORMATS.items():
        for moment in MOMENTS:
            for change in ("grown", "gone", "all_gone", "new"):
                if not FULL and (format, moment, change) not in SOME:
                    continue
                name = f"{format}_{moment}_{change}"
                folder = project.root / name
                one, two = folder / f"1.{format}", folder / f"2.{format}"
                land(folder, {one.name: write([1])})
                if change != "all_gone":
                    land(folder, {two.name: write([2])})
                acts[name] = {
                    "grown": lambda two=two, write=write: two.write_bytes(write([2, 3, 4])),
                    "gone": two.unlink,
                    "all_gone": one.unlink,
                    "new": lambda folder=folder, write=write, format=format: land(
                        folder, {f"3.{format}": write([3])}
                    ),
                }[change]
                project.model(name, loader(name, format=format, infer_column_types=True))

    done: set[str] = set()
    lock = threading.Lock()

    class ByNode(Faults):
        """Each model has a change of its own."""

        def before(self, sql: str) -> bool:
            node = re.search(r'"node_id": "model\.shop\.(\w+)"', sql)
            name = node.group(1) if node else ""
            with lock:
                self.act = lambda: change_once(name)
                return super().before(sql)

    def change_once(name: str) -> None:
        if name not in done:
            done.add(name)
            acts[name]()

    with injected(ByNode(cuts={name: MOMENTS[name.split("_")[1]] for name in acts})):
        run = project.dbt("run")
    assert done == acts.keys()
    for name, message in run.message.items():
        if run.status[name] != "success":
            assert "has changed since the batch was planned" in message, (name, message)
    wanted = {"grown": [1, 2, 3, 4], "gone": [1], "all_gone": [], "new": [1, 2, 3]}
    project.build()
    for name in acts:
        format, _, change = name.split("_", 2)
        if change == "all_gone":
            land(project.root / name, {f"9.{format}": FORMATS[format]([9])})
    project.build("--select", *(name for name in acts if name.endswith("all_gone")))
    for name in acts:
        change = name.split("_", 2)[2]
        assert ids(project, name) == (wanted[change] or [9]), name
        files = project.ledger(name, "path, rows", "files")
        assert sum(rows for _, rows in files) == len(wanted[change] or [9]), name
