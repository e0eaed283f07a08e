"""Options and folders in a streaming SELECT, progress lines, advice: no Spark."""

from __future__ import annotations

import json
from types import SimpleNamespace

import pytest
from dbt_common.exceptions import DbtRuntimeError

from dbt_floodmark.errors import FloodmarkError
from dbt_floodmark.refusal import RefusedError, TryAgainError
from dbt_floodmark.spark.messages import readable
from dbt_floodmark.streaming import position, sources, streams
from dbt_floodmark.streaming import service as services
from dbt_floodmark.streaming.advice import explain
from dbt_floodmark.streaming.progress import MicroBatch, is_batch, lag_text, utc
from dbt_floodmark.streaming.query import Request, Run, _failure
from dbt_floodmark.streaming.service import Service, keep_running


@pytest.mark.parametrize(
    ("text", "options"),
    [
        ("", {}),
        ("maxFilesPerTrigger = 1", {"maxFilesPerTrigger": "1"}),
        (r"sep = '\t', lineSep = '\n'", {"sep": "\t", "lineSep": "\n"}),
        ("a=1,b = true , c 'x'", {"a": "1", "b": "true", "c": "x"}),
        ("'sep'=',', schema = 'a int, b string'", {"sep": ",", "schema": "a int, b string"}),
        (r"""quote = '\'', "multi.part" = "it's" """, {"quote": "'", "multi.part": "it's"}),
    ],
)
def test_options(text, options):
    assert sources.parse_options(text) == options


@pytest.mark.parametrize("text", ["maxFilesPerTrigger", "= 1", "a = 1, , b = 2"])
def test_what_is_no_option(text):
    with pytest.raises(FloodmarkError, match="expected options such as maxFilesPerTrigger = 100"):
        sources.parse_options(text)


class Views:
    """What `_register` was asked for."""

    def __init__(self, monkeypatch):
        self.made = []
        monkeypatch.setattr(
            sources,
            "_register",
            lambda spark, source, with_metadata: self.made.append((source, with_metadata)),
        )


def test_folders_become_views_and_nothing_else_does(monkeypatch):
    views = Views(monkeypatch)
    sql = (
        "select 'stream(json.`a`)', _metadata, `it's` from stream(json.`in/a`)with(schema = 'id int') as s "
        "-- stream(csv.`b`)\njoin stream csv.`/abs/``b` /* stream(text.`c`) */ "
        "join stream(delta.`d`) join my_stream(json.`e`)"
    )
    assert sources.with_sources(None, sql, "/project") == (
        "select 'stream(json.`a`)', _metadata, `it's` from stream(_floodmark_source_1) as s "
        "-- stream(csv.`b`)\njoin stream(_floodmark_source_2) /* stream(text.`c`) */ "
        "join stream(delta.`d`) join my_stream(json.`e`)"
    )
    assert views.made == [
        (
            sources.Source("_floodmark_source_1", "json", {"schema": "id int"}, "/project/in/a"),
            True,
        ),
        (sources.Source("_floodmark_source_2", "csv", {}, "/abs/`b"), True),
    ]


def test_what_macros_marked(monkeypatch):
    views = Views(monkeypatch)
    sql = (
        'stream(v) /*floodmark:stream {"format": "kafka", "name": "v", '
        '"options": {"subscribe": "*\\/x"}, "path": null}*/ as k'
    )
    assert sources.with_sources(None, sql, "/project") == "stream(v)  as k"
    assert views.made == [(sources.Source("v", "kafka", {"subscribe": "*/x"}, None), True)]


class Reader:
    """Spark's reader of streams: the options that it is given."""

    def __init__(self):
        self.options = {}

    def __getattr__(self, name):
        return lambda *given, **named: self

    def option(self, key, value):
        self.options[key.lower()] = value
        return self


class Session:
    def __init__(self):
        self.readStream = Reader()
        self.conf = Reader()


