"""What a model's config and its `meta: {floodmark: ...}` may say, without Spark."""

from __future__ import annotations

import datetime as dt
from types import SimpleNamespace
from typing import Any

import pytest

from tests.support.harness import OPT_IN
from tests.support.macros import Refused, load


def macros(**config: Any) -> SimpleNamespace:
    return load(config=SimpleNamespace(get=lambda name, default=None: config.get(name, default)))


@pytest.mark.parametrize(
    "in_meta",
    [
        {"watermark": {"column": "ts"}, "change_feed": False},
        {"expectations": [], "files": {"path": "a"}, "cdc": {}, "snapshot_diff": {}},
        {"trigger": "available_now", "output_mode": "append", "checkpoint_location": "c"},
        {},
    ],
)
def test_settings_of_floodmarks_may_stand_in_meta(in_meta: dict[str, Any]) -> None:
    assert macros(meta={"floodmark": in_meta})._meta_problems() == []


@pytest.mark.parametrize(
    "name",
    ["incremental_strategy", "unique_key", "partition_by", "merge_exclude_columns", "predicates"],
)
def test_dbts_settings_in_meta_would_be_read_by_nobody(name: str) -> None:
    floodmark = macros(meta={"floodmark": {name: "merge"}})
    [problem] = floodmark._meta_problems()
    assert problem == {
        "setting": f"meta.floodmark.{name}",
        "got": "merge",
        "expected": f"{name} in the model's config, since it is dbt's",
        "todo": "Move it there",
    }
    assert floodmark._is_managed()


@pytest.mark.parametrize(
    ("given", "names"),
    [
        (["id", "ID", '"Id"', "`day`"], ["id", "day"]),
        ("id", ["id"]),
        (None, []),
        ([{}, 1], [{}, 1]),
    ],
)
def test_a_column_that_is_named_twice_counts_once(given: Any, names: list[Any]) -> None:
    """Spark takes no table and no MERGE with a column twice. What is no name is left for the check."""
    floodmark = macros(unique_key=given, partition_by=given)
    floodmark._validate_settings = floodmark._validate_stream_settings = lambda: None
    for settings in (floodmark._settings(), floodmark._stream_settings()):
        assert (settings["unique_key"], settings["partition_by"]) == (names, names)
    (rule,) = floodmark._expectations([{"name": "once", "unique": given or "v"}])
    assert rule["unique"] == (names or ["v"])


@pytest.mark.parametrize("name", ["expectatons", "snapshot_dif", "Watermark", "materialized"])
def test_a_name_in_meta_that_is_no_setting_is_refused(name: str) -> None:
    floodmark = macros(meta={"floodmark": {name: {}}})
    [problem] = floodmark._meta_problems()
    assert problem["setting"] == f"meta.floodmark.{name}"
    assert problem["expected"].startswith("one of trigger, output_mode, ")
    assert problem["todo"] == "Remove it or correct its name"
    assert floodmark._is_managed()


def test_a_model_whose_meta_says_nothing_of_loading_stays_dbts() -> None:
    assert not macros(meta={"floodmark": {"change_feed": False}})._is_managed()
    assert not macros(meta={"owner": "me"})._is_managed()


@pytest.mark.parametrize(
    ("config", "names"),
    [
        ({"expectations": [{"name": "a", "on_violation": "drop"}, {"name": "b", "on_violation": "quarantine"}]}, "a, b"),
        ({"meta": {"floodmark": {"expectations": [{"name": "a", "on_violation": "drop"}]}}}, "a"),
        ({"expectations": [{"name": "a"}, {"name": "b", "on_violation": "fail"}, "misspelt"]}, None),
        ({"expectations": 7}, None),
        ({"expectations": [{"name": "a", "on_violation": "drop"}], "incremental_strategy": "merge"}, None),
        ({"expectations": [{"name": "a", "on_violation": "drop"}], "unique_key": None}, None),
    ],
)  # fmt: skip
def test_a_key_that_is_used_up_before_the_rules_judge(
    config: dict[str, Any], names: str | None
) -> None:
    """A stream with `append` keeps the first row of a key: a corrected one would vanish behind one that is held back."""
    problems = macros(**{"unique_key": "id"} | config)._output_problems()
    expected = f"no key with 'append' where rules drop or quarantine rows ({names})"
    assert [problem["expected"] for problem in problems] == ([expected] if names else [])


