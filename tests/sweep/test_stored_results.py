"""Results in an open store behave like the same results in memory."""

import dataclasses
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from made_results import result, sweep

from stereo_framework.core.errors import DataError, ParameterError
from stereo_framework.sweep import MISSING, ResultSet, Store
from stereo_framework.sweep.identity import result_key
from stereo_framework.tables.results import ordered, where
from stereo_framework.tables.summaries import group

NAMES = ("bad", 'odd "name"', "a.size", "b.use", "b", "seconds.box", "ü", "energy", "seconds")
"""Names of statistics, axes, parameters and stages, some of which are the same."""

FIELDS = ("scene", "method", "protocol", "protocol_text", "time", "host", "cores")

numbers = st.sampled_from([0.0, -1.5, 2.0, 1e300, 5e-324, math.inf, -math.inf, math.nan])
plain_values = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**40), 2**40),
    numbers.filter(math.isfinite),
    st.sampled_from(["", "x", "none", "2", "ü\n'\""]),
)
values = st.one_of(
    plain_values,
    st.lists(plain_values, max_size=2),
    st.dictionaries(st.sampled_from(["use", "k"]), plain_values, max_size=2),
)
mappings = st.dictionaries(st.sampled_from([*NAMES[:5], "ü"]), values, max_size=4)
number_mappings = st.dictionaries(st.sampled_from(NAMES), numbers, max_size=4)


@st.composite
def results(draw):
    """Return a few results with odd names and values."""
    count = draw(st.integers(0, 6))
    new_results = []
    for i in range(count):
        new_results.append(
            result(
                draw(st.sampled_from(["d/s", "d/t", "e/s"])),
                draw(mappings),
                draw(number_mappings),
                id=f"{i:016x}",
                method=draw(st.sampled_from(["m", "n"])),
                parameters=draw(mappings),
                protocol_text=draw(st.sampled_from(["p: x", "q: y", ""])),
                energy=draw(st.one_of(st.none(), numbers.filter(lambda x: not math.isnan(x)))),
                seconds=draw(st.dictionaries(st.sampled_from(NAMES), st.floats(0, 9), max_size=3)),
                error=draw(st.sampled_from([None, "wrong"])),
                environment=draw(st.sampled_from([{}, {"host": "h", "cores": "2"}])),
            )
        )
    places = draw(st.permutations(range(count)))
    return new_results, places


def opened(folder, new_results, places):
    """Return an open store with results, whose plan has another order than its rows."""
    store = Store(folder, create=True)
    keys = [result_key(str(i)) for i in range(len(new_results))]
    for key, item in zip(keys, new_results, strict=True):
        store.add(key, item)
    store.set_listed_keys([keys[place] for place in places])
    return store


def plain(value):
    """Return a value in a form in which NaN equals NaN and 1 differs from True."""
    return MISSING if value is MISSING else repr(value)


def ids(selection):
    return [item.id for item in selection]


def outcome(function, *arguments):
    """Return the result of a function, or the message of its error."""
    try:
        return function(*arguments)
    except ParameterError as error:
        return str(error)


CONDITIONS = (
    *("bad=2", "bad!=2", "bad<=0", "bad>1", "a.size=null", "a.size=none", "b=x", "b=true"),
    *("b=1", "b=", "energy=null", "seconds=null", "energy>=0", "scene=s", "method=n", "ü=2"),
    *('odd "name"<2', "protocol_text=p: x", "seconds.box>0", "host=h", "cores>1", "b=[x, null]"),
    *("a.size!=null", "a.size<5", "nothing=1"),
)


@given(results())
def test_stored_results_equal_results_in_memory(tmp_path_factory, results_and_places):
    new_results, places = results_and_places
    memory = ResultSet(new_results[place] for place in places)
    with opened(tmp_path_factory.mktemp("store"), new_results, places) as store:
        assert ids(store.query()) == ids(memory)
        assert len(store.query()) == len(memory)
        stored = store.query()
        for name in (*NAMES, *FIELDS):
            assert list(map(plain, stored.column(name))) == list(map(plain, memory.column(name)))
            assert stored.has_value(name) == memory.has_value(name)
            axes = [stored.axis_column(name), memory.axis_column(name)]
            assert list(map(plain, axes[0])) == list(map(plain, axes[1]))
        for name in ("axis_names", "statistic_names", "parameter_names", "stage_names"):
            assert getattr(stored, name)() == getattr(memory, name)()
        assert stored.failed_indices() == memory.failed_indices()
        assert stored.varying() == memory.varying()
        assert stored.repeated_setting() == memory.repeated_setting()
        assert outcome(lambda: stored.protocol) == outcome(lambda: memory.protocol)
        by_protocol = [
            list(selection.by("protocol_text").items()) for selection in (stored, memory)
        ]
        assert [(key, ids(part)) for key, part in by_protocol[0]] == [
            (key, ids(part)) for key, part in by_protocol[1]
        ]
        for part in (slice(2), slice(1, 3), slice(None, None, -1), slice(0), slice(-2, None)):
            assert ids(store.query()[part]) == ids(memory[part])


@given(results(), st.lists(st.sampled_from(CONDITIONS), min_size=1, max_size=2))
def test_stored_results_are_selected_as_in_memory(tmp_path_factory, results_and_places, conditions):
    new_results, places = results_and_places
    memory = ResultSet(new_results[place] for place in places)
    with opened(tmp_path_factory.mktemp("store"), new_results, places) as store:
        expected = outcome(where, memory, conditions)
        selected = outcome(where, store.query(), conditions)
        if isinstance(expected, str):
            assert selected == expected
        else:
            assert ids(selected) == ids(expected)
            assert list(map(plain, selected.column("bad"))) == list(
                map(plain, expected.column("bad"))
            )