@pytest.mark.parametrize(
    ("sql", "age"),
    [
        ("select * from stream(json.`in`)", "36500d"),
        ("select * from stream(json.`in`) with (maxfileage = '1d')", "1d"),
        (
            'stream(v) /*floodmark:stream {"format": "text", "name": "v", "options": {}, "path": "/in"}*/',
            "36500d",
        ),
    ],
)
def test_a_file_is_never_too_old(sql, age):
    """Spark would pass over files that are a week older than the newest."""
    spark = Session()
    sources.with_sources(spark, sql, "/project")
    assert spark.readStream.options["maxfileage"] == age


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("stream(s.t) with (readChangeFeed = true)", "stream(s.t) with (readChangeFeed = true, {all})"),
        ("stream s.t with (maxFilesPerTrigger = 1, ReadChangeFeed true, 'MAXBYTESPERTRIGGER' = '1k')",
         "stream(s.t) with (ReadChangeFeed = true, {all})"),
        ("stream(`t`) with (readChangeData = 'true' -- all\n, excludeRegex = '\\\\.x' /* odd */)",
         "stream(`t`) with (readChangeData = 'true', excludeRegex = '\\\\.x', {all})"),
        ("stream(s.t) with (maxFilesPerTrigger = 1)", "stream(s.t) with (maxFilesPerTrigger = 1)"),
        ("stream(s.t) with (readChangeFeed = false, maxFilesPerTrigger = 5)",
         "stream(s.t) with (readChangeFeed = false, maxFilesPerTrigger = 5)"),
        ("stream(s.t) with (readChangeFeed = 'False', readChangeData = true)",
         "stream(s.t) with (readChangeFeed = 'False', readChangeData = true, {all})"),
        ("stream(s.t)", "stream(s.t)"),
    ],
)  # fmt: skip
def test_no_commit_of_a_change_feed_is_cut(text, read):
    """The rows that it takes away would come behind those that it brings in their place."""
    sql = f"select * from {text} where id > 0"
    assert sources.with_sources(None, sql, "/project") == sql
    read = read.replace("{all}", "maxFilesPerTrigger = 2147483639")
    whole = sources.with_sources(None, sql, "/project", whole_commits=True)
    assert whole == f"select * from {read} where id > 0"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ("readChangeFeed = true", "with readchangefeed, so its rows are not"),
        ("'readChangeData' 'true'", "with readchangedata, so its rows are not"),
        ("readChangeFeed = false", "t is not a Delta table"),
    ],
)
def test_a_table_without_its_change_feed_is_read_again(monkeypatch, options, said):
    """All the same where the option is written down: only its value tells."""
    monkeypatch.setattr(position, "_delta_detail", lambda spark, table: None)
    stream = sources.Stream("stream(t)", "t", options)
    with pytest.raises(FloodmarkError, match=said):
        position._table_as_read(None, stream, position.Position(None), set(), 0)


def test_one_marked_source_twice(monkeypatch):
    """Spark would keep one log for both, and two offsets."""
    views = Views(monkeypatch)
    marked = 'stream(v) /*floodmark:stream {"format": "json", "name": "v", "options": {}, "path": "/in"}*/'
    assert sources.with_sources(None, f"{marked} union {marked}", "/project") == (
        "stream(v)  union stream(v_2) "
    )
    assert [source.name for source, _ in views.made] == ["v", "v_2"]


def test_comments_end_where_spark_ends_them(monkeypatch):
    """At a lone \\r too, and not at a line's end behind a backslash."""
    views = Views(monkeypatch)
    sql = "select 1 --a\r from stream(json.`in`) --b\\\nstream(csv.`out`)\n, stream(csv.`x`)"
    assert sources.with_sources(None, sql, "/project") == (
        "select 1 --a\r from stream(_floodmark_source_1) --b\\\nstream(csv.`out`)\n, "
        "stream(_floodmark_source_2)"
    )
    assert [source.path for source, _ in views.made] == ["/project/in", "/project/x"]


def progress(**more):
    return {"batchId": 3, "timestamp": "2026-01-31T06:00:00.250Z", "sources": [], **more}


def test_a_micro_batch_in_a_line():
    batch = MicroBatch.of(
        progress(
            numInputRows=2500,
            batchDuration=500,
            stateOperators=[
                {"numRowsTotal": 40, "numRowsDroppedByWatermark": 2},
                {"numRowsTotal": 2},
            ],
        ),
        "2 versions",
    )
    assert batch.line() == (
        "batch 3  2,500 rows in  5,000 rows/s  0.5 s  state 42 rows  2 late  lag 2 versions"
    )
    assert MicroBatch.of(progress(), None).line() == (
        "batch 3  0 rows in  0 rows/s  0.0 s  state 0 rows  lag –"
    )
    assert utc(batch.started_at) == "2026-01-31 06:00:00.250000"


