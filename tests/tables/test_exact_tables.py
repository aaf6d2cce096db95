"""Tables, notes and conditions at their exact limits, and with two of each kind."""

import itertools
import math

import pytest
from made_results import SCENES, result, sweep

from stereo_framework.core.errors import ParameterError
from stereo_framework.sweep import MISSING, ResultSet
from stereo_framework.sweep.numbers import distance_of_equal_texts
from stereo_framework.sweep.sorting import sort_rows
from stereo_framework.sweep.value_text import cell_text
from stereo_framework.tables import scores, terminal
from stereo_framework.tables.averages import average_rows
from stereo_framework.tables.formats import csv_text
from stereo_framework.tables.means import Mean, means
from stereo_framework.tables.results import of_each_protocol, where
from stereo_framework.tables.scores import ranked, score_table
from stereo_framework.tables.summaries import group, pivot
from stereo_framework.tables.tables import best_places
from stereo_framework.tables.terminal import laid_out, protocol_line

BAD = "bad_pixels_nonocc"
ALL = "bad_pixels_all"


# --- conditions -----------------------------------------------------------------------


VALUES = [1, True, 1.0, 0, False, "1", None]


def with_values(*values):
    """Return results, each with a value of a parameter and axis."""
    return ResultSet(
        result("s", {"a.x": value}, {BAD: 1.0}, id=str(i)) for i, value in enumerate(values)
    )


@pytest.mark.parametrize(
    ("condition", "ids"),
    [
        ("a.x=1", [0, 2, 5]),
        ("a.x=1.0", [0, 2]),
        ("a.x=true", [1]),
        ("a.x=false", [4]),
        ("a.x=0", [3]),
        ("a.x=null", [6]),
        ("a.x=[1, false]", [0, 2, 4]),
        ("a.x!=1", [1, 3, 4, 6]),
        ("a.x!=true", [0, 2, 3, 4, 5, 6]),
        # Truth values and null are no numbers.
        ("a.x<=1", [0, 2, 3]),
        ("a.x<1", [3]),
        ("a.x>=1", [0, 2]),
        ("a.x>0", [0, 2]),
        ("a.x>=0", [0, 2, 3]),
        ("a.x<=0", [3]),
    ],
)
def test_numbers_and_truth_values_are_different_parameters(condition, ids):
    results = where(with_values(*VALUES), [condition])
    assert [int(r.id) for r in results] == ids


def test_two_conditions_hold_together():
    results = with_values(1, 2, 3, 4)
    assert [r.id for r in where(results, ["a.x>1", "a.x<4"])] == ["1", "2"]
    assert [r.id for r in where(results, ["a.x!=1", "a.x!=4"])] == ["1", "2"]


@pytest.mark.parametrize(
    ("count", "listed", "end"), [(19, 19, ""), (20, 20, ""), (21, 20, ", ..."), (40, 20, ", ...")]
)
def test_twenty_values_are_listed_where_none_fits(count, listed, end):
    results = with_values(*(f"v{i:02}" for i in range(count)))
    names = ", ".join(f"v{i:02}" for i in range(listed))
    message = rf"^a.x: no result has 'none of them'; there are: {names}{end}$"
    with pytest.raises(ParameterError, match=message):
        where(results, ["a.x=none of them"])


# --- protocols ------------------------------------------------------------------------


def of_protocol(name, text, **changes):
    """Return a result under a protocol."""
    fields = {"protocol": name, "protocol_text": text} | changes
    return result("s", {}, {BAD: 1.0}, **fields)


def test_two_versions_of_a_protocol_are_two_protocols():
    first, second = of_protocol("p", "p: 1"), of_protocol("p", "p: 2")
    repeated = ResultSet([first, second, first]).by("protocol_text")
    assert repeated == {("p: 1",): [first, first], ("p: 2",): [second]}
    results = ResultSet([first, second])
    with pytest.raises(ParameterError, match="they are of different versions of p; leave out"):
        _ = results.protocol
    actual = of_each_protocol(results, {}, [BAD])
    assert actual == [("_p", [first]), ("_p_1", [second])]


