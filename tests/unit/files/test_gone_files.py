"""Which loaded files count as gone from their folder. Without Spark."""

from __future__ import annotations

import re
from types import SimpleNamespace
from typing import Any

import pytest

from tests.support.macros import Refused, load

SETTINGS = {
    "path": "/in",
    "glob": "*",
    "recursive": True,
    "modified_after": None,
    "modified_before": None,
    "on_loaded": "archive",
    "archive_to": "/old",
}
FIVE = "1970-01-01 00:00:05"


def holds(sql: str, path: str) -> bool:
    """Whether a path, which Spark would decode first, meets the regular expressions of a condition."""
    terms = re.findall(
        r"(not )?coalesce\(try_url_decode\([^']*'[^']*'[^']*'[^']*'\)\), f\.path\) "
        r"rlike '((?:[^'\\]|\\.)*)'",
        sql,
        re.DOTALL,
    )
    assert len(terms) == sql.count(" rlike ")
    return all(
        (re.search(regex.replace("\\\\", "\\"), path) is None) == bool(negated)
        for negated, regex in terms
    )


@pytest.mark.parametrize(
    ("given", "taken", "left_out"),
    [
        ({}, ["file:/in/a", "file:///in/k=v/a b", "file:/in/a\nb"], ["file:/in2/a", "file:/a"]),
        ({"path": "file:///in/*"}, ["file:/in/a/b"], ["file:/on/a/b", "file:/in/_a/b"]),
        ({"path": "s3a://b/in"}, ["s3a://b/in/a"], ["s3a://c/in/a"]),
        ({"path": "hdfs:///in"}, ["hdfs://n:1/in/a"], ["hdfs://n:1/on/a"]),
        ({"recursive": False}, ["file:/in/a"], ["file:/in/b/a"]),
        ({"glob": "*.{csv,txt}"}, ["file:/in/b/a.csv"], ["file:/in/a.json", "file:/in/a.csv/b"]),
    ],
)
def test_what_the_settings_of_today_take(
    given: dict[str, Any], taken: list[str], left_out: list[str]
) -> None:
    sql = load()._is_taken_sql(SETTINGS | given)
    for path in taken + left_out:
        assert holds(sql, path) == (path in taken), path


def test_what_the_settings_of_today_take_by_its_time() -> None:
    floodmark = load()
    after = floodmark._is_taken_sql(SETTINGS | {"modified_after": FIVE})
    assert after.startswith("(unix_micros(f.modified_at) > 5000000 and ")
    before = floodmark._is_taken_sql(SETTINGS | {"modified_before": FIVE})
    assert before.startswith("(unix_micros(f.modified_at) < 5000000 and ")


@pytest.mark.parametrize(
    ("given", "movable", "stuck"),
    [
        (
            {},
            ["file:/in/a", "file:///in/k=v/a b", "file:/in/a\nb"],
            ["file:/in2/a", "file:/in/a:b"],
        ),
        ({"path": "s3a://b:9/in"}, ["s3a://b:9/in/a"], ["s3a://c:9/in/a", "s3a://b:9/in/a:b/c"]),
        ({"recursive": False}, ["file:/in/a"], ["file:/in/b/a"]),
        ({"glob": "*.{csv,txt}"}, ["file:/in/b/a.csv"], ["file:/in/a.json", "file:/in/a.csv/b"]),
        ({"path": "/in/*"}, ["file:/in/a/b"], ["file:/in/.a/b"]),
    ],
)
def test_files_that_stay_due_come_behind_those_that_can_be_moved(
    given: dict[str, Any], movable: list[str], stuck: list[str]
) -> None:
    """Ten thousand of them would leave no turn to others."""
    floodmark = load()
    asked: list[str] = []
    floodmark.ledger_schema = lambda: "shop_floodmark"
    floodmark._query_json = asked.append
    floodmark._due_files("shop.bronze", SETTINGS | {"after": "7 days"} | given)
    assert f"'is_taken', {floodmark._is_taken_sql(SETTINGS | given)}))" in asked[0]
    order = asked[0].partition(" order by ")[2]
    assert order.endswith(" desc, f.batch_id, f.path limit 10000")
    for path in movable + stuck:
        assert holds(order, path) == (path in movable), path


