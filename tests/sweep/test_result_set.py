"""Result sets: columns, selections, groups, names, protocols, frames, list methods."""

import copy
import csv
import io
import pickle
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st
from made_results import SCENES, result, sweep

from stereo_framework.core.errors import ParameterError
from stereo_framework.script.setting import NO_EFFECT
from stereo_framework.sweep import MISSING, ResultSet
from stereo_framework.tables.formats import csv_text

BAD, SIZE = "bad_pixels_nonocc", "aggregation.box.size"
TRUNCATION = "matching_cost.truncation"


def two_methods():
    """Return results of a method with a size and of a method with a truncation."""
    window = sweep({SIZE: [3, 9]}, lambda scene, size: {BAD: float(size)}, method="window")
    matcher = sweep({TRUNCATION: [None, 20]}, lambda *_: {}, method="matcher", energy=None)
    return window + matcher


# --- MISSING --------------------------------------------------------------------------


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_missing_stays_one_object_when_it_is_pickled(protocol):
    assert pickle.loads(pickle.dumps(MISSING, protocol)) is MISSING
    assert pickle.loads(pickle.dumps({"a": [MISSING]}, protocol))["a"][0] is MISSING


def test_copies_of_missing_are_the_same_object():
    assert copy.copy(MISSING) is MISSING
    assert copy.deepcopy([MISSING])[0] is MISSING
    assert type(MISSING)() is MISSING


def test_missing_is_false_and_has_a_representation_but_no_text():
    assert not MISSING
    assert repr(MISSING) == "MISSING"
    assert str(MISSING) == ""
    assert MISSING not in (None, "", 0, False)


def test_missing_is_an_empty_cell_in_a_csv_file():
    assert csv_text(["a", "b", "c"], [[1, MISSING, 2]]) == "a,b,c\n1,,2\n"


# --- columns --------------------------------------------------------------------------


def test_a_column_distinguishes_null_from_a_name_that_a_result_does_not_have():
    results = two_methods()
    assert results.column(TRUNCATION) == [MISSING] * 4 + [None, 20] * 2
    assert results.column(SIZE) == [3, 9] * 2 + [MISSING] * 4
    assert results.column(BAD) == [3.0, 9.0] * 2 + [MISSING] * 4
    assert results.column("no name") == [MISSING] * 8


def test_a_column_has_fields_energies_and_times():
    results = two_methods()
    assert results.column("scene") == [SCENES[0], SCENES[0], SCENES[1], SCENES[1]] * 2
    assert results.column("method") == ["window"] * 4 + ["matcher"] * 4
    assert results.column("protocol") == ["p"] * 8
    assert results.column("energy") == [1.0] * 4 + [MISSING] * 4
    assert results.column("seconds") == [0.5] * 8
    assert results.column("seconds.matching_cost") == [0.5] * 8
    assert results.column("seconds.refinement") == [MISSING] * 8
    assert ResultSet([result("s", {}, {}, seconds={})]).column("seconds") == [MISSING]


def test_the_value_of_a_slot_is_its_stage():
    first = result("s", {}, {}, parameters={"matching_cost.use": "census"})
    results = ResultSet([first, result("s", {"matching_cost": "ncc"}, {}), result("s", {}, {})])
    assert results.column("matching_cost") == ["census", "ncc", MISSING]


def test_an_axis_without_effect_is_missing_also_if_the_parameter_has_a_value():
    axes = {TRUNCATION: NO_EFFECT}
    idle = result("s", axes, {}, parameters={TRUNCATION: 5})
    results = ResultSet([idle, result("s", {TRUNCATION: 5}, {})])
    assert results.column(TRUNCATION) == [MISSING, 5]
    header, rows = results.tidy()
    assert [row[header.index(TRUNCATION)] for row in rows] == [MISSING, 5]
    assert results.frame[TRUNCATION].isna().tolist() == [True, False]


def test_a_statistic_takes_precedence_over_an_axis_of_its_name():
    results = ResultSet([result("s", {"x": 1}, {"x": 2.0}), result("s", {"x": 3}, {})])
    assert results.column("x") == [2.0, 3]


class UnreadableParameters(dict):
    """Parameters whose reading is an error, because it takes long."""

    def fail(self, *arguments):
        raise AssertionError("the parameters were read")

    __getitem__ = __contains__ = __iter__ = get = keys = items = fail


def test_parameters_are_not_read_for_statistics_and_axes():
    results = ResultSet(
        result(scene, {SIZE: 3}, {BAD: 1.0}, parameters=UnreadableParameters()) for scene in SCENES
    )
    for name in (BAD, SIZE, "scene", "method", "energy", "seconds", "seconds.matching_cost"):
        assert len(results.column(name)) == 2
    assert len(results.where(scene="venus", **{BAD: 1.0, SIZE: 3})) == 1
    assert len(results.by("scene", SIZE, "protocol_text")) == 2
    assert len(set(results.setting_names())) == 1
    assert results.protocol == "p: as one likes"