@pytest.mark.parametrize(
    ("names", "endings"),
    [
        (["p"], [""]),
        (["p", "q"], ["_p", "_q"]),
        (["p", "q", "p"], ["_p", "_q", "_p_2"]),
        (["a b", "a/b"], ["_a_b", "_a_b_1"]),
        (["p[threshold=2]", "p"], ["_p_threshold_2", "_p"]),
    ],
)
def test_files_of_several_protocols_have_different_endings(names, endings):
    results = ResultSet(of_protocol(name, f"{name}: {i}") for i, name in enumerate(names))
    assert [ending for ending, _ in of_each_protocol(results, {}, [BAD])] == endings


@pytest.mark.parametrize(
    ("count", "listed"),
    [
        (2, "p0 and p1"),
        (5, "p0 and p1 and p2 and p3 and p4"),
        (6, "p0, p1, p2, p3, p4 and 1 more"),
        (7, "p0, p1, p2, p3, p4 and 2 more"),
    ],
)
def test_five_protocols_are_named_and_more_are_counted(count, listed):
    results = ResultSet(of_protocol(f"p{i}", "") for i in range(count))
    start = f"^results of {listed} do not belong together; choose those of one protocol"
    with pytest.raises(ParameterError, match=start):
        _ = results.protocol


# --- numbers --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (10_000.0, "10000"),
        (-10_000.0, "-10000"),
        (9_999.99, "9999.99"),
        (9_999.996, "10000.00"),
        (0.1, "0.10"),
        (-0.1, "-0.10"),
        (0.0999, "0.1"),
        (0.0123, "0.012"),
        (0.0, "0.00"),
        (1.005, "1.00"),
        (math.inf, "-"),
        (math.nan, "-"),
        (None, "-"),
        (MISSING, "-"),
        ("", "-"),
        (True, "true"),
        (7, "7"),
    ],
)
def test_numbers_are_shown_with_the_digits_that_matter(number, text):
    assert cell_text(number) == text


@pytest.mark.parametrize("number", [10_000.0, 9_999.99, 123.456, 0.1, 0.0999, 0.0123, 1e-9])
def test_no_number_beyond_the_width_is_shown_like_another(number):
    distance = distance_of_equal_texts(number)
    for other in (number + 1.001 * distance, number - 1.001 * distance):
        assert cell_text(other) != cell_text(number)


@pytest.mark.parametrize(
    ("values", "better", "places"),
    [
        ([1.0, 2.0, 3.0], "lower", [0]),
        ([1.0, 2.0, 3.0], "higher", [2]),
        ([1.0, 1.004, 3.0], "lower", [0, 1]),
        ([1.0, 1.006, 3.0], "lower", [0]),
        ([1.0, 1.0, 1.0], "lower", []),
        ([1.0], "lower", []),
        ([None, 2.0, 3.0], "lower", [1]),
        ([True, 2.0, 3.0], "lower", [1]),
        ([1.0, 2.0], "", []),
        ([10_000.0, 10_000.4, 10_001.0], "lower", [0, 1]),
        ([0.05, 0.0501, 0.06], "lower", [0, 1]),
    ],
)
def test_numbers_that_are_shown_alike_are_all_best_unless_all_are(values, better, places):
    assert best_places(values, better, [range(len(values))]) == places


def test_two_contests_have_a_best_each():
    values = [1.0, 2.0, 5.0, 4.0]
    assert best_places(values, "lower", [[0, 1], [2, 3]]) == [0, 3]