@pytest.mark.parametrize(
    ("sql", "found"),
    [
        ("select * from stream(a.b) with (maxFilesPerTrigger = 1) as t", ["a.b"]),
        ("select * from stream a.`b c` join stream ( /* s */ d ) on true", ["a.`b c`", "d"]),
        ("select stream, 'from stream(x)' from t -- from stream y", []),
        ("select * from stream(json.`in`) with (schema = 'id int')", ["/project/in"]),
        ("select * from stream csv.`/abs`", ["/abs"]),
        (
            'select * from stream(v) /*floodmark:stream {"format": "kafka", "name": "v", "options": {}, "path": null}*/',
            [None],
        ),
        # Many comments are read in one way, not in each way that they can be parted.
        (f"select * from stream {'/* a */' * 200}(a.b)", ["a.b"]),
        (f"select stream {'/* a */' * 200} from t", []),
        ("select stream " + "--a\\\n" * 200 + " from t", []),
    ],
)
def test_streams_of_a_select(sql, found):
    streams = []

    def put(stream):
        streams.append(stream)
        return "X"

    left = sources.replace_streams(sql, "/project", put)
    assert [one.table or one.source.path for one in streams] == found
    assert left.count("X") == len(found) and "with (" not in left.replace("-- from", "")


def test_a_path_with_credentials():
    sql = "select * from stream(json.`s3a://u:PW@bucket/in`)"
    with pytest.raises(FloodmarkError) as caught:
        sources.replace_streams(sql, "/", lambda stream: "")
    said = (
        "got 's3a://u:***@bucket/in' in stream(): expected a path without credentials, which would"
    )
    assert str(caught.value).startswith(said)


@pytest.mark.parametrize(
    "source",
    [
        "stream(json.`s3a://b/in`) with (schema = 'a int', fs.s3a.secret.key = 'PW')",
        "stream(json.`s3a://b/in`) with ('fs.s3a.secret.key' = 'PW')",
        "stream(raw.orders) with (`access.key` 'x', password = \"PW\")",
        "stream raw.orders with (token=PW)",
        "stream(csv.`/in`) with (sep = ';', url = 'jdbc:p://u:PW@h/db')",
    ],
)
def test_options_with_credentials(source):
    with pytest.raises(FloodmarkError) as caught:
        sources.replace_streams(f"select * from {source}", "/", lambda stream: "")
    assert "in stream(): expected options without credentials, which would appear in" in str(
        caught.value
    )
    assert "PW" not in str(caught.value)


def test_a_reference_to_a_secret_is_none():
    sql = "select * from stream(kafka.`x`) with (kafka.ssl.keystore.password = '${file:/p:key}', header = true)"
    assert sources.replace_streams(sql, "/", lambda stream: "X") == "select * from X"


def test_options_of_a_stream_in_lower_case():
    (stream,) = position._streams(
        "select * from stream(t) with (maxFilesPerTrigger = 1, a 'B')", "/"
    )
    assert stream.options == {"maxfilespertrigger": "1", "a": "B"}


class Checkpointed:
    """A folder with the files of a checkpoint, as `Folder` shows it."""

    def __init__(self, files):
        self.files = files

    def read(self, child):
        return self.files.get(child)

    def names(self, child=""):
        return [name[len(child) + 1 :] for name in self.files if name.startswith(f"{child}/")]


def _log(*entries):
    return "\n".join(["v1", *(json.dumps({"path": p, "batchId": n}) for p, n in entries)])


