"""Rules of tables, with two scenes, methods, keys, statistics or files each."""

import itertools

import numpy as np
import pandas
import pytest
from made_results import SCENES, result, sweep

from stereo_framework.core.errors import DataError, ParameterError
from stereo_framework.sweep import MISSING, ResultSet
from stereo_framework.tables.boundary import boundary
from stereo_framework.tables.formats import read_csv
from stereo_framework.tables.means import means
from stereo_framework.tables.ranking import astar_groups, average_ranks, competition_ranks, rank
from stereo_framework.tables.scores import Column, Scores, score_table
from stereo_framework.tables.summaries import group, in_order, pivot
from stereo_framework.tables.tables import Table, listing, shown_statistics, sort_table
from stereo_framework.tables.words import caption, short_names, unit, with_unit

BAD, ALL, DENSITY = "bad_pixels_nonocc", "bad_pixels_all", "density_all"


def test_a_mean_needs_the_same_settings_on_each_scene():
    seeds = [(SCENES[0], 1), (SCENES[0], 2), (SCENES[1], 1), (SCENES[1], 3)]
    results = ResultSet(result(scene, {"seed": seed}, {BAD: float(seed)}) for scene, seed in seeds)
    [mean] = means(results, ["method"], [BAD]).cells.values()
    assert (mean.values, mean.value) == ((1.0, 2.0, 1.0, 3.0), None)
    balanced = results.where(seed=1)
    [mean] = means(balanced, ["method"], [BAD]).cells.values()
    assert mean.value == 1.0


def test_a_mean_on_one_scene_needs_no_other_scene():
    results = ResultSet(result(SCENES[0], {"seed": s}, {BAD: s}) for s in (1.0, 3.0))
    results += [result(SCENES[1], {"seed": 1.0}, {ALL: 5.0})]
    cells = means(results, ["scene"], [BAD, ALL]).cells
    values = {key: mean.value for key, mean in cells.items()}
    assert values == {(SCENES[0],): 2.0, (SCENES[1],): 5.0}


def test_a_statistic_that_no_method_has_on_a_scene_leaves_the_scene_out():
    def statistics(scene, x):
        if scene == SCENES[0]:
            return {ALL: x, BAD: x}
        return {ALL: x}

    results = sweep({"a.x": [1, 2]}, statistics)
    actual = means(results, ["a.x", "statistic"], [BAD, ALL])
    values = {key: mean.value for key, mean in actual.cells.items()}
    assert values == {(1, BAD): 1.0, (2, BAD): 2.0, (1, ALL): 1.0, (2, ALL): 2.0}
    assert actual.notes == (f"{BAD}: without venus, where it has no value",)


def table_of_scores(values):
    """Return the scores of three methods in two columns."""
    columns = (Column("s", BAD, "lower"), Column("t", BAD, "lower"))
    return Scores(("a", "b", "c"), columns, np.array(values, float))


def test_methods_with_all_scores_are_told_from_those_that_lack_one():
    nan = float("nan")
    scores = table_of_scores([[1, 2], [nan, 3], [nan, nan]])
    actual, missing_scores = scores.complete()
    assert actual.methods == ("a",)
    assert actual.values.tolist() == [[1, 2]]
    assert missing_scores == {"b": [f"s:{BAD}"], "c": [f"s:{BAD}", f"t:{BAD}"]}


def test_missing_scores_count_as_the_worst_in_ranks_and_not_at_all_in_empty_columns():
    nan = float("nan")
    scores = table_of_scores([[1, nan], [2, nan], [nan, nan]])
    assert scores.average_ranks.tolist() == [1, 2, 3]
    assert scores.places.tolist() == [1, 2, 3]
    assert scores.groups.tolist() == [1, 2, 3]
    np.testing.assert_array_equal(scores.means, [1, 2, nan])