def tidied(
    listed: list[str], archived: tuple[str, ...] = (), others: int = 0, taken: str = "123"
) -> tuple[list[str], list[str]]:
    """What is recorded of the files 1, 2 and 3, and the warnings, where the folder lists some of them.

    The settings of today take the files that are `taken`.
    """
    warned: list[str] = []
    recorded: list[str] = []
    floodmark = load(exceptions=SimpleNamespace(warn=warned.append))
    due = [
        {"path": f"file:/in/{n}", "size": 1, "modified_at": 1, "is_taken": n in taken}
        for n in "123"
    ]
    floodmark._due_files = lambda *_: due
    floodmark._unread_elsewhere = lambda *_: {}
    floodmark._present_files = lambda *_: [file for file in due if str(file["path"])[-1] in listed]
    floodmark._has_files = lambda _: bool(others)
    floodmark._in_archive = lambda _, files: {
        file["path"]: file for file in files if file["path"][-1] in archived
    }
    floodmark._move_files = lambda *_: None
    floodmark._record_archived = lambda _, files, reason: recorded.extend(
        f"{file['path'][-1]} {file.get('reason', 'gone') if reason else 'moved'}" for file in files
    )
    floodmark._tidy_due_files("shop.bronze", SETTINGS, False)
    return recorded, warned


def test_files_of_a_folder_that_has_others_are_gone() -> None:
    assert tidied(["1"]) == (["2 gone", "3 gone", "1 moved"], [])
    assert tidied([], others=1) == (["1 gone", "2 gone", "3 gone"], [])


def test_files_of_a_folder_that_has_none_are_not() -> None:
    recorded, [warning] = tidied([], archived=("2",))
    assert recorded == ["2 /old/2"]
    assert warning == (
        "floodmark, model 'shop.bronze': the folder /in has no file now, so 2 loaded files that should be in it "
        "are not recorded as gone"
    )


@pytest.mark.parametrize(("listed", "drops"), [("12", True), ("123", False)])
def test_what_a_dead_run_was_deleting_goes_with_the_next(listed: str, drops: bool) -> None:
    """Its files lie below a hidden folder, where no later run would look for them."""
    sent: list[str] = []
    floodmark = load(local_md5=str.upper)
    floodmark._execute = sent.extend
    floodmark._record_archived = lambda *_: sent.append("recorded")
    due = [{"path": f"file:/in/{n}", "size": 1, "modified_at": 1, "is_taken": True} for n in "123"]
    floodmark._due_files = lambda *_: due
    floodmark._unread_elsewhere = lambda *_: {}
    floodmark._present_files = lambda *_: [file for file in due if str(file["path"])[-1] in listed]
    floodmark._move_files = lambda *_: sent.append("deleted")
    floodmark._tidy_due_files("shop.bronze", SETTINGS | {"on_loaded": "delete"}, False)
    dropped = ["drop database if exists floodmark_deleted_SHOP.BRONZE cascade", "recorded"]
    assert sent == (dropped if drops else []) + ["deleted", "recorded"]


def test_files_that_the_settings_leave_out_are_not() -> None:
    assert tidied(["1"], taken="12") == (["2 gone", "1 moved"], [])
    assert tidied([], others=1, taken="") == ([], [])