@pytest.mark.parametrize(
    ("name", "value"), [("change_feed", "false"), ("change_feed", 0), ("unique_key", 7)]
)
def test_a_setting_of_another_type_is_refused(name: str, value: Any) -> None:
    [problem] = macros(**{name: value})._setting_type_problems()
    assert (problem["setting"], problem["got"]) == (name, value)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"recursive": "false"}, "files.recursive: true or false. Write it without quotes"),
        ({"glob": ["*.csv"]}, "files.glob: one pattern. Write it as text, such as '*.csv'"),
        ({"path": ["landing"]}, "files.path: the folder to load from. Add it"),
        ({"rescued_data_column": True}, "files.rescued_data_column: a name, or false. Write one of them"),
        ({"rescued_data_column": ""}, "files.rescued_data_column: a name, or false. Write one of them"),
        ({"after": 5}, "files.after: a duration such as '30 days'. Units are microseconds, milliseconds, seconds, minutes, "
         "hours, days and weeks"),
        ({"max_bytes_per_batch": "much"}, "files.max_bytes_per_batch: a number of bytes, or text such as '512 mb'. "
         "Write one of them"),
        ({"allow_overwrites": True}, "files.allow_overwrites: false, 'append' or 'replace'. Use one of them"),
        ({"options": ["multiLine"]}, "files.options: a mapping of Spark's reader options. Write it as a mapping, such as "
         "{'multiLine': true}"),
        ({"after": "1 day", "max_bytes_per_batch": "1 kb", "allow_overwrites": False, "options": {}}, None),
        ({"rescued_data_column": False, "recursive": False, "glob": "a*"}, None),
    ],
)  # fmt: skip
def test_files_of_another_type_are_refused(given: dict[str, Any], said: str | None) -> None:
    floodmark = load()
    problems = floodmark._schema_problems(
        "files", {"path": "landing"} | given, floodmark._files_schema()
    )
    assert [f"{one['setting']}: {one['expected']}. {one['todo']}" for one in problems] == (
        [said] if said else []
    )


def test_no_problem_stops_nothing() -> None:
    assert load()._refuse([], "z", rejects="a reason") is None


def test_a_value_that_json_does_not_know_is_printed() -> None:
    """YAML makes dates of bounds that have no quotes."""
    floodmark = load()
    got = {"from": dt.date(2024, 1, 1), "to": [dt.datetime(2024, 2, 1, 6), None, 7, True, 0.5]}
    with pytest.raises(Refused) as refused:
        floodmark._refuse([{"setting": "x", "got": got, "expected": "y", "todo": "Do it"}], "z")
    assert (
        'x: got {"from": "2024-01-01", "to": ["2024-02-01 06:00:00", null, 7, true, 0.5]}; '
        "expected y. Do it" in str(refused.value)
    )