@pytest.mark.parametrize(
    ("keys", "order"),
    [
        (["x"], [3, 0, 2, 1, 4, 5]),
        (["-x"], [4, 1, 0, 2, 3, 5]),
        (["y", "x"], [0, 2, 5, 3, 1, 4]),
        (["y", "-x"], [0, 2, 5, 1, 3, 4]),
    ],
)
def test_rows_keep_their_order_among_equals(keys, order):
    rows = [
        {"x": 2, "y": 1},
        {"x": 3, "y": 2},
        {"x": 2, "y": 1},
        {"x": 1, "y": 2},
        {"x": "text", "y": 3},
        {"x": None, "y": 1},
    ]
    actual = sort_rows(range(6), keys, lambda i, name: rows[i][name])
    assert actual == order


# --- means ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "kind", "ends"),
    [
        ((1.0,), "range", None),
        ((1.0,), "deviation", None),
        ((1.0, 3.0), "none", None),
        ((1.0, 3.0), "range", (1.0, 3.0)),
        # The standard deviation of the sample is the root of two.
        ((1.0, 3.0), "deviation", (2 - math.sqrt(2), 2 + math.sqrt(2))),
        ((1.0, 2.0, 6.0), "range", (1.0, 6.0)),
    ],
)
def test_two_values_have_an_error_bar(values, kind, ends):
    actual = Mean(values).spread(kind)
    assert actual == (None if ends is None else pytest.approx(ends))
    assert Mean(values, complete=False).spread(kind) is None


@pytest.mark.parametrize(
    ("first", "second", "is_told"),
    [
        (1, 1, False),
        (1, 2, True),
        (1, True, True),
        (1, 1.0, True),
        (0, False, True),
        (None, 0, True),
        ("1", 1, True),
    ],
)
def test_parameters_of_other_types_tell_results_apart(first, second, is_told):
    results = []
    for value in (first, second):
        results.append(result("s", {}, {BAD: 1.0}, parameters={"a.x": value}))
    expected = ["scene", "method"]
    if is_told:
        expected.append("a.x")
    assert ResultSet(results).varying() == expected


@pytest.mark.parametrize(
    ("change", "is_twin"),
    [
        ({}, True),
        ({"id": "another"}, True),
        ({"scene": "other"}, False),
        ({"method": "other"}, False),
        ({"axes": {"a.x": 2}}, False),
        ({"parameters": {"a.x": 2}}, False),
        ({"parameters": {"a.x": True}}, False),
    ],
)
def test_results_that_differ_in_scene_method_axes_or_parameters_are_no_twins(change, is_twin):
    common = {"method": "m", "parameters": {"a.x": 1}, "scene": "s", "axes": {"a.x": 1}}

    def changed_result(**fields):
        fields = common | fields
        return result(fields.pop("scene"), fields.pop("axes"), {BAD: 1.0}, **fields)

    results = ResultSet([changed_result(), changed_result(**change)])
    if is_twin:
        with pytest.raises(ParameterError, match="^s m: results of the same setting twice"):
            means(results, ["method"], [BAD])
    else:
        assert len(means(results, ["method"], [BAD]).cells) >= 1


def test_one_missing_mean_is_named_and_others_are_counted():
    def statistics(scene, x):
        return {BAD: 1.0} if scene == SCENES[0] or x == 1 else {}

    for count, listed in ((2, "x=2"), (3, "x=2 and 1 more"), (4, "x=2 and 2 more")):
        results = sweep({"a.x": list(range(1, count + 1))}, statistics)
        [note] = means(results, ["a.x"], [BAD]).notes
        reason = "because a run failed, or because not all of its settings ran on every scene"
        assert note == f"not given: {BAD} of {listed}, {reason}"


def test_means_without_any_value_are_named_apart_from_incomplete_ones():
    def statistics(scene, x):
        if x == 1 or (x == 2 and scene == SCENES[0]):
            return {"energy_like": 2.0, BAD: 1.0}
        return {"energy_like": 2.0}

    results = sweep({"a.x": [1, 2, 3]}, statistics)
    incomplete, empty = means(results, ["a.x"], [BAD]).notes
    reason = "because a run failed, or because not all of its settings ran on every scene"
    assert incomplete == f"not given: {BAD} of x=2, {reason}"
    assert empty == f"not given: {BAD} of x=3, which has none"


