"""Querying results from Python."""

import csv
import io
import math

import pandas
import pytest
from made_results import SCENES, result, sweep

from stereo_framework.core.errors import DataError, ParameterError
from stereo_framework.sweep import ResultSet, Store, run
from stereo_framework.tables.formats import csv_text, to_text
from stereo_framework.tables.ranking import rank
from stereo_framework.tables.results import ordered, results, stored, where
from stereo_framework.tables.summaries import group
from stereo_framework.tables.tables import listing

TRUNCATION, INTERVAL, BAD = (
    "matching_cost.truncation",
    "matching_cost.birchfield_tomasi",
    "bad_pixels_nonocc",
)
RESULTS = ResultSet(
    [
        result(
            r.scene,
            {"matching_cost": "absolute_difference", **r.axes},
            r.statistics,
            parameters={
                **r.parameters,
                "matching_cost.use": "absolute_difference",
                "optimization.use": "winner_take_all",
            },
        )
        for r in sweep(
            {TRUNCATION: [1.0, 5.0, None], INTERVAL: [False, True]},
            lambda scene, t, i: {BAD: (t or 12.345) + i},
        )
    ]
)


def _values(found, key=TRUNCATION):
    return [r.axes[key] for r in found if r.scene == SCENES[0]]


@pytest.mark.parametrize(
    ("condition", "kept"),
    [
        (f"{TRUNCATION}=5", [5, 5]),
        (f"{TRUNCATION} = 5.0", [5, 5]),
        (f"{TRUNCATION}!=5", [1, 1, None, None]),
        (f"{TRUNCATION}=null", [None, None]),
        (f"{TRUNCATION}=none", [None, None]),
        (f"{TRUNCATION}<=5", [1, 1, 5, 5]),
        (f"{TRUNCATION}<5", [1, 1]),
        (f"{TRUNCATION}>1", [5, 5]),
        (f"{TRUNCATION}>=1", [1, 1, 5, 5]),
        (f"{TRUNCATION}=[1, null]", [1, 1, None, None]),
        (f"{INTERVAL}=true", [1, 5, None]),
        (f"{BAD}=12.35", [None]),  # as tables show it
        (f"{BAD}>6", [None, None]),
        ("matching_cost=absolute_difference", [1, 1, 5, 5, None, None]),
        ("optimization=winner_take_all", [1, 1, 5, 5, None, None]),
        ("scene=tsukuba", [1, 1, 5, 5, None, None]),
        ("scene!=tsukuba", []),
        ("protocol=p", [1, 1, 5, 5, None, None]),
    ],
)
def test_conditions(condition, kept):
    assert _values(where(RESULTS, [condition])) == kept


@pytest.mark.parametrize(
    ("condition", "message"),
    [
        ("scene", "'scene' is not a condition; expected key=value"),
        ("=3", "is not a condition"),
        ("scene=tskuba", "scene: no result has 'tskuba'; there are: .*; did you mean 'tsukuba'"),
        (f"{TRUNCATION}=7", f"{TRUNCATION}: no result has '7'; there are: 1.00, 5.00, null"),
        (
            "matching_cost.trunc=7",
            f"'matching_cost.trunc': no result has it; .* did you mean '{TRUNCATION}'",
        ),
        (f"{TRUNCATION}<many", "'many' is not a number; < compares numbers"),
    ],
)
def test_wrong_conditions(condition, message):
    with pytest.raises(ParameterError, match=message):
        where(RESULTS, [condition])


def test_nothing_is_found_without_a_mistake():
    assert len(where(where(RESULTS, ["scene=venus"]), ["scene=venus"])) == 6
    assert where(RESULTS, ["scene=venus", "scene=tsukuba"]) == []
    assert where(ResultSet(), ["scene=venus"]) == []


def test_sorting():
    assert _values(ordered(RESULTS, [f"-{TRUNCATION}", INTERVAL])) == [5, 5, 1, 1, None, None]
    assert _values(ordered(RESULTS, [f"-{TRUNCATION}", INTERVAL]), INTERVAL) == [False, True] * 3
    assert _values(ordered(RESULTS, [BAD])) == [1, 1, 5, 5, None, None]
    unknown = ResultSet(
        [
            result(SCENES[0], {TRUNCATION: t}, {BAD: v})
            for t, v in ((1, math.nan), (2, 5.0), (3, 7.0))
        ]
    )
    assert _values(ordered(unknown, [BAD])) == [2, 3, 1]
    assert _values(ordered(unknown, [f"-{BAD}"])) == [3, 2, 1]
    with pytest.raises(ParameterError, match=f"did you mean '{BAD}'"):
        ordered(RESULTS, ["bad_pixel_nonocc"])