@pytest.mark.parametrize(
    ("config", "beside", "taken"),
    [
        ({"expectations": [{}]}, {"name": "orders__quarantine"}, True),
        ({"files": {"path": "in"}}, {"name": "bad", "alias": "Orders__Quarantine"}, True),
        ({"incremental_strategy": "cdc"}, {"name": "orders__cdc_state"}, True),
        ({"expectations": [{}]}, {"name": "orders__cdc_state"}, False),
        ({"watermark": {"column": "at"}}, {"name": "orders__quarantine"}, False),
        ({"expectations": [{}]}, {"name": "orders__quarantine", "schema": "other"}, False),
        ({"expectations": [{}]}, {"name": "orders__quarantine", "type": "test"}, False),
        ({"expectations": [{}]}, {"name": "orders__quarantine", "how": "ephemeral"}, False),
    ],
)
def test_no_node_has_the_name_of_a_table_that_is_kept_beside(
    config: dict[str, Any], beside: dict[str, str], taken: bool
) -> None:
    node = SimpleNamespace(
        resource_type=beside.get("type", "model"),
        schema=beside.get("schema", "shop"),
        name=beside["name"],
        alias=beside.get("alias"),
        config=SimpleNamespace(materialized=beside.get("how", "table")),
    )
    floodmark = load(
        config=SimpleNamespace(get=lambda name, default=None: config.get(name, default)),
        graph=SimpleNamespace(nodes={"model.shop.beside": node}),
        this=SimpleNamespace(schema="shop", identifier="orders"),
    )
    problems = floodmark._taken_name_problems()
    assert len(problems) == taken
    if taken:
        assert problems[0]["expected"] == (
            f"that no other node is called shop.{(node.alias or node.name).lower()}, as model.shop.beside is"
        )


@pytest.mark.parametrize(
    ("code", "is_guarded"),
    [
        ("{% if is_incremental() %} where x {% endif %}", True),
        ("{%- if var('a') and\n is_incremental () -%}", True),
        ("{% set x = {'a': {}} if is_incremental() else {} %}", True),
        ("where {{ 'x' if is_incremental() else 'y' }}", True),
        ("{# is_incremental() #} select 1", False),
        ("{#- {% if is_incremental() %}\n{% endif %} -#} {{ x }}", False),
        ("-- is_incremental() of {{ ref('a') }} is not needed: is_incremental()", False),
        ("{% set x = 1 %} is_incremental() {{ ref('a') }}", False),
    ],
)
def test_is_incremental_counts_where_jinja_calls_it(code: str, is_guarded: bool) -> None:
    assert load(model={"raw_code": code})._is_guarded() is is_guarded


GUARD = "{% if is_incremental() %}{% endif %}"
FILTER = "select 1 where /*floodmark:bounds `ts`*/ true /*floodmark:end*/"
BARE = "select 1"
THEIRS = ["macro.dbt.is_incremental", "macro.floodmark.new_files"]
OURS = ["macro.shop.only_new", *THEIRS]
OTHERS = ["macro.dbt_utils.star", *THEIRS]


@pytest.mark.parametrize(
    ("code", "compiled", "macros", "goes_on", "watermark", "refused"),
    [
        (BARE, None, THEIRS, False, {"start": 1}, None),
        (BARE, FILTER, THEIRS, False, {"start": 1}, None),
        (BARE, BARE, THEIRS, False, {}, "watermark"),
        (BARE, BARE, THEIRS, True, {}, "watermark"),
        (GUARD, BARE, THEIRS, False, {}, None),
        (GUARD, BARE, THEIRS, False, {"gaps": "warn"}, None),
        (GUARD, BARE, THEIRS, False, {"gaps": "wait"}, "watermark.gaps"),
        (GUARD, BARE, THEIRS, False, {"step": 5}, "watermark.step"),
        # What else depends on is_incremental() is no guard of the filter.
        (GUARD, FILTER, THEIRS, False, {"start": 1, "gaps": "wait"}, None),
        (GUARD, FILTER, THEIRS, True, {"start": 1}, None),
        # The guard may stand in a macro of the project; in an incremental run it hides nothing.
        (BARE, BARE, OURS, False, {}, None),
        (BARE, BARE, OURS, False, {"sql": "max(ts)"}, "watermark.sql"),
        (BARE, BARE, OURS, True, {}, "watermark"),
        (BARE, BARE, OTHERS, False, {}, "watermark"),
    ],
)
def test_the_filter_of_a_first_load_stands_in_its_sql_or_behind_a_guard(
    code: str,
    compiled: str | None,
    macros: list[str],
    goes_on: bool,
    watermark: dict[str, Any],
    refused: str | None,
) -> None:
    model = {"raw_code": code, "compiled_code": compiled, "package_name": "shop"}
    model["depends_on"] = {"macros": macros}
    floodmark = load(model=model, is_incremental=lambda: goes_on)
    problems = floodmark._filter_problems({"column": "ts"} | watermark)
    assert [problem["setting"] for problem in problems] == ([refused] if refused else [])