def test_high_scores_are_better_in_the_columns_that_say_so():
    columns = (Column("s", BAD, "lower"), Column("s", DENSITY, "higher"))
    scores = Scores(("a", "b"), columns, np.array([[1.0, 50.0], [2.0, 90.0]]))
    assert scores.ranks.tolist() == [[1, 2], [2, 1]]
    assert scores.groups.tolist() == [1, 1]
    assert scores.of(DENSITY).ranks.tolist() == [[2], [1]]
    assert scores.metrics == [BAD, DENSITY]
    assert scores.scenes == ["s"]


def test_only_the_requested_columns_are_compared():
    results = []
    for scene, method in itertools.product(SCENES, "ab"):
        results.append(result(scene, {}, {BAD: 1.0, ALL: 2.0}, method=method))
    requested = {(SCENES[0], ALL), (SCENES[1], BAD)}
    columns = score_table(ResultSet(results), [BAD, ALL], columns=requested).columns
    names = [(column.scene, column.metric) for column in columns]
    assert names == [(SCENES[0], ALL), (SCENES[1], BAD)]


@pytest.mark.parametrize(
    ("values", "ranks", "groups"),
    [
        ([[1, 1], [2, 2]], [1, 2], [1, 2]),
        ([[1, 2], [2, 1]], [1.5, 1.5], [1, 1]),
        ([[1, 1], [1, 1]], [1, 1], [1, 1]),
        ([[1, 1], [1, 2]], [1, 1.5], [1, 2]),
        ([[2, 2], [1, 3], [3, 3]], [1.5, 1.5, 2.5], [1, 1, 2]),
    ],
)
def test_ranks_and_groups_of_small_tables(values, ranks, groups):
    assert average_ranks(values).tolist() == ranks
    assert astar_groups(values).tolist() == groups


def test_equal_scores_share_the_better_rank_in_each_column():
    ranks = competition_ranks([[3, 1], [1, 1], [3, 2], [3, 0]])
    assert ranks.shape == (4, 2)
    assert ranks[:, 0].tolist() == [2, 1, 2, 2]
    assert ranks[:, 1].tolist() == [2, 2, 4, 1]


def frame(**changes):
    """Return a frame of two methods on two scenes."""
    columns = {"scene": list("aabb"), "method": ["y", "x"] * 2, BAD: [4.0, 1.0, 4.0, 3.0]}
    return pandas.DataFrame(columns | changes)


def test_a_frame_is_ranked_with_the_best_method_first():
    ranked = rank(frame(), BAD)
    assert list(ranked.columns) == ["average_rank", BAD]
    assert list(ranked.index) == ["x", "y"]
    assert ranked["average_rank"].tolist() == [1.0, 2.0]
    assert ranked[BAD].tolist() == [2.0, 4.0]


def test_a_frame_is_ranked_by_two_statistics_of_other_directions():
    ranked = rank(frame(**{DENSITY: [90.0, 80.0, 90.0, 70.0]}), BAD, DENSITY)
    assert ranked["average_rank"].to_dict() == {"y": 1.5, "x": 1.5}
    assert list(ranked.index) == ["x", "y"]


def test_a_frame_is_ranked_by_settings():
    sizes = frame(method=["m"] * 4, size=[3, 5, 3, 5])
    for keys, settings in ((["method", "size"], [("m", 5), ("m", 3)]), ("size", [5, 3])):
        assert list(rank(sizes, BAD, by=keys).index) == settings
    with pytest.raises(ParameterError, match="^a: two results of method=m; name what tells them"):
        rank(sizes, BAD)
    with pytest.raises(ParameterError, match="^a: two results of method=m, seed=1; name what"):
        rank(sizes.assign(seed=1), BAD, by=["method", "seed"])


@pytest.mark.parametrize("hole", ["", "-", "nan", "NaN", "null", "n/a", "N/A"])
def test_holes_of_a_table_of_scores(tmp_path, hole):
    path = tmp_path / "table.csv"
    path.write_text(f"method,s:{BAD},t:{BAD}\na,1,{hole}\nb,2,3\n")
    rows = {(r.method, r.scene): r.statistics[BAD] for r in read_csv(path)}
    assert np.isnan(rows.pop(("a", "t")))
    assert rows == {("a", "s"): 1, ("b", "s"): 2, ("b", "t"): 3}