@pytest.mark.parametrize(
    ("read", "said"),
    [
        ("123", None),
        (
            "13",
            "1 file of the batch was left out, gone or changed before the reading, such as file:/in/2. A later run "
            "loads what is there then",
        ),
        (
            "3",
            "2 files of the batch were left out, gone or changed before the reading, such as file:/in/1. A later run "
            "loads what is there then",
        ),
    ],
)
def test_files_that_are_gone_before_they_are_read_are_named(read: str, said: str | None) -> None:
    floodmark = load()
    files = [{"path": f"file:/in/{number}", "size": 1, "modified_at": 1} for number in (1, 2, 3)]
    there = [file for file in files if str(file["path"])[-1] in read]
    counts = {"rows": 1, "rows_rescued": 0, "rows_quarantined": 0, "rows_raw": 0}
    floodmark._query_json = lambda _: [file | counts for file in there[1:]]
    # A file without a record is in no row, and is there.
    floodmark._present_files = lambda *_: there
    settings = {
        "format": "json",
        "rescued_data_column": False,
        "single_variant_column": None,
        "options": {},
    }
    for counted in (
        lambda run: floodmark._counted_files(run, {"files": files}, "stage"),
        lambda run: floodmark._files_still_there(run, {"files": files}),
    ):
        run: dict[str, Any] = {"settings": {"files": settings}}
        assert [file["path"] for file in counted(run)] == [file["path"] for file in there]
        assert run.get("warnings") == ([said] if said else None)


@pytest.mark.parametrize(
    ("format", "looked", "is_changed"),
    [
        ("json", {}, True),
        ("parquet", {}, True),
        ("csv", {}, True),
        # Nothing of a text is decided by a look.
        ("text", {}, False),
        # It was looked at again since.
        ("json", {"file:/in/1": [9, 7]}, False),
        ("json", {"file:/in/1": [9, 6]}, True),
        ("json", {"file:/in/2": [9, 7]}, True),
    ],
)
def test_a_file_is_read_as_the_one_that_was_looked_at(
    format: str, looked: dict[str, list[int]], is_changed: bool
) -> None:
    """Overwritten with the same size: a field that only the new file has would be lost."""
    floodmark = load()
    file = {"path": "file:/in/1", "size": 9, "modified_at": 1}
    counts = {"rows": 1, "rows_rescued": 0, "rows_quarantined": 0, "rows_raw": 0}
    floodmark._query_json = lambda _: [file | counts | {"modified_at": 7}]
    settings = {"format": format, "rescued_data_column": False, "single_variant_column": None, "options": {}}  # fmt: skip
    run = {"settings": {"files": settings}}
    batch = {"files": [file]} | ({"looked": looked} if looked else {})
    if is_changed:
        with pytest.raises(Refused, match="its time is another"):
            floodmark._counted_files(run, batch, "stage")
    else:
        assert [one["modified_at"] for one in floodmark._counted_files(run, batch, "stage")] == [7]


@pytest.mark.parametrize("mode", [False, "append", "replace"])
def test_what_was_replaced_is_not_lost_with_its_file(mode: str | bool) -> None:
    """Of a path whose rows were replaced only the newest load has rows."""
    asked: list[str] = []
    floodmark = load(run_query=lambda sql: asked.append(sql) or SimpleNamespace(rows=[[0]]))
    floodmark.ledger_schema = lambda: "shop_floodmark"
    floodmark._check_archived({"allow_overwrites": mode})
    version = "path" if mode == "replace" else "path, size, modified_at"
    newest = f"row_number() over (partition by {version} order by batch_id desc) = 1 as counts"
    assert newest in asked[0]
    # What was forgotten has its rows, which the view does not tell.
    assert "forgotten.model" not in asked[0]
    assert "forgotten.model" in floodmark._files_view_sql("log")