def test_a_value_of_another_type_is_told_once() -> None:
    files = {"path": "in", "after": 5, "max_bytes_per_batch": [], "options": 5}
    config = {"files": files | {"allow_overwrites": "yes"}}
    floodmark = load(config=config, model={"raw_code": "", "compiled_code": None})
    told = [problem["setting"] for problem in floodmark._files_problems()]
    names = ("max_bytes_per_batch", "allow_overwrites", "after", "options")
    assert told == [f"files.{name}" for name in names]


@pytest.mark.parametrize(
    ("format", "files", "said"),
    [
        ("text", {"schema": "id int"}, "files.schema: got"),
        ("parquet", {"single_variant_column": "v"}, "files.single_variant_column: got"),
        ("xml", {"schema": "id int"}, "files.options.rowTag: got"),
        ("text", {"on_corrupt": "null"}, "files.on_corrupt: got"),
        ("json", {"on_corrupt": "null"}, None),
        ("text", {}, None),
        ("json", {"schema": "id int", "rescued_data_column": "r"}, None),
    ],
)
def test_what_a_format_lacks_that_the_names_of_files_tell(
    format: str, files: dict[str, Any], said: str | None
) -> None:
    floodmark = macros(files={"path": "in"} | files)
    floodmark._is_stream = lambda: False
    settings = floodmark._files_settings() | {"format": format}
    if said is None:
        floodmark._check_format(settings)
        return
    with pytest.raises(Refused, match=said):
        floodmark._check_format(settings)


@pytest.mark.parametrize(
    ("got", "shown"),
    [
        ("größe", '"größe"'),
        ({"ключ": ["日本", "😀é"]}, '{"ключ": ["日本", "😀é"]}'),
        ('a "b" \\u00e9 \\', r'"a \"b\" \\u00e9 \\"'),
        # What cannot be seen, and half of a letter.
        ("a\xa0b\u200bc\n\x85\ufeff", r'"a\u00a0b\u200bc\n\u0085\ufeff"'),
        ("\ud83d \ud83d\ude00\ude00", r'"\ud83d 😀\ude00"'),
    ],
)
def test_letters_of_every_alphabet_are_printed_as_they_are(got: object, shown: str) -> None:
    floodmark = load()
    with pytest.raises(Refused) as refused:
        floodmark._refuse([{"setting": "x", "got": got, "expected": "y", "todo": "Do it"}], "z")
    assert f"x: got {shown}; expected y. Do it" in str(refused.value)


UNHEEDED = "models/silver/notes.sql"


#: The macros of a project that has the opt-in, as dbt keeps them.
OPTED_IN = {"shop": {"materialization_incremental_spark": None}}


def unheeded(
    config: dict[str, Any],
    selected: bool = True,
    macros: dict[str, Any] = OPTED_IN,
    count: int = 1,
    flags: dict[str, bool] | None = None,
    **node: Any,
) -> str | None:
    """What a run says of models of this config before it begins."""
    given = {"name": "notes", "resource_type": "model", "original_file_path": UNHEEDED} | node
    config = {"materialized": "view"} | config
    nodes = {str(number): {"config": config} | given for number in range(count)}
    floodmark = load(
        graph=SimpleNamespace(nodes=nodes),
        selected_resources=list(nodes) if selected else [],
        context=macros,
        project_name="shop",
        invocation_args_dict=flags or {},
    )
    try:
        floodmark._check_unheeded_settings()
    except Refused as refused:
        return " ".join(str(refused).split())
    return None