def test_position_of_a_checkpoint():
    """The offsets of the last batch that ended; files of the compacted log and those behind it, up to the offset."""
    delta = {"reservoirId": "t", "reservoirVersion": 3, "index": 2}
    folder = Checkpointed(
        {
            "metadata": '{"id": "q"}',
            "offsets/4": "\n".join(["v1", "{}", json.dumps(delta), '{"logOffset":10}', "-"]),
            "offsets/5": "\n".join(["v1", "{}", "-", "-", "-"]),
            "commits/4": "v1",
            "sources/1/9.compact": _log(("file:///in/a%20b", 0), ("file:///in/c%2520d", 9)),
            "sources/1/8": _log(("file:///in/old", 8)),
            "sources/1/10": _log(("file:/in/e", 10)),
            "sources/1/11": _log(("file:/in/not_yet", 11)),
        }
    )
    found = position.Position.read(folder)
    assert found.number == 4 and found.offsets == [delta, {"logOffset": 10}, None]
    taken: set[int] = set()
    assert found.of_table("another", taken) is None
    assert found.of_table("t", taken) == delta and found.of_table("t", taken) is None
    assert position.read_version(delta) == 2 and position.is_within(delta)
    assert found.files_of("/elsewhere", folder, taken) is None
    read = found.files_of("/in/", folder, taken)
    assert read == {"file:/in/a b", "file:/in/c%20d", "file:/in/e"}
    assert found.files_of("/in/", folder, taken) is None
    assert position.Position.read(Checkpointed({})) == position.Position.read(None)


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("./landing", "/project/landing"),
        ("../landing/", "/landing"),
        ("in/./a/../*.json", "/project/in/*.json"),
        ("/abs//a/../b", "/abs/b"),
        (".", "/project"),
        ("s3a://bucket/../a", "s3a://bucket/../a"),
        ("s3a://bucket//a/./b/", "s3a://bucket/a/b"),
        ("s3a://bucket", "s3a://bucket"),
        ("file:/a/./b", "file:/a/b"),
        ("file:///a//c/../b", "file:///a/b"),
    ],
)
def test_paths_are_as_spark_writes_them(path, found):
    assert sources.absolute(path, "/project/") == found


@pytest.mark.parametrize(
    ("path", "file"),
    [
        ("/shop/./landing", "file:///shop/landing/a.json"),
        ("/shop/project/../landing//", "file:///shop/landing/a.json"),
        ("file:///shop//landing", "file:///shop/landing/a.json"),
        ("s3a://bucket//in/./x", "s3a://bucket/in/x/a.json"),
        ("s3a://bucket", "s3a://bucket/a.json"),
    ],
)
@pytest.mark.parametrize("is_marked", [True, False])
def test_a_folder_is_the_same_however_it_is_written(path, file, is_marked):
    """Spark writes down the files without . and .., whatever the query calls their folder."""
    mark = json.dumps({"name": "s1", "format": "json", "options": {}, "path": path})
    sql = f"/*floodmark:stream {mark}*/ select * from stream(s1)"
    sql = sql if is_marked else f"select * from stream(json.`{path}`)"
    folder = Checkpointed(
        {
            "offsets/0": "\n".join(["v1", "{}", '{"logOffset":0}']),
            "commits/0": "v1",
            "sources/0/0": _log((file, 0)),
        }
    )
    (stream,) = position._streams(sql, "/shop/project")
    position.refuse_moved([stream.source.path], folder)
    assert position.Position.read(folder).files_of(stream.source.path, folder, set())


def test_files_of_a_folder_that_is_named_from_the_project():
    folder = Checkpointed(
        {
            "offsets/0": "\n".join(["v1", "{}", '{"logOffset":0}']),
            "commits/0": "v1",
            "sources/0/0": _log(("file:///shop/landing/a.json", 0)),
        }
    )
    (stream,) = position._streams("select * from stream(json.`../landing`)", "/shop/project")
    found = position.Position.read(folder).files_of(stream.source.path, folder, set())
    assert found == {"file:/shop/landing/a.json"}