@pytest.mark.parametrize(
    ("there", "said"),
    [
        ([], "2 files that it was loaded from are archived"),  # There is no folder.
        ([{"files": 0}], "2 files that it was loaded from are archived"),
        ([{"files": 1}], "1 file that it was loaded from is archived"),
        ([{"files": 2}], None),
    ],
)
def test_archived_files_that_the_folder_has_again_are_not_lost(
    there: list[dict[str, int]], said: str | None
) -> None:
    asked: list[str] = []
    stopped: list[str] = []
    floodmark = load(run_query=lambda sql: SimpleNamespace(rows=[[2]]))
    floodmark.ledger_schema = lambda: "shop_floodmark"
    floodmark._listed = lambda _, sql: asked.append(sql) or there
    floodmark._stop = stopped.append
    floodmark._check_archived(SETTINGS | {"allow_overwrites": False})
    assert [text.startswith(said) for text in stopped] == ([True] if said else [])
    # A file stands for one load, and not for one whose path a later file has.
    assert "least(count(distinct own.path, own.batch_id), count(distinct found.path))" in asked[0]
    assert "named_struct('place', if(is_taken, null, " in asked[0]
    # One that came later may have its size.
    assert "found.modified_at = coalesce(own.at, found.modified_at)" in asked[0]


@pytest.mark.parametrize(
    ("archive_to", "place"),
    [
        ("./old", "/shop/old"),
        ("../old/", "/old"),
        ("/old//of/../by", "/old/by"),
        ("file:///old/./by", "file:/old/by"),
        ("s3a://b/in/../old//x", "s3a://b/old/x"),
        ("hdfs:///old/", "hdfs:/old"),
        ("old", "/shop/old"),
    ],
)
def test_the_archive_is_where_spark_lists_it(archive_to: str, place: str) -> None:
    floodmark = load(invocation_args_dict=SimpleNamespace(project_dir="/shop"))
    settings = SETTINGS | {"archive_to": archive_to}
    file = {"path": "file:///in/k=v/a%20b.json"}
    assert floodmark._archived_path(settings, file) == f"{place}/k=v/a b.json"
    assert floodmark._archived_path(settings, file, ["m_1"]) == f"{place}/m_1/k=v/a b.json"


@pytest.mark.parametrize("archived_to", [None, "/shop/../old/a.json"])
def test_a_file_is_found_in_the_archive(archived_to: str | None) -> None:
    """Also one that was recorded with a path that Spark does not print."""
    floodmark = load(invocation_args_dict=SimpleNamespace(project_dir="/shop"))
    asked: list[str] = []
    there = {"path": "file:///old/a.json", "size": 1}
    floodmark._listed = lambda _, sql: asked.append(sql) or [there]
    file = {"path": "file:/in/a.json"} | ({"archived_to": archived_to} if archived_to else {})
    settings = SETTINGS | {"archive_to": "../old"}
    assert floodmark._in_archive(settings, [file]) == {"file:/in/a.json": there}
    assert "binaryFile.`/old/a.json`" in asked[0]


def test_whatever_stops_the_tidying_is_a_warning() -> None:
    """Also a refusal of floodmark's own, such as of the folder of another model."""
    warned: list[str] = []
    stopped = "floodmark, model 'operation': the folder s3a://closed cannot be listed: no"
    floodmark = load(exceptions=SimpleNamespace(warn=warned.append))
    floodmark._ledger_exists = lambda: True
    floodmark._outlasted = lambda *_: {"value": None, "error": stopped}
    assert floodmark._tidy_files("shop.bronze", SETTINGS) == 0
    assert warned == [
        "floodmark, model 'shop.bronze': loaded files cannot be archived, and stay where they are: the folder "
        "s3a://closed cannot be listed: no"
    ]


@pytest.mark.parametrize(
    "files",
    [
        {"path": "in", "format": "json", "schema": "id int"},
        {"path": "in", "format": "text"},
        {"path": "in", "format": "json", "single_variant_column": "v"},
    ],
)
def test_columns_that_the_settings_name_are_restored_there(files: dict[str, Any]) -> None:
    floodmark = load(model=None)
    node = {"schema": "shop", "alias": "bronze", "config": {"files": files}}
    floodmark._files_node = lambda _: node
    with pytest.raises(Refused, match="its columns are those that its settings name"):
        floodmark.reset_file_schema("bronze", 1)