def test_the_frame():
    frame = RESULTS.frame
    assert list(frame.columns) == [
        *(
            "id",
            "scene",
            "method",
            "protocol",
            TRUNCATION,
            INTERVAL,
            "matching_cost.use",
            "optimization.use",
        ),
        *(BAD, "energy", "seconds", "processor_seconds", "time", "host", "processor"),
        *("cores", "threads", "versions", "error"),
    ]
    assert (frame[TRUNCATION] == "none").sum() == 4
    assert not frame[TRUNCATION].isna().any()
    assert frame[INTERVAL].dtype == bool
    assert frame[BAD].max() == 13.345
    assert (frame.seconds == 0.5).all()


def mixed_results():
    """Return results of two methods, of which only one has a truncation, which can be null."""
    made = [
        result(scene, {TRUNCATION: level}, {BAD: float(level or 50)}, method="window")
        for scene in SCENES
        for level in (5, 20, None)
    ]
    made += [result(scene, {}, {BAD: 1.0}, method="matcher") for scene in SCENES]
    return ResultSet(made)


def test_null_has_a_place_in_pivot_tables_and_differs_from_a_parameter_that_a_method_lacks():
    frame = mixed_results().frame
    table = frame.pivot_table(BAD, "scene", TRUNCATION)
    assert list(table.columns) == [5, 20, "none"]
    assert table["none"].tolist() == [50.0] * len(SCENES)
    assert frame.loc[frame.method == "matcher", TRUNCATION].isna().all()
    assert frame.loc[frame[TRUNCATION] == "none", BAD].tolist() == [50.0] * len(SCENES)


@pytest.mark.parametrize(
    ("query", "levels"),
    [("<= 20", {5, 20}), ("> 5", {20}), ("< 20", {5}), (">= 20", {20}), ("== 20", {20})],
)
def test_comparisons_with_numbers_leave_null_out(query, levels):
    frame = mixed_results().frame
    assert set(frame.query(f"`{TRUNCATION}` {query}")[TRUNCATION]) == levels
    only_null = mixed_results().where(**{TRUNCATION: None}).frame
    assert only_null.query(f"`{TRUNCATION}` {query}").empty


def test_null_in_numbers_of_a_frame_is_nan():
    numbers = mixed_results().frame[TRUNCATION].astype(float)
    assert numbers[:2].tolist() == [5, 20]
    assert numbers.isna().sum() == 2 * len(SCENES)


def test_null_in_text_formats():
    made = mixed_results()
    rows = list(csv.DictReader(io.StringIO(csv_text(*made.tidy()))))
    assert [row[TRUNCATION] for row in rows[:3]] == ["5", "20", "none"]
    assert {row[TRUNCATION] for row in rows if row["method"] == "matcher"} == {""}
    table = group(made, ["method", TRUNCATION], [BAD])
    rows = list(csv.DictReader(io.StringIO(to_text(table, "csv"))))
    assert [(row["method"], row[TRUNCATION]) for row in rows] == [
        ("window", "5"),
        ("window", "20"),
        ("window", "none"),
        ("matcher", ""),
    ]
    for form in ("markdown", "latex"):
        assert to_text(table, form).count("none") == 1
    listed = listing(made, [TRUNCATION]).texts()
    column = listing(made, [TRUNCATION]).header.index(TRUNCATION)
    assert [row[column] for row in listed[:3]] == ["5", "20", "none"]
    assert listed[-1][column] == "-"


def test_a_column_of_a_listing_that_is_there_already_is_not_repeated():
    expected = ["scene", "method", TRUNCATION, BAD]
    header = list(listing(mixed_results(), ["scene", TRUNCATION, "method", BAD]).header)
    assert [name for name in header if name != "seconds"] == expected


def test_a_statistic_that_is_a_key_of_the_groups_is_no_column_of_means():
    made = mixed_results()
    table = group(made, ["method", TRUNCATION], ["method", TRUNCATION, BAD])
    assert table == group(made, ["method", TRUNCATION], [BAD])
    assert list(table.header) == ["method", TRUNCATION, "results", BAD]
    with pytest.raises(ParameterError, match=f"has the columns method, {TRUNCATION} already"):
        group(made, ["method", TRUNCATION], [TRUNCATION])