@pytest.mark.parametrize(
    ("options", "files", "is_refused"),
    [
        ("startingVersion = 'latest'", {}, True),
        ("'startingversion' = 'LATEST', maxFilesPerTrigger = 1", {}, True),
        ("startingVersion = 3", {}, False),
        # It goes on where a run that read something ended.
        ("startingVersion = 'latest'", {"offsets/4": 'v1\n{}\n{"reservoirId": "t"}'}, False),
        ("startingVersion = 'latest'", {"offsets/4": 'v1\n{}\n-\n{"reservoirId": "u"}'}, True),
    ],
)
def test_a_query_that_ends_does_not_begin_behind_all(monkeypatch, options, files, is_refused):
    monkeypatch.setattr(
        position, "_delta_detail", lambda spark, table: {"id": "t", "location": "/w"}
    )
    monkeypatch.setattr(position, "newest_version", lambda spark, path: 7)
    folder = Checkpointed({"metadata": '{"id": "q"}'} | files)
    sql = f"select * from stream(s.events) with ({options})"
    if not is_refused:
        position.refuse_latest(None, sql, "/project", folder)
        return
    with pytest.raises(FloodmarkError, match="of the first version to read, such as 7, the newest"):
        position.refuse_latest(None, sql, "/project", folder)


class Frame:
    """A streaming DataFrame that only remembers the trigger of its query."""

    def __getattr__(self, name):
        return self if name == "writeStream" else lambda *given: self

    def trigger(self, **given):
        self.triggered = given
        return self


@pytest.mark.parametrize(
    ("seconds", "trigger"),
    [
        (None, {"availableNow": True}),
        (0.25, {"processingTime": "250 milliseconds"}),
        (30, {"processingTime": "30000 milliseconds"}),
        (2 * 7 * 86_400.0, {"processingTime": "1209600000 milliseconds"}),
    ],
)
def test_triggers_that_spark_takes(seconds, trigger):
    request = Request("m", "", "t", "append", True, "/c", "/project", seconds)
    frame = Frame()
    Run(None, frame, request, None, None, None)._start()
    assert frame.triggered == trigger


@pytest.mark.parametrize("native", [True, False])
def test_what_is_told_of_batches_is_kept_for_the_ledger_alone(native):
    """The macros put a micro-batch that they write into the ledger at once, for as long as it runs."""
    heard = []
    run = Run(
        None, None, Request("m", "", "t", "append", native, "/c", "/p"), None, None, heard.append
    )
    for number in range(3):
        told = {
            "runId": "r",
            "batchId": number,
            "timestamp": f"2026-01-0{number + 1}T00:00:00.000Z",
        }
        said = json.dumps({**told, "durationMs": {"addBatch": 1}, "sources": []})
        last = SimpleNamespace(**told, json=said)
        run._listen(SimpleNamespace(lastProgress=last, recentProgress=[last]))
    assert [one.number for one in heard] == [0, 1, 2]
    assert [one.number for one in run._told] == ([0, 1, 2] if native else [])


class Thrown(Exception):
    """An error of Java's with its cause; as `query` one that it ended with."""

    def __init__(self, text, cause=None):
        super().__init__(text)
        self.toString = lambda: f"org.apache.spark.SparkException: {text}"
        self.getCause = lambda: cause


def test_what_made_a_query_fail_is_said():
    """A value that the table cannot hold: above it Spark says only that a task failed."""
    value = Thrown("[USER_RAISED_EXCEPTION] `amount` is decimal(17,0): 12.34. SQLSTATE: P0001")
    task = Thrown("[TASK_WRITE_FAILED] Task failed while writing. SQLSTATE: 58030", value)
    ended = Thrown(
        "[TASK_WRITE_FAILED] Task failed while writing. SQLSTATE: 58030\n=== Query", task
    )

    class Query:
        class _jsq:
            exception = staticmethod(lambda: Query)

        get = staticmethod(lambda: ended)
        exception = staticmethod(lambda: ended)

    failure = _failure(Query)
    assert readable(f"{failure}\n{failure._stackTrace}") == str(value)

    class Ended:
        exception = staticmethod(lambda: None)

    assert _failure(Ended) is None


def test_an_idle_trigger_is_no_batch():
    assert is_batch({"durationMs": {"addBatch": 1}})
    assert not is_batch({"durationMs": {"triggerExecution": 1}})


class Found(dict):
    """A row of Spark's."""

    def asDict(self):
        return dict(self)


