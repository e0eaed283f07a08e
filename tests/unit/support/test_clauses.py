"""Texts within our SQL: clauses of the user's, names in quotes, literals; without Spark."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from tests.support.macros import load


@pytest.fixture(scope="module")
def floodmark() -> SimpleNamespace:
    return load(model=SimpleNamespace(raw_code=""))


@pytest.mark.parametrize(
    ("text", "clause"),
    [
        ("a or b", "(a or b)"),
        ("a > 1;", "(a > 1)"),
        ("a > 1 ; -- b ;\n;", "(a > 1)"),
        ("a /* ) /* nested */ ; */ > 1", "(a   > 1)"),
        ("a = ';' -- '", "(a = ';')"),
        ("a = '--' and b = \"/*\"", "(a = '--' and b = \"/*\")"),
        ("a = 'it\\'s ) ;'", "(a = 'it\\'s ) ;')"),
        ("`odd ; ) name` is null", "(`odd ; ) name` is null)"),
        ("a - b / c", "(a - b / c)"),
        ("regexp_like(r, r'\\)')", "(regexp_like(r, r'\\)'))"),
        ("a > 1 --b\r or c", "(a > 1  \r or c)"),
        ("a > 1 --b\\\n or c)\n and d", "(a > 1  \n and d)"),
        ("a > 1 --b\\\r or c", "(a > 1  \r or c)"),
    ],
)
def test_a_clause_stands_in_parentheses(floodmark: SimpleNamespace, text: str, clause: str) -> None:
    assert floodmark._clause(text) == clause
    assert floodmark._clause_problems("x", text) == []


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("a > 1)", "a parenthesis without its other half"),
        ("(a > 1", "a parenthesis without its other half"),
        ("a) or (b", "a parenthesis without its other half"),
        ("(a; b)", "a parenthesis without its other half"),
        ("a; b", "a semicolon, which ends a statement"),
        ("a; drop table t --", "a semicolon, which ends a statement"),
        ("a = 'x", "a quote or a comment without an end"),
        ('a = "x', "a quote or a comment without an end"),
        ("`a = 1", "a quote or a comment without an end"),
        ("a /* /* */ > 1", "a quote or a comment without an end"),
        ("-- a", "no SQL"),
        (" ; ", "no SQL"),
    ],
)
def test_what_would_leave_its_parentheses_is_a_problem(
    floodmark: SimpleNamespace, text: str, wrong: str
) -> None:
    (problem,) = floodmark._clause_problems("scope", text)
    assert problem["setting"] == "scope" and problem["got"] == text
    assert problem["expected"] == f"a SQL expression, but this has {wrong}"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a = 'b'", "a = ''"),
        ("a = 'it''s'", "a = ''''"),
        ("a = 'it\\'s' and b = 'c'", "a = '' and b = ''"),
        ('a in ("b", "c\\"d")', "a in ('', '')"),
        ("a = r'\\' or b = ''", "a = '' or b = ''"),
        ("`it's` = date'2024-01-01'", "`it's` = date''"),
        ("a /* 'b */ = 'c' -- 'd", "a   = ''  "),
    ],
)
def test_strings_are_empty(floodmark: SimpleNamespace, text: str, words: str) -> None:
    assert floodmark._without_strings(text) == words


@pytest.mark.parametrize(
    ("sql", "text"),
    [
        ("select 1", "select 1"),
        ("select 1;", "select 1"),
        ("select ';' as a ;\n-- the ; end\n;", "select ';' as a \n-- the ; end\n"),
        ("select 1 /* ; */", "select 1 /* ; */"),
        ("select a from b where x /*floodmark:end*/;", "select a from b where x /*floodmark:end*/"),
        ("select 1; select 2", "select 1; select 2"),
        ("select 1 --a;\\\n;\n;", "select 1 --a;\\\n;\n"),
        ("select 1 --a\r;", "select 1 --a\r"),
        ("select 1 -- a\\", "select 1 "),
        ("select 1 /* b */ ; -- a\\\n", "select 1 /* b */  "),
        ("select '-- a\\\\'", "select '-- a\\\\'"),
        ("select 1 -- a\\\n, 2\n-- b", "select 1 -- a\\\n, 2\n-- b"),
    ],
)
def test_a_select_loses_the_semicolons_behind_it(
    floodmark: SimpleNamespace, sql: str, text: str
) -> None:
    assert floodmark._select_text(sql) == text


@pytest.mark.parametrize(
    ("written", "name"),
    [
        ("id", "id"),
        ("`id`", "id"),
        ('"id"', "id"),
        (" `a b` ", "a b"),
        ("`ti``ck`", "ti`ck"),
        ('"say ""x"""', 'say "x"'),
        ("a`b", "a`b"),
        ("`a`, `b`", "`a`, `b`"),
        ("``", "``"),
    ],
)
def test_names_come_in_quotes_or_bare(floodmark: SimpleNamespace, written: str, name: str) -> None:
    assert floodmark._column_name(written) == name