# --- selections -----------------------------------------------------------------------


def test_where_selects_a_value_or_one_of_several_values():
    results = two_methods()
    assert results.where(method="window").column(SIZE) == [3, 9, 3, 9]
    assert results.where(method=["window", "matcher"]) == results
    assert results.where(**{SIZE: [3, 9]}) == results[:4]
    assert results.where(**{SIZE: 9}, scene="venus") == results[3:4]
    assert results.where(scene=SCENES[0], method="matcher") == results[4:6]


def test_where_selects_null_and_not_missing_values():
    results = two_methods()
    assert results.where(**{TRUNCATION: None}) == results[4::2]
    assert results.where(**{TRUNCATION: [None, 20]}) == results[4:]


def test_where_distinguishes_numbers_from_truth_values():
    results = ResultSet(result("s", {"a.x": value}, {}) for value in (1, True, 1.0))
    assert results.where(**{"a.x": 1}).column("a.x") == [1, 1.0]
    assert results.where(**{"a.x": True}).column("a.x") == [True]


def test_where_refuses_a_name_and_a_value_that_no_result_has():
    results = two_methods()
    with pytest.raises(ParameterError, match=f"no result has it; .* did you mean '{SIZE}'"):
        results.where(**{"aggregation.box.sizes": 3})
    with pytest.raises(ParameterError, match=f"^{SIZE}: no result has '5'; there are: 3, 9"):
        results.where(**{SIZE: 5})
    assert ResultSet().where(scene="venus") == []


def test_the_conditions_of_where_may_have_no_common_result():
    assert two_methods().where(method="window", **{TRUNCATION: 20}) == []


def test_an_energy_that_is_missing_is_selected_as_null_as_json_prints_it():
    results = two_methods()
    assert results.where(energy=None) == results[4:]


# --- groups and names -----------------------------------------------------------------


def test_by_groups_results_in_the_order_of_their_values():
    results = two_methods()
    groups = results.by("method", SIZE)
    assert list(groups) == [("window", 3), ("window", 9), ("matcher", MISSING)]
    assert groups["window", 9] == results[1:4:2]
    assert all(isinstance(group, ResultSet) for group in groups.values())
    assert results.by() == {(): results}
    assert ResultSet().by("method") == ResultSet().by() == {}


def test_values_that_are_lists_are_keys_as_json_texts():
    results = ResultSet(result("s", {"a.x": value}, {}) for value in ([1, 2], [1, 2], {"b": 1}))
    assert [(key, len(group)) for key, group in results.by("a.x").items()] == [
        (("[1, 2]",), 2),
        (('{"b": 1}',), 1),
    ]


def test_varying_names_axes_and_further_parameters_that_differ_within_a_method():
    parameters = [{"a.x": 1, "b.y": 2, "c.z": 1}, {"a.x": 2, "b.y": 2, "c.z": 5}]
    results = ResultSet(result("s", {"a.x": p["a.x"]}, {}, parameters=p) for p in parameters)
    assert results.varying() == ["scene", "method", "a.x", "c.z"]
    methods = ResultSet(result("s", {}, {}, parameters={"b.y": i}, method=f"{i}") for i in (1, 2))
    assert methods.varying() == ["scene", "method"]


def test_parameters_that_an_axis_sets_do_not_vary_by_themselves():
    results = ResultSet(
        result(
            "s",
            {"matching_cost": name, "seed": i},
            {},
            parameters={"matching_cost.use": name, "matcher.random.seed": i, "seed": i},
        )
        for i, name in enumerate("ab")
    )
    assert results.varying() == ["scene", "method", "matching_cost", "seed"]


def test_names_of_settings_have_the_method_if_there_are_several():
    names = two_methods().setting_names()
    assert (
        names
        == ["window, size=3", "window, size=9"] * 2
        + [
            "matcher, truncation=none",
            "matcher, truncation=20",
        ]
        * 2
    )
    assert two_methods()[:4].setting_names() == ["size=3", "size=9"] * 2
    assert ResultSet().setting_names() == []


# --- protocols ------------------------------------------------------------------------


def test_the_protocol_is_the_text_that_all_results_have():
    assert two_methods().protocol == "p: as one likes"
    without_text = ResultSet([result("s", {}, {}, protocol="", protocol_text="")])
    assert without_text.protocol == ResultSet().protocol == ""


def test_several_protocols_are_refused():
    other = result("s", {}, {}, protocol="q", protocol_text="q: x")
    with pytest.raises(ParameterError, match="^results of p and q do not belong together; "):
        _ = ResultSet([*two_methods(), other]).protocol


# --- tables ---------------------------------------------------------------------------


def test_the_table_in_csv_has_empty_cells_for_missing_values_and_none_for_null():
    results = two_methods()
    rows = list(csv.DictReader(io.StringIO(csv_text(*results.tidy()))))
    assert [row[TRUNCATION] for row in rows] == [""] * 4 + ["none", "20"] * 2
    assert [row["energy"] for row in rows] == ["1.0"] * 4 + [""] * 4