@pytest.mark.parametrize("materialized", ["view", "table", "ephemeral"])
@pytest.mark.parametrize("name", ["expectations", "cdc", "snapshot_diff"])
def test_settings_that_a_materialization_would_not_heed_stop_the_run(
    name: str, materialized: str
) -> None:
    value = [{"name": "a", "expect": "id > 0"}] if name == "expectations" else {"sequence_by": "n"}
    asked = {"materialized": materialized}
    kinds = "incremental" if name == "snapshot_diff" else "incremental or streaming_table"
    told = (
        f'floodmark refuses the run: 1 problem - {name} of notes ({UNHEEDED}): got "materialized: {materialized}"; '
        f"expected materialized: {kinds}. No other model is loaded by this setting. Change the materialization, or "
        "remove the setting; if a folder of the project sets it, write config({}) in this model"
    )
    said = unheeded(asked | {name: value})
    assert said is not None and said.endswith(told.replace("{}", f"{name}=none"))
    in_meta = unheeded(asked | {"meta": {"floodmark": {name: value}}})
    assert in_meta is not None and "write config(meta={'floodmark': {}}) in this model" in in_meta
    assert unheeded(asked | {name: value}, selected=False) is None
    for kind in ("snapshot", "seed", "test"):
        assert unheeded(asked | {name: value}, resource_type=kind) is None


@pytest.mark.parametrize(
    "config",
    [
        # A folder may have them for models of all kinds, and an empty one says nothing.
        {"watermark": {"column": "ts"}, "files": {"path": "a"}, "incremental_strategy": "cdc"},
        {"expectations": [], "cdc": {}, "snapshot_diff": None},
        {"materialized": "incremental", "expectations": [{"name": "a"}]},
        {"materialized": "streaming_table", "cdc": {"sequence_by": "n"}},
        # One of the project's own may call floodmark.
        {"materialized": "incremental_of_ours", "expectations": [{"name": "a"}]},
    ],
)
def test_other_settings_stop_no_run(config: dict[str, Any]) -> None:
    assert unheeded(config) is None


WATERMARKED = {"materialized": "incremental", "watermark": {"column": "ts"}}
LACKS_OPT_IN = (
    "floodmark refuses the run: 1 problem - materialization incremental in project 'shop': expected floodmark's, for "
    "notes. Without this opt-in each run would load all rows again. Write these lines into macros/floodmark.sql, or "
    "into another file in a folder of macro-paths (dbt_project.yml): "
)


@pytest.mark.parametrize(
    "macros",
    [
        {},
        {"floodmark": {"materialization_incremental_spark": None}},
        # dbt-spark's own goes before one that is not for Spark.
        {"shop": {"materialization_incremental_default": None}},
    ],
)
@pytest.mark.parametrize(
    "config",
    [
        WATERMARKED,
        {"materialized": "incremental", "meta": {"floodmark": {"expectations": [{"name": "a"}]}}},
        {"materialized": "incremental", "incremental_strategy": "snapshot_diff"},
    ],
)
def test_a_project_without_the_opt_in_runs_no_model_of_floodmarks(
    macros: dict[str, Any], config: dict[str, Any]
) -> None:
    assert unheeded(config, macros=macros) == LACKS_OPT_IN + " ".join(OPT_IN.split())
    assert unheeded(config) is None
    assert unheeded(config, macros=macros, selected=False) is None


@pytest.mark.parametrize(
    "config",
    [
        {"materialized": "incremental", "incremental_strategy": "merge"},
        {"materialized": "streaming_table"},
        {"materialized": "table", "watermark": {"column": "ts"}},
        {"materialized": "incremental_of_ours", "watermark": {"column": "ts"}},
    ],
)
def test_what_needs_no_opt_in(config: dict[str, Any]) -> None:
    assert unheeded(config, macros={}) is None