def test_settings_name_columns_in_quotes(floodmark: SimpleNamespace) -> None:
    given = {
        "column": '"ts"',
        "column_list": ["`a`", "b"],
        "ignore_null_updates": True,
        "sequence_by": ['"at"', "a + 1"],
        "rescued_data_column": "`_r`",
        "single_variant_column": '"v"',
    }
    assert floodmark._with_bare_names(given) == {
        "column": "ts",
        "column_list": ["a", "b"],
        "ignore_null_updates": True,
        "sequence_by": ["`at`", "a + 1"],
        "rescued_data_column": "_r",
        "single_variant_column": "v",
    }
    assert floodmark._with_bare_names({"rescued_data_column": False}) == {
        "rescued_data_column": False
    }


@pytest.mark.parametrize(
    ("text", "literal"),
    [
        ("it's", r"'it\'s'"),
        ("a\\b\nc\rd", r"'a\\b\nc\rd'"),
        ("${spark.x} $1", r"'\u0024{spark.x} $1'"),
        ("a\0b", r"'a\u0000b'"),
        (None, "null"),
    ],
)
def test_literals_come_back_as_they_were(
    floodmark: SimpleNamespace, text: str | None, literal: str
) -> None:
    assert floodmark._string_literal(text) == literal


@pytest.mark.parametrize(
    ("value", "listed"),
    [
        (None, []),
        ("a", ["a"]),
        (["a", "b"], ["a", "b"]),
        (("a",), ["a"]),
        (5, [5]),
        (True, [True]),
        ({"field": "d"}, [{"field": "d"}]),
    ],
)
def test_what_is_no_list_is_its_only_member(
    floodmark: SimpleNamespace, value: object, listed: list[object]
) -> None:
    assert floodmark._as_list(value) == listed


def test_macros_take_names_in_quotes(floodmark: SimpleNamespace) -> None:
    """In arguments as in settings: `id` and "id" are the column id."""
    for written in ("`id`", '"id"'):
        assert floodmark.hash_diff([written, "b"]) == floodmark.hash_diff(["id", "b"])
        assert floodmark.hash_key(written) == floodmark.hash_key("id")
        events = floodmark.debezium("raw.t", keep=[written])
        assert events.count("_changed_at, `id`") == 2 and "```" not in events
        assert events == floodmark.debezium("raw.t", keep="id")
        rows = floodmark.dms("raw.t", "seq", "0", op=written)
        assert "except (`id`)" in rows and "case `id` when 'D'" in rows
        assert "if(`id` is null" in rows


BOUNDS = "/*floodmark:bounds ts*/ ts > 1 /*floodmark:end*/"


@pytest.mark.parametrize(
    ("sql", "has"),
    [
        (f"select 1 from t where {BOUNDS}", True),
        (f"select 'it''s' -- where\nfrom t where ({BOUNDS})", True),
        (f"select 1 -- where {BOUNDS}\nfrom t where {BOUNDS}", True),
        (f"select 1 from t -- where {BOUNDS}", False),
        (f"select 1 from t -- where {BOUNDS}\n", False),
        (f"select 1 from t /* where {BOUNDS} */", False),
        (f"select 1 /* /* a */ {BOUNDS} */ from t", False),
        (f"select '{BOUNDS}' from t", False),
        (f'select "{BOUNDS}" from t', False),
        (f"select `{BOUNDS}` from t", False),
        ("select 1 from t", False),
    ],
)
def test_a_mark_of_ours_counts_in_code_alone(
    floodmark: SimpleNamespace, sql: str, has: bool
) -> None:
    assert floodmark._has_mark("bounds", sql) is has


@pytest.mark.parametrize(
    ("sql", "named"),
    [
        ("select a as ts from t", True),
        ("select f(ts) ts from t", True),
        ("select a AS `TS` from t", True),
        ("select ts, b from t", False),
        ("select t.ts from t", False),
        ("select a as ts_2, b as tsx from t", False),
        ("select a -- as ts\n, ts from t", False),
        ("select ' as ts ' from t", False),
        ("select case when a then b end ts from t", True),
        ("select a::date ts from t", True),
        ("select a::decimal(10, 2)\n  ts from t", True),
        ("select created `ts`, id from t", True),
        ("select date'2024-01-01' ts from t", True),
        ("select a[0] ts from t", True),
        ("select interval 1 day ts", True),
        ("select distinct ts from t where ts > 1 and not ts is null or ts in (2)", False),
        ("select case when ts > 1 then ts else ts end as a from t order by ts", False),
        ("select a + ts as b, (ts) as c from t", False),
        ("select ts, row_number() over (partition by ts order by ts) as n from t", False),
    ],
)
def test_whether_a_select_names_an_expression(
    floodmark: SimpleNamespace, sql: str, named: bool
) -> None:
    assert floodmark._names_expression(sql, "ts") is named