def test_the_frame_has_a_row_for_each_result():
    frame = two_methods().frame
    assert len(frame) == 8
    assert frame[SIZE].isna().tolist() == [False] * 4 + [True] * 4
    assert (frame[TRUNCATION] == "none").tolist() == [False] * 4 + [True, False] * 2
    assert frame["error"].isna().all()


def test_a_notebook_shows_a_table():
    html = two_methods()._repr_html_()
    assert "<table" in html
    assert "window" in html


def test_pandas_is_imported_only_for_a_frame():
    program = (
        "import sys; from made_results import sweep; from stereo_framework.sweep import ResultSet;"
        "r = sweep({'a.x': [1, 2]}, lambda scene, x: {'bad_pixels_all': x});"
        "r.column('a.x'), r.where(scene='venus'), r.by('scene'), r.varying(), r.setting_names();"
        "r.tidy(), r.protocol, repr(r);"
        "assert 'pandas' not in sys.modules; r.frame; assert 'pandas' in sys.modules"
    )
    subprocess.run([sys.executable, "-c", program], cwd="tests", check=True)


# --- likeness to a list ---------------------------------------------------------------


def test_a_result_set_is_like_a_list():
    results = two_methods()
    as_list = list(results)
    assert results == as_list
    assert as_list == results
    assert results != as_list[:-1]
    assert results != "results"
    assert (len(results), bool(results), bool(ResultSet())) == (8, True, False)
    assert results[0] is as_list[0]
    assert results[-1] is as_list[-1]
    assert as_list[3] in results
    assert list(reversed(results)) == as_list[::-1]
    first, *others = results
    assert first is as_list[0]
    assert others == as_list[1:]
    assert sorted(results, key=lambda r: r.method)[0].method == "matcher"
    with pytest.raises(IndexError):
        results[8]


def test_a_result_set_cannot_be_changed_and_has_no_hash_value():
    results = two_methods()
    with pytest.raises(TypeError):
        results[0] = results[1]
    with pytest.raises(TypeError):
        hash(results)


def test_sums_and_slices_are_result_sets():
    results = two_methods()
    first = list(results[:2])
    sums = (results[:2] + results[2:], results[:2] + list(results[2:]), first + results[2:])
    for total in sums:
        assert isinstance(total, ResultSet)
        assert total == results
    assert isinstance(results[1:3], ResultSet)
    assert isinstance(results[::-1], ResultSet)


def test_a_pickled_result_set_has_the_same_columns():
    results = two_methods()
    loaded = pickle.loads(pickle.dumps(results))
    assert isinstance(loaded, ResultSet)
    assert loaded.column(TRUNCATION) == results.column(TRUNCATION)


def test_the_representation_counts_results_methods_and_scenes():
    assert repr(two_methods()) == "8 results of 2 methods on 2 scenes"
    assert repr(two_methods()[:1]) == "1 result of 1 method on 1 scene"
    assert repr(ResultSet()) == "0 results of 0 methods on 0 scenes"


# --- properties -----------------------------------------------------------------------

VALUES = st.none() | st.booleans() | st.integers(0, 3) | st.sampled_from(["a", "b"])
AXES = st.dictionaries(st.sampled_from(["a.x", "b.y"]), VALUES)
RESULT_SETS = st.lists(
    st.builds(
        lambda scene, method, axes: result(scene, axes, {}, method=method),
        st.sampled_from(SCENES),
        st.sampled_from("mn"),
        AXES,
    ),
    max_size=8,
).map(ResultSet)


@given(RESULT_SETS, st.sampled_from(["a.x", "b.y", "scene", "method"]))
def test_groups_contain_each_result_once_and_have_one_value(results, name):
    groups = results.by(name)
    assert sum(map(len, groups.values())) == len(results)
    for (value,), group in groups.items():
        assert all(actual == value for actual in group.column(name))


@given(RESULT_SETS, st.sampled_from(["a.x", "b.y"]))
def test_where_selects_all_results_with_a_value_and_no_others(results, name):
    for value in results.column(name):
        if value is MISSING:
            continue
        selected = results.where(**{name: value})
        is_same = [
            actual == value and isinstance(actual, bool) == isinstance(value, bool)
            for actual in results.column(name)
        ]
        assert selected == [r for r, same in zip(results, is_same, strict=True) if same]


@given(RESULT_SETS)
def test_different_settings_have_different_names(results):
    full_names = [r.setting_name for r in results]
    pairs = set(zip(full_names, results.setting_names(), strict=True))
    assert len(pairs) == len(set(full_names)) == len({short for _, short in pairs})


@given(RESULT_SETS, st.slices(8))
def test_slices_are_those_of_the_list(results, part):
    assert results[part] == list(results)[part]