@pytest.mark.parametrize(
    ("text", "is_table"),
    [
        ("method,x\na,1\n", True),
        ("method,x\na,1\nb,2\n", True),
        ("method,x\n", False),
        ("method\na\n", False),
        ("", False),
    ],
)
def test_a_table_has_two_columns_and_a_method_at_least(tmp_path, text, is_table):
    path = tmp_path / "table.csv"
    path.write_text(text)
    if is_table:
        assert read_csv(path)[0].statistics == {"x": 1}
    else:
        with pytest.raises(DataError, match="no table: expected a line of column names"):
            read_csv(path)


def rates(scene, method, size, sparsity, error):
    """Return a result with ROC rates."""
    statistics = {"sparsity_rate": sparsity, "error_rate": error}
    return result(scene, {"a.size": size}, statistics, method=method)


def test_a_mean_curve_needs_each_setting_on_each_scene_unless_those_are_dropped():
    results = ResultSet([rates("s", "a", 1, 0.1, 0.4), rates("t", "a", 1, 0.3, 0.2)])
    results += [rates("s", "a", 2, 0.5, 0.1)]
    results += [rates("s", "b", 1, 0.2, 0.2), rates("t", "b", 1, 0.2, 0.2)]
    with pytest.raises(DataError):
        boundary(results)
    actual = boundary(results, drop_incomplete=True)
    assert list(actual.mean) == ["a", "b"]
    [point] = actual.mean["a"]
    assert (point.sparsity_rate, point.error_rate) == pytest.approx((0.2, 0.3))
    methods = {scene: list(points) for scene, points in actual.points.items()}
    assert methods == {"s": ["a", "b"], "t": ["a", "b"]}
    counts = [len(points) for points in actual.points["s"].values()]
    assert counts == [2, 1]


# --- words ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("axes", "names"),
    [
        ([{"a.x": 1}, {"a.x": 2}], ["x=1", "x=2"]),
        # Two axes with one last name are not distinguished by it.
        (
            [{"a.x": 1, "b.x": 1}, {"a.x": 2, "b.x": 2}],
            ["m (a.x=1, b.x=1)", "m (a.x=2, b.x=2)"],
        ),
        ([{"a.x": 1, "b.y": 1}, {"a.x": 2, "b.y": 1}], ["x=1", "x=2"]),
        ([{"a.x": 1, "b.x": 1}, {"a.x": 2, "b.x": 1}], ["x=1", "x=2"]),
        ([{"a.x": 1}], ["m"]),
    ],
)
def test_short_names_of_settings_have_the_axes_that_vary(axes, names):
    results = [result("s", axes_of_setting, {BAD: 1.0}) for axes_of_setting in axes]
    assert ResultSet(results).setting_names() == names


def test_two_methods_are_named_with_their_axes():
    results = []
    for method, x in itertools.product("ab", (1, 2)):
        results.append(result("s", {"a.x": x}, {}, method=method))
    assert ResultSet(results).setting_names() == ["a, x=1", "a, x=2", "b, x=1", "b, x=2"]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        (BAD, "%"),
        ("rms_error_all", "pixels"),
        ("avg_error_nonocc", "pixels"),
        ("fraction_matched", "fraction"),
        ("seconds.matching_cost", "s"),
        ("search.step", "pixels"),
        ("aggregation.box.size", "pixels"),
        ("aggregation.0.size", "pixels"),
        ("matching_cost.use", ""),
        ("scene", ""),
    ],
)
def test_units_of_statistics_and_parameters(name, expected):
    assert unit(name) == expected
    assert with_unit(name) == (f"{name} ({expected})" if expected else name)
    assert with_unit(name, {name: "A name"}) == (f"A name ({expected})" if expected else "A name")