@pytest.mark.parametrize(
    ("table", "asked"),
    [
        ("shop.history", "shop.`history`"),
        ("a.shop.version", "a.shop.`version`"),
        ("shop.`a.b`", "shop.`a.b`"),
        ("delta.`/lake/t`", "delta.`/lake/t`"),
        ("orders", "orders"),
    ],
)
def test_a_table_may_be_called_as_a_word_of_deltas(table, asked):
    row = Found(format="delta", id="i", location="file:/t")
    sent = []
    chosen = SimpleNamespace(select=lambda *names: SimpleNamespace(first=lambda: row))
    spark = SimpleNamespace(sql=lambda text: sent.append(text) or chosen)
    assert position._delta_detail(spark, table) == row
    assert sent == [f"describe detail {asked}"]


@pytest.mark.parametrize(
    ("version", "index", "behind"),
    [
        # Version 4 was read whole (index -1 stands before version 5), and 7 is the newest.
        (5, -1, 3),
        # Of version 7 one file was read, or a few: it still waits.
        (7, 12, 1),
        # Version 6 has files of changes, which a change feed never reads in part.
        (6, 0, 1),
        (8, -1, 0),
    ],
)
def test_versions_behind(version, index, behind):
    offset = {"reservoirId": "t", "reservoirVersion": version, "index": index}
    assert position.versions_behind(offset, 7, lambda of: of == 6) == behind
    assert position.versions_behind(None, 7, lambda of: of == 6) == 8


def test_a_table_that_is_read_for_the_first_time_is_read_in_parts():
    offset = {"reservoirVersion": 7, "index": 3, "isStartingVersion": True}
    assert position.versions_behind(offset, 7, lambda _: True) == 1


@pytest.mark.parametrize(
    ("source", "lag"),
    [
        ({"reservoirId": "t", "reservoirVersion": 5, "index": -1}, "3 versions"),
        ({"reservoirId": "u", "reservoirVersion": 7, "index": 12}, "1 version"),
        ({"reservoirId": "unknown", "reservoirVersion": 5, "index": 0}, None),
        ({"logOffset": 4}, None),
    ],
)
def test_lag_of_delta_tables(source, lag):
    behind = {"t": 3, "u": 1}
    assert lag_text([{"description": "DeltaSource[x]", "endOffset": source}], behind) == lag


def test_lag_of_topics():
    source = {
        "description": "KafkaV2[Subscribe[orders]]",
        "endOffset": {"orders": {"0": 10, "1": 5}},
        "latestOffset": '{"orders": {"0": 12, "1": 5, "2": 3}}',
    }
    assert lag_text([source], {}) == "5 records"


class Clock:
    """A service that waits for nothing, and remembers what it was told and how long it was to wait."""

    def __init__(self, stops_after):
        self.waits = []
        self.said = []
        self.service = Service(say=self.said.append)
        self.service.wait = self.wait
        self.stops_after = stops_after

    def wait(self, seconds):
        self.waits.append(seconds)
        if len(self.waits) == self.stops_after:
            self.service.stopping.set()
        return self.service.stopping.is_set()


def test_pauses_grow_to_a_minute():
    clock = Clock(stops_after=9)

    def fail():
        raise ValueError("no\n  table")

    assert not keep_running(clock.service, "shop.m", fail, lambda exc: False)
    assert clock.waits == [1, 2, 4, 8, 16, 32, 60, 60, 60]
    assert clock.said[0].endswith("  shop.m  failed, starts again in 1 s: no table")


def test_pauses_are_short_again_behind_a_good_hour(monkeypatch):
    clock = Clock(stops_after=4)
    now = iter([0, 1, 10, 12, 20, 5000, 5100, 5101, 6000])
    monkeypatch.setattr(services.time, "monotonic", lambda: next(now))

    def fail():
        raise ValueError("gone")

    keep_running(clock.service, "shop.m", fail, lambda exc: False)
    assert clock.waits == [1, 2, 1, 2]


def test_what_stays_wrong_is_not_tried_again():
    clock = Clock(stops_after=1)

    def fail():
        raise ValueError("wrong setting")

    with pytest.raises(ValueError, match="wrong setting"):
        keep_running(clock.service, "shop.m", fail, lambda exc: isinstance(exc, ValueError))
    assert clock.waits == []


def test_one_that_has_read_all_ends():
    clock = Clock(stops_after=1)
    assert keep_running(clock.service, "shop.m", lambda: True, lambda exc: False)
    assert clock.waits == []