def test_a_long_select_keeps_its_end(floodmark: SimpleNamespace) -> None:
    """Jinja's range has an end, which 30,000 rows in parentheses go beyond."""
    rows = ",\n".join(f"({number})" for number in range(30_000))
    assert (
        floodmark._select_text(f"select * from values {rows} ;\n")
        == f"select * from values {rows} \n"
    )


def settings_of(**config: object) -> SimpleNamespace:
    return load(config=config)


@pytest.mark.parametrize(
    ("setting", "value", "expected"),
    [
        ("incremental_predicates", 5, "a condition or a list of conditions"),
        ("predicates", [True], "a condition or a list of conditions"),
        ("merge_update_columns", True, "a column or a list of columns"),
        ("merge_exclude_columns", {"a": 1}, "a column or a list of columns"),
        ("partition_by", 7, "a column or a list of columns"),
        ("partition_by", {"field": "d"}, "a column or a list of columns"),
        ("unique_key", ["id", 3], "a column or a list of columns"),
    ],
)
def test_settings_of_another_type_are_refused(setting: str, value: object, expected: str) -> None:
    floodmark = settings_of(**{setting: value})
    (problem,) = floodmark._setting_type_problems()
    assert (problem["setting"], problem["got"], problem["expected"]) == (setting, value, expected)
    assert problem["todo"] in ("Write their names", "Put each in quotes")
    # What reads the setting gives no error of Python's before the refusal.
    for values in (floodmark._name_list(value), floodmark._as_list(value)):
        assert isinstance(values, list)


@pytest.mark.parametrize(
    "config",
    [
        {},
        {"partition_by": "d", "unique_key": ["a", "`b`"]},
        {"incremental_predicates": ["a > 1", "b"], "merge_update_columns": []},
        {"meta": {"floodmark": {"watermark": {"column": "ts"}}}},
        {"meta": {"owner": "x"}},
        {"meta": None},
    ],
)
def test_settings_of_the_right_type_pass(config: dict[str, object]) -> None:
    assert settings_of(**config)._setting_type_problems() == []


def test_meta_that_is_no_mapping_is_refused() -> None:
    floodmark = settings_of(meta={"floodmark": "bronze"})
    assert floodmark._setting("watermark") is None
    assert floodmark._is_managed()
    (problem,) = floodmark._setting_type_problems()
    assert problem["setting"] == "meta.floodmark" and problem["got"] == "bronze"
    assert problem["expected"].startswith("a mapping such as {'watermark'")
    assert not settings_of(meta={"floodmark": None})._is_managed()
    assert not settings_of(meta={"floodmark": {}})._is_managed()


@pytest.mark.parametrize(
    ("select", "joined", "named"),
    [
        ("o.id, c.ts", "s.orders as o join s.customers as c on c.id = o.id", True),
        ("o.id, C.`ts`", "s.customers c join s.orders o using (id)", True),
        ("o.id, c.ts", "s.orders o left join (select id, ts from (x)) c on true", True),
        ("o.id, c.ts", "s.orders o, s.customers c join s.d as d using (id)", True),
        ("o.id, customers.ts", "s.orders o join s.customers using (id)", True),
        ("o.id, o.ts, c.name", "s.orders o, s.customers c", False),
        ("o.id, o.ts, c.name", "s.orders as o join s.customers as c on c.id = o.id", False),
        ("o.id, c.tsx, c.ts_2", "s.orders as o join s.customers as c using (id)", False),
        ("r.ts, d.name", "(select * from s.orders o) as r", False),
        ("o.id, 'c.ts' as x -- c.ts", "s.orders o join s.customers c using (id)", False),
    ],
)
def test_a_column_of_another_relation_is_none_of_the_upstream(
    floodmark: SimpleNamespace, select: str, joined: str, named: bool
) -> None:
    """The filter says by its alias whose column the mark is of."""
    sql = f"select {select}\nfrom {joined}\n"
    bounds = f"where {BOUNDS.replace('ts', 'o.`ts`')}"
    assert floodmark._names_expression(sql + bounds, "ts") is named
    # A guard takes the filter out of a first load.
    guarded = load(model=SimpleNamespace(raw_code="where {{ watermark_filter(alias='O') }}"))
    assert guarded._names_expression(sql, "ts") is named
    assert not floodmark._names_expression(sql, "ts")


IN_A_CTE = "with o as (select {} from s.orders where {}), c as (select id, ts from s.customers)\n"