@pytest.mark.parametrize(
    ("macros", "may_override"),
    [
        # A macro that is named like the project hides the project's macros.
        ({"shop": lambda: ""}, None),
        ({}, True),
    ],
)
def test_where_floodmarks_own_may_load_the_model_nothing_is_said(
    macros: dict[str, Any], may_override: bool | None
) -> None:
    flag = "require_explicit_package_overrides_for_builtin_materializations"
    assert unheeded(WATERMARKED, macros=macros, flags={flag: not may_override}) is None


@pytest.mark.parametrize(
    ("count", "named"),
    [(3, "notes, notes, notes. Without"), (5, "notes, notes, notes and 2 more. Without")],
)
def test_some_of_many_models_are_named(count: int, named: str) -> None:
    said = unheeded(WATERMARKED, macros={}, count=count)
    assert said is not None and named in said


@pytest.mark.parametrize("which", ["run", "build", "retry", "compile", "show", "test"])
@pytest.mark.parametrize("macros", [{}, OPTED_IN])
def test_a_select_that_asks_for_a_batch_needs_the_opt_in(
    which: str, macros: dict[str, Any]
) -> None:
    """Where another package's hook fails, dbt runs the models all the same, and not floodmark's hook."""
    floodmark = load(
        context=macros,
        project_name="shop",
        invocation_args_dict={},
        flags=SimpleNamespace(WHICH=which, EMPTY=False),
        target=SimpleNamespace(type="spark"),
        execute=True,
        model={"name": "notes", "resource_type": "model", "config": WATERMARKED},
        config=WATERMARKED,
    )
    floodmark._next_bounds = lambda column: f"{column} > 1"
    if macros or which not in ("run", "build", "retry"):
        assert "/*floodmark:bounds `ts`*/" in floodmark.watermark_filter()
        return
    with pytest.raises(Refused, match=r"floodmark refuses model 'shop.orders'.*\n.*for notes"):
        floodmark.watermark_filter()


@pytest.mark.parametrize(
    ("files", "said"),
    [
        (
            {"on_loaded": "delete", "after": "167 hours"},
            "files.after: got \"167 hours\"; expected '7 days' or more with on_loaded 'delete'. "
            "Keep files for as long as somebody may want to load them again",
        ),
        ({"on_loaded": "delete", "after": "1 week"}, None),
        ({"on_loaded": "delete"}, None),
        (
            {"on_loaded": "archive"},
            "files.archive_to: got null; expected a folder with on_loaded 'archive'. Add it",
        ),
        (
            {"on_loaded": "archive", "archive_to": "in/old"},
            'files.archive_to: got "in/old"; expected a folder that is not below /shop/in, which the model reads. '
            "Put the archive beside it",
        ),
        (
            {"on_loaded": "archive", "archive_to": "file:///shop/in"},
            'files.archive_to: got "file:///shop/in"; expected a folder that is not below /shop/in, which the model '
            "reads. Put the archive beside it",
        ),
        ({"on_loaded": "archive", "archive_to": "inner", "after": "0 seconds"}, None),
        (
            {"on_loaded": "delete", "archive_to": "old"},
            'files.archive_to: got "old"; expected on_loaded archive with it. Remove it: it is where these go',
        ),
    ],
)
def test_what_may_become_of_loaded_files(files: dict[str, Any], said: str | None) -> None:
    given = {"path": "in", "format": "json"} | files
    floodmark = load(
        config=SimpleNamespace(get=lambda name, default=None: {"files": given}.get(name, default)),
        invocation_args_dict=SimpleNamespace(project_dir="/shop"),
        model={"config": {"materialized": "incremental"}},
    )
    problems = floodmark._files_problems()
    if said is None:
        assert problems == []
        return
    with pytest.raises(Refused) as refused:
        floodmark._refuse(problems)
    told = f"floodmark refuses model 'shop.orders': 1 problem\n  - {said}"
    assert str(refused.value) == told