def test_averages_over_equal_and_different_numbers_of_settings_are_said():
    def statistics(scene, seed):
        return {BAD: seed}

    both = sweep({"seed": [1, 2]}, statistics)
    assert means(both, ["method"], [BAD]).averaged == (
        "mean over 2 scenes (tsukuba, venus), 2 values of seed"
    )
    assert means(both, ["method", "seed"], [BAD]).averaged == "mean over 2 scenes (tsukuba, venus)"
    assert means(both, ["scene"], [BAD]).averaged == "mean over 2 values of seed"
    assert means(both, ["scene", "seed"], [BAD]).averaged == ""
    more = both + sweep({"seed": [1]}, statistics, method="n")
    assert means(more, ["method"], [BAD]).averaged == (
        "mean over 2 scenes (tsukuba, venus), up to 2 values of seed"
    )


@pytest.mark.parametrize(
    ("coverages", "note"),
    [
        ((100.0, 100.0), "100 % of the pixels have an estimate"),
        ((99.5, 100.0), "99.5 to 100 % of the pixels have an estimate"),
        ((100.0, 70.25), "70.2 to 100 % of the pixels have an estimate"),
        ((99.99, 100.0), "100 % of the pixels have an estimate"),
        ((None, 80.0), "80 % of the pixels have an estimate"),
        ((None, None), None),
    ],
)
def test_tables_say_which_share_of_the_pixels_has_an_estimate(coverages, note):
    results = ResultSet()
    for i, coverage in enumerate(coverages):
        statistics = {BAD: 1.0}
        if coverage is not None:
            statistics["density_all"] = coverage
        results += [result("s", {"a.x": i}, statistics)]
    expected = tuple(filter(None, [note, "p: as one likes"]))
    assert tuple(group(results, ["a.x"], [BAD]).notes) == expected
    assert tuple(pivot(results, ["a.x"], ["scene"], [BAD]).notes) == expected


# --- ranks ----------------------------------------------------------------------------


def methods_with(coverages, scene="s"):
    """Return a result for each of some methods, with the coverage of its map."""
    results = ResultSet()
    for i, coverage in enumerate(coverages):
        statistics = {BAD: float(i), "fraction_matched": coverage}
        results += [result(scene, {}, statistics, method=f"m{i}")]
    return results


UNLIKE = "maps of unlike coverage are compared; with an estimate are, in the mean: "


@pytest.mark.parametrize(
    ("coverages", "methods"),
    [
        ((1.0, 1.0), None),
        ((0.5, 0.5), None),
        ((1.0, 0.995), "m1 99.5 %"),
        ((0.985, 0.995), "m0 98.5 %, m1 99.5 %"),
        ((0.75, 1.0), "m0 75 %"),
        # Shares with the same text are the same.
        ((0.7501, 0.7502), None),
        ((1.0, *[0.5] * 5), ", ".join(f"m{i} 50 %" for i in range(1, 6))),
        ((1.0, *[0.5] * 6), ", ".join(f"m{i} 50 %" for i in range(1, 7))),
        ((1.0, *[0.5] * 7), ", ".join(f"m{i} 50 %" for i in range(1, 7)) + " and 1 more"),
    ],
)
def test_methods_whose_maps_are_not_complete_are_named_where_coverages_differ(coverages, methods):
    notes = ranked(methods_with(coverages), [BAD]).notes
    assert notes == (() if methods is None else (UNLIKE + methods,))


def test_the_coverage_is_no_note_if_it_is_a_column():
    assert ranked(methods_with((1.0, 0.5)), [BAD, "fraction_matched"]).notes == ()