@pytest.mark.parametrize(
    ("text", "advice"),
    [
        (
            "[DELTA_SOURCE_TABLE_IGNORE_CHANGES] Detected a data update",
            "with (skipChangeCommits = true)",
        ),
        (
            "[CONCURRENT_STREAM_LOG_UPDATE] Concurrent update to the log.",
            "another process runs this stream",
        ),
        ("[DELTA_FILE_NOT_FOUND_DETAILED] File part-1 not found", "is gone from its source"),
        ("[DELTA_VIOLATE_CONSTRAINT_WITH_VALUES] CHECK constraint", "change the constraint"),
        (
            "[FAILED_READ_FILE.FILE_NOT_EXIST] Encountered error while reading file /x/part-1. File does not exist",
            "or from a table that it joins. Run again.",
        ),
        (
            "There are [1] sources in the checkpoint offsets and now there are [2]",
            "its checkpoint was made with",
        ),
        (
            "[STREAMING_STATEFUL_OPERATOR_MISSING_STATE_DIRECTORY] Cannot restart streaming query with stateful operators",
            "and its checkpoint has none.",
        ),
    ],
)
def test_advice(text, advice):
    assert advice in explain(text).text


@pytest.mark.parametrize(
    ("text", "ends"),
    [
        ("[DELTA_FILE_NOT_FOUND_DETAILED] File part-1 not found", True),
        (
            "[FAILED_READ_FILE.FILE_NOT_EXIST] Encountered error while reading file /x/part-1.",
            False,
        ),
        ("File file:/x/part-1 does not exist", False),
        ("[STREAMING_STATEFUL_OPERATOR_MISSING_STATE_DIRECTORY] Cannot restart", True),
    ],
)
def test_what_may_pass_ends_no_stream(text, ends):
    """A table that a stream joins is overwritten now and then; its own source is not."""
    assert issubclass(explain(text).error, TryAgainError) is not ends


def test_damaged_state_under_a_statement_of_the_node(monkeypatch):
    """A micro-batch is computed within the node's own statement: dbt prints none of its macros below the sentence."""
    monkeypatch.setattr(streams, "Folder", lambda spark, location: Checkpointed({}))
    monkeypatch.setattr(streams, "verify", lambda folder: None)
    monkeypatch.setattr(streams.Streams, "_frame", lambda self, request: None)
    monkeypatch.setattr(streams.position, "paths_read", lambda frame: [])
    monkeypatch.setattr(streams, "damage", lambda folder, text: "its checkpoint is damaged")

    def fail(*given):
        raise DbtRuntimeError("[CANNOT_LOAD_STATE_STORE.X] An error")

    monkeypatch.setattr(streams, "Run", fail)
    given = {"model": "m", "sql": "", "table": "s.m", "output_mode": "append", "native": False}
    given |= {"location": "/ck", "project_dir": "/"}
    with pytest.raises(RefusedError, match="floodmark, model 'm': its checkpoint is damaged"):
        streams.Streams(SimpleNamespace(spark=None)).run(given, fail, fail, None)


def test_words_of_two_lines_make_no_advice():
    text = "cannot write file x: connection reset\nCaused by: relation TBLS does not exist"
    assert explain(text) is None


def test_no_advice():
    assert explain("[DIVIDE_BY_ZERO] Division by zero.") is None


#: Behind the message of a query's error Spark prints its plan, and pyspark the whole again before Java's stack.
QUERY = """
=== Streaming Query ===
Identifier: shop.m [id = 1, runId = 2]
Current State: ACTIVE
Thread State: RUNNABLE

Logical Plan:
Join LeftOuter, (id#1L = id#2L)
:- StreamingExecutionRelation Delta, [id#1L]
+- Relation spark_catalog.shop.sorted[id#2L] parquet

JVM stacktrace:
org.apache.spark.sql.streaming.StreamingQueryException: {0}
=== Streaming Query ===
Logical Plan:
Join LeftOuter, (id#1L = id#2L)
\tat org.apache.spark.X.run(X.scala:1)
Caused by: {0}
"""