def test_conditions_and_order_distinguish_null_from_a_parameter_that_a_method_lacks():
    made = mixed_results()
    assert {r.method for r in where(made, [f"{TRUNCATION}=null"])} == {"window"}
    assert {r.method for r in where(made, [f"{TRUNCATION}!=null"])} == {"window", "matcher"}
    assert len(where(made, [f"{TRUNCATION}!=null"])) == 3 * len(SCENES)
    with pytest.raises(ParameterError, match="there are: 5, 20, null$"):
        where(made, [f"{TRUNCATION}=7"])
    in_order = [
        r.axes.get(TRUNCATION, "missing")
        for r in ordered(ResultSet(reversed(made)), [f"-{TRUNCATION}"])
    ]
    assert list(dict.fromkeys(in_order)) == [20, 5, None, "missing"]


def test_columns_of_several_kinds_become_texts():
    axes = {TRUNCATION: 1, INTERVAL: True}, {TRUNCATION: "x", INTERVAL: 2}, {}
    frame = ResultSet([result(SCENES[0], values, {}) for values in axes]).frame
    assert frame[TRUNCATION].tolist()[:2] == ["1", "x"]
    assert frame[INTERVAL].tolist()[:2] == ["True", "2"]
    assert frame[TRUNCATION].isna().tolist() == [False, False, True]


def test_a_stored_folder(tmp_path):
    with Store(tmp_path, create=True) as store:
        store.set_listed_keys(["a"])
        store.add("a", RESULTS[0])
        store.set_listed_keys(["b"])
        store.add("b", RESULTS[1])
    assert [r.axes for r in stored(tmp_path)] == [RESULTS[1].axes]
    assert len(results(str(tmp_path), every=True)) == 2
    with pytest.raises(DataError, match="no results there"):
        results(tmp_path / "none")


def test_a_frame_of_a_run_and_of_its_folder(tmp_path):
    script = {"include": "window", "sweep": {"grid": {"aggregation.box.size": [3, 9]}}}
    found = run(script, scenes="synthetic/planes", out=tmp_path)
    pandas.testing.assert_frame_equal(results(tmp_path), found.frame)
    assert found.frame["bad_pixels_all"].tolist() == [r.statistics["bad_pixels_all"] for r in found]


def test_ranks_of_a_frame():
    scores = {"x": [1.0, 4.0, 9.0], "y": [2.0, 3.0, 9.0], "z": [3.0, math.nan, 8.0]}
    rows = [
        (s, m, v, 100 - v) for m, own in scores.items() for s, v in zip("abc", own, strict=True)
    ]
    frame = pandas.DataFrame(rows, columns=["scene", "method", BAD, "density_all"])
    found = rank(frame, BAD)
    # Scene c: z is first, and x and y share the second place; z's missing score is the last.
    assert found["average_rank"].to_dict() == pytest.approx({"x": 5 / 3, "y": 5 / 3, "z": 7 / 3})
    assert found[BAD].isna().tolist() == [False, False, True]
    assert found.loc["x", BAD] == pytest.approx(14 / 3)
    # Higher densities are better.
    assert rank(frame, "density_all")["average_rank"].to_dict() == pytest.approx(
        {"x": 5 / 3, "y": 5 / 3, "z": 7 / 3}
    )
    for arguments, message in (
        (("bad_pixels_nonoc",), f"'bad_pixels_nonoc': no result has it; .*did you mean '{BAD}'"),
        ((), "by what"),
        (("scene",), "'scene': neither lower nor higher"),
    ):
        with pytest.raises(ParameterError, match=message):
            rank(frame, *arguments)
    with pytest.raises(
        ParameterError, match="a: two results of method=x; name what tells them apart"
    ):
        rank(pandas.concat([frame, frame]), BAD)
    with pytest.raises(
        ParameterError, match=r"rank: frame is \[\]; expected a DataFrame, such as results\(DIR\)"
    ):
        rank([], BAD)
    with pytest.raises(
        ParameterError,
        match=r"^rank: statistics is .*; expected the name of a column; several names stand one after the other$",
    ):
        rank(frame, [BAD])