@pytest.mark.parametrize(
    ("count", "listed"),
    [
        (1, "m1"),
        (3, "m1, m2, m3"),
        (4, "m1, m2, m3 and 1 more"),
    ],
)
def test_three_methods_without_a_score_are_named(count, listed):
    results = ResultSet(result(scene, {}, {BAD: 1.0}, method="m0") for scene in SCENES)
    results += [result(SCENES[0], {}, {BAD: 2.0}, method=f"m{i}") for i in range(1, count + 1)]
    actual = score_table(results, [BAD])
    methods = listed.replace(",", f" ({BAD}),").replace(" and", f" ({BAD}) and")
    if " and" not in listed:
        methods += f" ({BAD})"
    assert actual.notes == (f"missing scores count as the worst: {methods}",)


@pytest.mark.parametrize(
    ("directions", "better"),
    [
        ({"*": "higher"}, "higher"),
        ({"*": "higher", "mine_*": "lower"}, "lower"),
        ({"mine_*": "lower", "*": "higher"}, "lower"),
        # A name takes precedence over a longer pattern.
        ({"mine": "lower", "s:mi*": "higher"}, "lower"),
        ({"s:mine": "higher", "mine": "lower"}, "higher"),
        ({"min?": "higher", "*": "lower"}, "higher"),
        ({"mi[n]e": "higher", "mine": "lower"}, "lower"),
    ],
)
def test_the_most_specific_direction_counts(directions, better):
    name = "mine_x" if "mine_*" in directions else "mine"
    results = ResultSet(result("s", {}, {name: 1.0}, method=method) for method in "ab")
    [column] = score_table(results, [name], given=directions).columns
    assert column.better == better


def test_a_column_has_a_name_with_its_scene_if_it_has_one():
    assert scores.Column("s", BAD, "lower").name == f"s:{BAD}"
    assert scores.Column("", BAD, "lower").name == BAD


def test_two_scores_of_a_method_on_a_scene_are_refused_unless_they_are_equal():
    first, second = (result("s", {}, {BAD: value}, method="m") for value in (1.0, 2.0))
    assert score_table(ResultSet([first, first]), [BAD]).values.tolist() == [[1.0]]
    with pytest.raises(ParameterError, match=rf"'m' has two scores in s:{BAD}, 1 and 2"):
        score_table(ResultSet([first, second]), [BAD])


def test_averages_of_two_methods_under_two_protocols_stand_apart():
    results = ResultSet()
    for k, (name, text) in enumerate(protocols().items()):
        under_protocol = {"protocol": name, "protocol_text": text}
        for (i, scene), (j, method) in itertools.product(enumerate(SCENES), enumerate("ab")):
            statistics = {BAD: 10.0 * i + j + 100 * k, ALL: 1.0}
            fields = {"method": method, "energy": float(i + 2 * j)} | under_protocol
            results += [result(scene, {}, statistics, **fields)]
    rows = []
    for r in average_rows(results):
        rows.append((r.protocol, r.method, r.scene, r.statistics[BAD], r.energy))
    assert rows == [
        ("taxonomy2002", "a", "average of 2", 5.0, 0.5),
        ("taxonomy2002", "b", "average of 2", 6.0, 2.5),
        ("middlebury-v2", "a", "average of 2", 105.0, 0.5),
        ("middlebury-v2", "b", "average of 2", 106.0, 2.5),
    ]
    assert all(r.warnings == () for r in average_rows(results))
    _, partial = average_rows(results[:3])
    assert partial.method == "b"
    assert partial.scene == "average of 1 of 2"
    assert partial.warnings == ("without venus, where it has no result",)


def protocols():
    """Return the texts of two presets that average over scenes."""
    from stereo_framework.evaluation import resolve

    return {name: str(resolve(name)) for name in ("taxonomy2002", "middlebury-v2")}


# --- layout ---------------------------------------------------------------------------