@pytest.mark.parametrize(
    ("said", "advice"),
    [
        ("[DIVIDE_BY_ZERO] Division by zero.", None),
        ("[DIFFERENT_DELTA_TABLE_READ_BY_STREAMING_SOURCE] x", RefusedError),
    ],
)
def test_what_a_query_reads_is_no_error(said, advice):
    found = explain(said + QUERY.format(said))
    assert (found and found.error) is advice
    found = explain(f"[STREAM_FAILED] it ended{QUERY.format(said)}")
    assert (found and found.error) is advice


#: What Spark says of a SELECT that it cannot analyse, with the plan behind it, and as pyspark gives its stack.
REFUSED = """{0}; line 1 pos 7;
{1}Project [idd]
+- Join LeftOuter, (id#1L = id#2L)
   :- Sort [id#1L ASC NULLS FIRST], true

org.apache.spark.sql.catalyst.ExtendedAnalysisException: {0}; line 1 pos 7;
{1}Project [idd]
+- Join LeftOuter, (id#1L = id#2L)

\tat org.apache.spark.X.run(X.scala:1)
"""


@pytest.mark.parametrize("prefix", ["", "'", "!", "~"])
@pytest.mark.parametrize(
    ("said", "advice"),
    [
        ("[UNRESOLVED_COLUMN.WITH_SUGGESTION] A column `idd` cannot be resolved.", None),
        ("Stream-stream LeftOuter join is not supported without a watermark", "an outer join"),
        ("Sorting is not supported on streaming DataFrames/Datasets", "an endless stream"),
    ],
)
def test_the_plan_of_a_select_is_no_error(said, advice, prefix):
    found = explain(REFUSED.format(said, prefix))
    assert found is None if advice is None else found.text.startswith(advice)
    # A cause behind a semicolon is none of the plan.
    cause = "\nCaused by: java.io.IOException: mkdirs failed\n\tat org.x.Y.z(Y.java:1)"
    assert explain(f"[X] it ended;{cause}").text.startswith("the stream cannot write")


def test_kafka_without_its_connector():
    class Loader:
        def loadClass(self, name):
            raise RuntimeError("ClassNotFoundException")

    class WithoutKafka:
        class _jvm:
            class java:
                class lang:
                    class Thread:
                        @staticmethod
                        def currentThread():
                            return WithoutKafka._jvm.java.lang.Thread

                        @staticmethod
                        def getContextClassLoader():
                            return Loader()

    sql = 'stream(v) /*floodmark:stream {"format": "kafka", "name": "v", "options": {}, "path": null}*/'
    with pytest.raises(FloodmarkError) as refused:
        sources.with_sources(WithoutKafka, sql, "/project")
    assert str(refused.value) == (
        "the Kafka connector is not installed: run `floodmark setup --with kafka` once, and run the model again"
    )


def plan(name, *inputs, streams=None):
    """A node of an analysed plan, as py4j shows it: it streams where an input does."""
    streams = any(one.isStreaming() for one in inputs) if streams is None else streams
    children = SimpleNamespace(size=lambda: len(inputs), apply=lambda index: inputs[index])
    return SimpleNamespace(
        children=lambda: children, nodeName=lambda: name, isStreaming=lambda: streams
    )


STREAM, TABLE = plan("StreamingRelation", streams=True), plan("Relation", streams=False)
MARKED = plan("EventTimeWatermark", STREAM)


@pytest.mark.parametrize(
    ("analysed", "remembers", "forgets"),
    [
        (plan("Project", STREAM), False, False),
        (MARKED, False, False),
        (plan("Aggregate", STREAM), True, False),
        (plan("Aggregate", MARKED), True, True),
        (plan("Join", MARKED, STREAM), True, True),
        (plan("Join", MARKED, TABLE), False, False),
        # What is made of a table is no state of the stream.
        (plan("Join", MARKED, plan("Aggregate", TABLE)), False, False),
        (plan("Join", MARKED, plan("Distinct", plan("Join", TABLE, TABLE))), False, False),
        (plan("Deduplicate", plan("Join", MARKED, plan("Distinct", TABLE))), True, True),
    ],
)
def test_what_a_stream_remembers(analysed, remembers, forgets):
    execution = SimpleNamespace(analyzed=lambda: analysed)
    frame = SimpleNamespace(_jdf=SimpleNamespace(queryExecution=lambda: execution))
    assert streams._remembers(frame) is remembers
    assert streams._forgets(frame) is forgets