def test_captions_of_one_and_of_two_keys():
    assert caption(["a.x"], [5]) == "5"
    assert caption(["a.x"], [None]) == "none"
    assert caption(["a.x"], [5], {"x=5": "five"}) == "five"
    assert caption(["a.x"], [5], {"5": "five"}) == "five"
    assert caption(["a.x", "b.y"], [5, "AD"], {"AD": "absolute"}) == "x=5, absolute"
    assert caption(["a.x", "b.y"], [5, MISSING]) == "x=5"
    assert caption(["a.x"], [MISSING]) == "-"


def test_names_are_short_only_if_all_then_differ():
    assert short_names(["a/x", "b/y"]) == {"a/x": "x", "b/y": "y"}
    assert short_names(["a/x", "b/x", "c/y"]) == {n: n for n in ("a/x", "b/x", "c/y")}


# --- tables ---------------------------------------------------------------------------


def test_a_key_stands_once_in_a_pivot_table():
    results = sweep({"a.x": [1, 2]}, lambda scene, x: {BAD: x})
    for rows, columns in ((["a.x"], ["a.x"]), (["scene", "scene"], ["a.x"])):
        with pytest.raises(
            ParameterError, match=f"^{rows[0]} occurs twice among rows and columns$"
        ):
            pivot(results, rows, columns, [BAD])


def test_the_best_value_of_each_scene_is_marked_in_a_pivot_table_with_scenes():
    def statistics(scene, x):
        if scene == SCENES[0]:
            return {BAD: x}
        return {BAD: 10 - x}

    results = sweep({"a.x": [1, 2]}, statistics)
    table = pivot(results, ["a.x"], ["scene"], [BAD])
    rows = [list(row) for row in table.rows]
    assert rows == [[1, 1, 9], [2, 2, 8]]
    assert table.best == {(0, 1), (1, 2)}
    down = pivot(results, ["scene"], ["a.x"], [BAD])
    assert down.best == {(0, 1), (1, 2)}
    without_scenes = pivot(results, ["a.x"], ["method"], [BAD])
    assert without_scenes.best == frozenset()
    grouped = group(results, ["scene", "a.x"], [BAD])
    assert grouped.best == {(0, 3), (3, 3)}


def test_keys_are_in_the_order_in_which_their_values_first_appear():
    keys = [("b", 2), ("a", 1), ("b", 1), ("b", 2)]
    assert in_order(keys) == [("b", 2), ("b", 1), ("a", 1)]


@pytest.mark.parametrize(
    ("statistics", "columns", "expected"),
    [
        ({BAD: 1.0, "fraction_matched": 1.0}, [], [BAD, "fraction_matched"]),
        ({BAD: 1.0, "fraction_matched": 1.0}, [BAD], [BAD, "fraction_matched"]),
        (
            {BAD: 1.0, DENSITY: 1.0, "fraction_matched": 1.0},
            [DENSITY, BAD],
            [DENSITY, BAD, "fraction_matched"],
        ),
        ({DENSITY: 1.0, "fraction_matched": 1.0}, [DENSITY], [DENSITY]),
        ({BAD: 1.0}, [BAD], [BAD]),
    ],
)
def test_the_coverage_stands_beside_each_error(statistics, columns, expected):
    assert shown_statistics(ResultSet([result("s", {}, statistics)]), columns) == expected


def test_rows_of_a_table_keep_their_marks_when_they_are_sorted():
    table = Table(("name", "x"), (("a", 3), ("b", 1), ("c", 2)), best=frozenset({(1, 1)}))
    assert sort_table(table, ["x"]).best == {(0, 1)}
    assert sort_table(table, ["-x"]).best == {(2, 1)}
    assert table.rows_of([2, 1]).best == {(1, 1)}
    assert table.rows_of([2]).best == frozenset()


def test_a_failed_run_is_named_in_each_column_without_a_value():
    failed = result("s", {}, {}, method="n", error="no luck", seconds={}, energy=None)
    results = ResultSet([result("s", {}, {BAD: 1.0}), failed])
    table = listing(results, [BAD])
    assert table.header == ("scene", "method", BAD, "seconds")
    measured, broken = map(list, table.rows)
    assert measured == ["s", "m", 1.0, 0.5]
    assert broken == ["s", "n", "failed", "failed"]