@pytest.mark.parametrize(
    ("select", "taken"),
    [
        (IN_A_CTE + "select o.id, c.ts from o join c using (id)", True),
        (IN_A_CTE + "select o.id, o.ts from o join c using (id)", True),
        (IN_A_CTE + "select o.id, c.* from o join c using (id)", True),
        (IN_A_CTE + "select c.* from o, c where o.id = c.id", True),
        (IN_A_CTE + "select * from o as o, c", True),
        (
            IN_A_CTE + "select o.id, coalesce(o.a, 0) as a, o.ts from (select o.* from o) as o",
            False,
        ),
        ("with o as (select * from s.orders where {}{}) select o.ts from o", False),
        ("select o.*, upper(v) as v, 1 as n from s.orders as o where {}{}", False),
        ("select id, ts from s.orders where {}{}", False),
        ("select orders.id, orders.ts from s.orders where {}{}", False),
        ("select id, `Payload`.TS from s.orders where {}{}", True),
        ("select o.id, o.payload.ts from s.orders o where {}{}", True),
        (
            "select id, p.ts from (select *, named_struct('ts', 1) as p from s.orders) where {}{}",
            True,
        ),
        ("select r.ts from (select * from s.orders where {}{}) as r where true", False),
        ("select r.ts from (select * from s.orders where {}{}) r", False),
        ("select id, 'payload.ts' as x -- payload.ts\nfrom s.orders where {}{}", False),
        ("with x(id, ts) as (select id, a from s.orders where {}{}) select * from x", True),
        ("select * from (select id, a from s.orders where {}{}) as x(id, `ts`)", True),
        ("select id, max(ts) as last from s.orders where {}{} group by id", False),
        ("select id, ts from s.orders where {}{} and ts in (select ts from s.days)", False),
    ],
)
def test_a_column_may_come_from_elsewhere(
    floodmark: SimpleNamespace, select: str, taken: bool
) -> None:
    """From a struct, a list of columns or a join whose filter stands in a CTE: the values are compared then."""
    sql = select.format("" if "{}{}" in select else "*", BOUNDS)
    assert floodmark._takes_from_another(sql, "ts") is taken


@pytest.mark.parametrize(
    ("select", "may_change"),
    [
        ("id, ts", False),
        ("id, ts as ts", False),
        ("o.ts AS `TS`, id", False),
        ("id, cast(o.`ts` as timestamp) as ts", False),
        ("id, date_trunc('day', ts) as ts", True),
        ("id, coalesce(shipped_at, ts) ts", True),
        ("id, cast(ts as date) as ts", True),
        ("id, least(ts, cast(ts as bigint)) as ts", True),
        ("id, interval 1 day + ts as ts", True),
        ("id, -ts as ts", True),
        ("id, p.ts as ts", True),
    ],
)
def test_a_column_that_keeps_its_values(
    floodmark: SimpleNamespace, select: str, may_change: bool
) -> None:
    """Of an operation the text has no relations, and the alias of the filter as it is written."""
    sql = f"select {select} from s.orders as o where {BOUNDS}"
    assert bool(floodmark._may_change_column(sql, "ts")) is may_change
    raw = f"select {select} from {{{{ source('s', 'orders') }}}} as o where {{{{ watermark_filter() }}}}"
    written = floodmark._written_select(SimpleNamespace(raw_code=raw))
    assert bool(floodmark._may_change_column(written, "ts")) is may_change
    for own, joined in (("o.ts", False), ("c.ts", True)):
        raw = (
            f"select o.id, {own} from {{{{ source('s', 'orders') }}}} as o "
            "join {{ ref('customers') }} as c using (id) where {{ watermark_filter(alias='o') }}"
        )
        written = floodmark._written_select(SimpleNamespace(raw_code=raw))
        assert bool(floodmark._may_change_column(written, "ts")) is joined


@pytest.mark.parametrize("reads_mark", [True, False])
def test_a_union_is_asked_where_its_rows_tell_the_mark(
    floodmark: SimpleNamespace, reads_mark: bool
) -> None:
    """Each part has its own filter, so that a batch with bounds reads what they say; else its greatest value counts."""
    sent: list[str] = []
    asked = load(run_query=lambda sql: sent.append(sql) or SimpleNamespace(rows=[sql]))
    marks = "select * from due" if reads_mark else None
    sql = "select id, ts from s.orders where {b}\nUNION all select id, ts from s.returns where {b}"
    sql = sql.replace("{b}", BOUNDS)
    assert asked._changes_column(sql, "ts", sql, "s.orders", marks) is reads_mark
    assert all("max(`ts`) as value from (\nselect * from due" in one for one in sent)
    plain = "select * except (v), 'union' as u from s.orders -- union"
    assert not asked._changes_column(plain, "ts", plain, "s.orders", marks)