@pytest.mark.parametrize(("rows", "is_upright"), [(1, True), (2, True), (3, True), (4, False)])
def test_up_to_three_results_stand_upright(rows, is_upright):
    header = ["scene", *(f"statistic{i}" for i in range(9))]
    cells = []
    for row in range(rows):
        numbers = map(str, range(10 * row, 10 * row + 9))
        cells.append([f"scene{row}", *numbers])
    text = laid_out(header, cells, 200, keys=1, upright=True)
    first_words = [line.split()[0] for line in text.splitlines() if line.split()]
    assert ("statistic8" in first_words) == is_upright


def test_a_table_with_fewer_statistics_than_results_stays():
    header, cells = ["scene", "a", "b"], [["s1", "1", "2"], ["s2", "3", "4"]]
    first_line, *_ = laid_out(header, cells, 80, keys=1, upright=True).splitlines()
    assert first_line.split() == header
    longer = [[*row, "5"] for row in cells]
    tall = laid_out([*header, "c"], longer, 80, keys=1, upright=True)
    first_words = [line.split()[0] for line in tall.splitlines()[2:]]
    assert first_words == ["a", "b", "c"]


def test_columns_that_fit_exactly_stay_side_by_side():
    header = ["name", "first", "second"]
    cells = [["one", "1", "22"], ["two", "3", "44"]]
    lines = laid_out(header, cells, 80, keys=1).splitlines()
    width = max(map(len, lines))
    assert width == len("name  first  second")
    assert "\n\n" not in laid_out(header, cells, width, keys=1)
    numbers = [["one", "123456", "1234567"], ["two", "123456", "1234567"]]
    exact = len("name  123456  1234567")
    assert "\n\n" not in laid_out(["name", "a", "b"], numbers, exact, keys=1)
    assert "\n\n" in laid_out(["name", "a", "b"], numbers, exact - 1, keys=1)


def test_choices_of_a_protocol_are_printed_as_far_as_they_fit_exactly():
    text = "p: bad > 1 px; border 10; metrics mse"
    whole = "protocol p: bad > 1 px; border 10 (stages p lists all choices)"
    shortest = "protocol p: bad > 1 px (stages p lists all choices)"
    assert protocol_line(text, len(whole), "stages p") == whole
    assert protocol_line(text, len(whole) - 1, "stages p") == shortest
    assert protocol_line(text, 0, "stages p") == shortest


def test_the_narrowest_text_column_has_twelve_characters():
    assert (terminal._GAP, terminal._FEW, terminal._NARROWEST) == (2, 3, 12)


@pytest.mark.parametrize(
    ("cell", "text"),
    [
        ("=1", "'=1"),
        ("=a", "'=a"),
        ("-a", "'-a"),
        ("+a", "'+a"),
        ("@a", "'@a"),
        ("=", "="),
        ("-", "-"),
        ("-1", "-1"),
        ("+1.5", "+1.5"),
        ("a=b", "a=b"),
        ("", '""'),
    ],
)
def test_texts_of_two_characters_that_a_spreadsheet_computes_are_changed(cell, text):
    assert csv_text(["h"], [[cell]]) == f"h\n{text}\n"


def test_two_statistics_of_two_keys_stand_in_their_order():
    def statistics(scene, x, y):
        return {BAD: x, ALL: 10 * y}

    results = sweep({"a.x": [1, 2], "b.y": [3, 4]}, statistics, SCENES[:1])
    table = pivot(results, ["a.x"], ["b.y"], [ALL, BAD])
    assert table.header == ("a.x", f"y=3, {ALL}", f"y=3, {BAD}", f"y=4, {ALL}", f"y=4, {BAD}")
    rows = [list(row) for row in table.rows]
    assert rows == [[1, 30, 1, 40, 1], [2, 30, 2, 40, 2]]
    assert table.best == {(0, 1), (1, 1), (0, 2), (0, 4)}