FIXED_RESULTS = [
    result("d/s", {"b": "x"}, {"bad": 2.0}, parameters={"a.size": None}, energy=None),
    result("d/t", {"b": True}, {"bad": math.nan, "ü": 2.0}, parameters={"a.size": 3}),
    result("e/s", {"b": 1}, {'odd "name"': 1.0}, parameters={"a.size": 9}, method="n"),
    result("e/s", {"b": ""}, {"bad": -1.0}, parameters={"b": 5}, energy=-2.0),
    result("d/s", {}, {}, parameters={"b.use": "x"}, environment={"host": "h", "cores": "2"}),
]


@pytest.mark.parametrize("condition", CONDITIONS)
def test_each_condition_selects_the_same_results(condition, tmp_path):
    new_results = [dataclasses.replace(item, id=str(i)) for i, item in enumerate(FIXED_RESULTS)]
    with opened(tmp_path, new_results, [4, 3, 2, 1, 0]) as store:
        expected = outcome(where, ResultSet(reversed(new_results)), [condition])
        selected = outcome(where, store.query(), [condition])
        if isinstance(expected, str):
            assert selected == expected
        else:
            assert ids(selected) == ids(expected)


@given(results(), st.lists(st.sampled_from([*NAMES, "-bad", "-a.size", "-b", "host"]), max_size=2))
def test_stored_results_are_sorted_as_in_memory(tmp_path_factory, results_and_places, keys):
    new_results, places = results_and_places
    memory = ResultSet(new_results[place] for place in places)
    with opened(tmp_path_factory.mktemp("store"), new_results, places) as store:
        assert ids(store.query().sorted_by(keys)) == ids(memory.sorted_by(keys))
        assert ids(store.query().sorted_by(keys)[:2]) == ids(memory.sorted_by(keys)[:2])


@pytest.mark.parametrize("key", ["bad", "-bad", "b", "-b", "-energy"])
def test_results_without_a_value_keep_their_order(key, tmp_path):
    """A statistic that is NaN and a missing statistic are not ordered."""
    statistics = [{}, {"bad": math.nan}, {}, {"bad": 1.0}, {"bad": math.nan}, {}]
    axes = [{"b": ""}, {}, {"b": None}, {"b": ""}, {}, {"b": 2}]
    new_results = [
        result("d/s", axes[i], statistics[i], id=str(i), parameters={}, energy=None)
        for i in range(len(axes))
    ]
    with opened(tmp_path, new_results, range(len(axes))) as store:
        assert ids(store.query().sorted_by([key])) == ids(ResultSet(new_results).sorted_by([key]))


def test_groups_of_stored_results_equal_those_in_memory(tmp_path):
    axes = {"a.size": [3, 5, None], "b.k": [True, False]}
    new_results = sweep(
        axes, lambda scene, size, k: {"bad_pixels_all": len(scene) + (size or 0) + k}
    )
    with opened(tmp_path, new_results, range(len(new_results))) as store:
        for keys in (["a.size"], ["scene", "b.k"], []):
            selected = group(store.query(), keys, ["bad_pixels_all"])
            assert selected == group(new_results, keys, ["bad_pixels_all"])


def test_only_the_shown_results_are_read(tmp_path, monkeypatch):
    """A `Result` of a large store takes time and memory, so that few are created."""
    new_results = sweep(
        {"a.size": list(range(50))}, lambda scene, size: {"bad_pixels_all": float(size)}
    )
    with opened(tmp_path, new_results, range(len(new_results))) as store:
        read = []
        convert = store._converter.to_result
        monkeypatch.setattr(
            store._converter, "to_result", lambda row: read.append(row) or convert(row)
        )
        selection = ordered(where(store.query(), ["bad_pixels_all>=10"]), ["-bad_pixels_all"])[:3]
        assert selection.column("a.size") == [49, 49, 48]
        assert len(read) == 3


@pytest.mark.parametrize(
    ("column", "use"),
    [
        ("statistics", lambda results: results.column("bad_pixels_all")),
        ("statistics", lambda results: where(results, ["bad_pixels_all<5"])[:]),
        ("axes", lambda results: results.column("a.size")),
        ("axes", lambda results: results.axis_column("a.size")),
        ("parameters", lambda results: results.varying()),
        ("statistic_names", lambda results: results.statistic_names()),
        ("statistic_names", lambda results: results.column("bad_pixels_all")),
        ("axis_names", list),
        ("protocol_text", lambda results: results.protocol),
    ],
)
def test_damage_is_reported_by_queries(column, use, tmp_path):
    new_results = sweep({"a.size": [3, 5]}, lambda scene, size: {"bad_pixels_all": float(size)})
    with opened(tmp_path, new_results, range(len(new_results))) as store:
        store._db.execute(f"UPDATE results SET {column} = '[[' WHERE place = 1")
        with pytest.raises(DataError, match="may be damaged"):
            use(store.query())


def test_a_query_shows_one_state_of_a_sweep_that_runs(tmp_path):
    """Columns that are read one after the other have the same rows."""
    new_results = [dataclasses.replace(item, id=str(i)) for i, item in enumerate(FIXED_RESULTS)]
    with Store(tmp_path, create=True) as writer:
        writer.set_listed_keys([result_key(str(i)) for i in range(len(new_results))])
        writer.add(result_key("0"), new_results[0])
        with Store(tmp_path) as reader:
            results = reader.query()
            assert results.column("bad") == [2.0]
            for i, item in enumerate(new_results[1:], 1):
                writer.add(result_key(str(i)), item)
            assert results.column("scene") == ["d/s"]
            assert (len(results), ids(results), len(reader.query())) == (1, ["0"], 1)
        with Store(tmp_path) as reader:
            assert len(reader.query()) == len(new_results)
