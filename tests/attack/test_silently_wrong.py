"""Numbers that nobody would doubt and that were wrong: each of these gave another one without a word."""

import warnings
from dataclasses import replace

import numpy as np
import pytest
from cli_parts import invoke
from made_results import result

from stereo_framework import (
    CostVolume,
    Energy,
    Pipeline,
    Scene,
    SearchRange,
    evaluate,
    load,
    load_scene,
    match,
    run,
    step,
)
from stereo_framework.aggregation import cross_based
from stereo_framework.cli._shared import print_results
from stereo_framework.core.errors import (
    DataError,
    ParameterError,
    ResultWarning,
    StereoFrameworkError,
)
from stereo_framework.core.pair import Pair
from stereo_framework.core.registration import stage
from stereo_framework.core.volume import SearchMask, Status
from stereo_framework.evaluation.disparity_error import bad_pixels
from stereo_framework.evaluation.protocols import PRESETS, resolve
from stereo_framework.io import write_pfm
from stereo_framework.matching_cost import absolute_difference, census
from stereo_framework.optimization import semi_global, winner_take_all
from stereo_framework.page.run_page import run_page
from stereo_framework.refinement import equiangular, left_right_check, parabola
from stereo_framework.sweep import ResultSet
from stereo_framework.tables.averages import average_rows
from stereo_framework.tables.formats import to_text
from stereo_framework.tables.results import stored
from stereo_framework.tables.summaries import group, pivot
from stereo_framework.tables.tables import Table, listing


@pytest.fixture(scope="module")
def slanted():
    return load_scene("synthetic/slanted")


@pytest.mark.parametrize("refinement", [parabola, equiangular])
def test_the_marker_of_closed_cells_is_no_cost(refinement):
    # The winner's right neighbour is closed; with the marker as its cost the curve's vertex lies half a level further left.
    costs = np.array([[[9, 1, 1e6, 9]]], np.float32)
    mask = SearchMask(high=np.array([[1]], np.float32))
    volume, winner = CostVolume(costs, SearchRange(0, 3), 255.0), np.array([[1]], np.float32)
    wide = SearchMask(high=np.array([[2]], np.float32))
    assert [refinement(winner, volume, one)[0, 0] for one in (None, mask, wide)] == pytest.approx(
        [0.5, 1, 0.5], abs=1e-3
    )


NANS = [np.array([bits], np.uint32).view(np.float32)[0] for bits in (0x7FC00000, 0xFFC00000)]


@pytest.mark.parametrize("nan", NANS, ids=["NaN", "-NaN"])
def test_nan_never_wins(nan):
    costs = np.full((6, 40, 24), 5, np.float32)
    costs[..., 7] = 1
    costs[3, 20, [0, 12]] = nan
    image = np.zeros((6, 40), np.uint8)
    energy = Energy(CostVolume(costs, SearchRange(0, 23), 9.0))
    # Direct calls refuse NaN; these are the functions that pipelines call.
    assert (winner_take_all.__wrapped__(energy.volume).levels == 7).all()
    found = semi_global.__wrapped__(energy.volume, image, image)
    assert (found.levels == 7).all()
    assert np.isfinite(found.volume.costs).all()


@pytest.mark.parametrize("outside_cost", [1e5, 1e9, 1e30])
def test_a_large_cost_of_cells_out_of_view_takes_no_precision_from_the_others(outside_cost):
    random = np.random.default_rng(0)
    image = random.integers(0, 60, (20, 40), dtype=np.uint8)
    costs, search = random.random((20, 40, 5)).astype(np.float32), SearchRange(0, 4)
    in_view = search.in_view(40)
    small, large = CostVolume(costs, search, 1.0), CostVolume(costs, search, outside_cost)
    expected = cross_based(small, image, image).costs[:, in_view]
    computed = cross_based(large, image, image).costs[:, in_view]
    # The tolerance is two rounding errors of float32 at 1.
    np.testing.assert_allclose(computed, expected, rtol=0, atol=2.4e-7)


@pytest.mark.parametrize("protocol", PRESETS)
def test_a_mask_counts_under_every_protocol(slanted, protocol):
    inside = np.zeros(slanted.truth.shape, bool)
    inside[40:200, 60:280] = True
    wrong = np.where(inside, slanted.truth, slanted.truth + 7).astype(np.float32)
    found, of_truth = (
        evaluate(one, slanted, protocol, mask=inside, pseudo_truth=slanted.truth)
        for one in (wrong, slanted.truth)
    )
    # Predicted views are other frames; all that is measured in this one is as if the map were right everywhere.
    names = [name for name in found if not name.startswith("predict")]
    assert names
    np.testing.assert_equal(
        {name: found[name] for name in names}, {name: of_truth[name] for name in names}
    )
    assert evaluate(wrong, slanted, protocol, mask=~inside, pseudo_truth=slanted.truth) != of_truth


@pytest.mark.parametrize(
    ("mask", "said"),
    [
        (np.ones((9, 9), bool), "the mask of evaluated pixels is 9x9, but the images are 320x240"),
        (np.zeros((240, 320), bool), "the mask leaves no pixel to evaluate"),
        (
            np.full((240, 320), 255, np.uint8),
            "the mask of evaluated pixels is uint8; expected bool, such as mask == 255",
        ),
    ],
    ids=["size", "empty", "type"],
)
def test_a_mask_that_cannot_count_is_refused(slanted, mask, said):
    with pytest.raises(DataError, match=said):
        evaluate(slanted.truth, slanted, mask=mask)


def test_a_mask_counts_inside_the_mask_of_the_scene(slanted):
    left, top = (np.zeros(slanted.truth.shape, bool) for _ in range(2))
    left[:, :100], top[:50] = True, True
    wrong = np.where(left & top, slanted.truth, slanted.truth + 7).astype(np.float32)
    assert evaluate(wrong, slanted.within(left), mask=top)["bad_pixels_all"] == 0


def test_masked_numbers_are_missing(slanted):
    hidden = np.zeros(slanted.truth.shape, bool)
    hidden[100:] = True
    wrong = np.ma.masked_array(np.where(hidden, -200, slanted.truth).astype(np.float32), hidden)
    expected = evaluate(wrong.filled(np.nan), slanted)
    np.testing.assert_equal(evaluate(wrong, slanted), expected)
    sure = {"made": slanted.truth}
    np.testing.assert_equal(
        evaluate(wrong, slanted, confidence=sure),
        evaluate(wrong.filled(np.nan), slanted, confidence=sure),
    )
    assert expected["rms_error_all"] == 0
    scene = Scene.from_images(slanted.reference, slanted.match, (0, 23), truth=wrong)
    assert evaluate(slanted.truth, scene)["bad_pixels_all"] == 0


@pytest.mark.parametrize("dtype", [np.uint8, np.float32])
def test_masked_pixels_of_an_image_take_part_in_nothing(slanted, dtype):
    left, right = (image[:120, :200].astype(dtype) for image in (slanted.reference, slanted.match))
    hidden = np.zeros(left.shape, bool)
    hidden[50:90, 100:180, 1] = True
    found = match(np.ma.masked_array(left, hidden), right, (0, 23), method="ssd")
    expected = match(left, right, (0, 23), method="ssd", left_mask=~hidden.any(axis=2))
    np.testing.assert_array_equal(found.disparity, expected.disparity)
    assert (found.status[50:90, 100:180] == Status.INVALID).all()


def masked_matcher(left, right, minimum, maximum):
    """As an outside function may: what is masked means no estimate, whatever number stands below the mask."""
    found = np.full(left.shape[:2], 5, np.float32)
    return np.ma.masked_array(found, np.arange(left.shape[1]) < np.full(left.shape[:2], 30))


def test_a_masked_map_of_a_python_function_has_no_estimates_there(slanted):
    found = (
        load({"matcher": {"use": "python", "function": f"{__file__}:masked_matcher"}})
        .pipeline(slanted)
        .disparity
    )
    np.testing.assert_array_equal(
        np.isnan(found), np.arange(found.shape[1]) < np.full(found.shape, 30)
    )


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda image, s: Pair(image, s.match, SearchRange(0, 3)), "masked array"),
        (
            lambda image, s: census(image, s.match, SearchRange(0, 3)),
            "census: reference is a masked array",
        ),
        (
            lambda _, s: bad_pixels(np.ma.masked_less(s.truth, 9), s.truth, s.truth > 0),
            "bad_pixels: disparity is a masked array",
        ),
    ],
)
def test_what_has_no_place_for_a_mask_refuses_masked_arrays(slanted, call, said):
    with pytest.raises(DataError, match=said):
        call(np.ma.masked_equal(slanted.reference, 3), slanted)


@pytest.mark.parametrize("method", ["bm", "sgbm", "initial_map"])
@pytest.mark.parametrize("scene", ["synthetic/planes", "middlebury2001/venus"])
def test_no_estimate_lies_outside_of_the_range_asked_for(method, scene, request):
    scene = load_scene(
        scene, data=None if scene.startswith("synthetic") else request.getfixturevalue("data")
    )
    # True disparities lie on both sides of it.
    low, high = np.floor(np.nanpercentile(scene.truth, [30, 70]))
    found = load(method).pipeline(scene, SearchRange(float(low), float(high)))
    known = found.disparity[np.isfinite(found.disparity)]
    # Half a step is what sub-pixel refinement may add at either end.
    assert known.size > 1000
    assert low - 0.5 <= known.min() <= known.max() <= high + 0.5
    assert (found.status[np.isnan(found.disparity)] != Status.MATCHED).all()


def test_levels_become_disparities():
    search = SearchRange(2, 4, 0.5)
    np.testing.assert_equal(
        search.disparity_of(np.array([[0, -1], [4, 1]], np.int16)),
        np.array([[2, np.nan], [4, 2.5]], np.float32),
    )
    for levels in ([5], [-2]):
        with pytest.raises(
            ParameterError, match="expected 0 to 4, or -1 for a pixel without a level"
        ):
            search.disparity_of(np.array(levels))
    with pytest.raises(ParameterError, match="float64; expected whole numbers"):
        search.disparity_of(np.array([1.0]))


def looks_left_only(reference, match, search) -> CostVolume:
    """Absolute differences that take every match frame to lie to the right."""
    return replace(
        absolute_difference(reference, match, replace(search, direction=1)), search=search
    )


def looks_both_ways(reference, match, search) -> CostVolume:
    """Absolute differences."""
    return absolute_difference(reference, match, search)


def test_a_cost_that_ignores_the_direction_is_refused_before_its_second_view(slanted):
    for one in (looks_left_only, looks_both_ways):
        stage("matching_cost", source="this test", halo=lambda: 0)(one)
    assert Pipeline([looks_left_only, winner_take_all])(slanted)
    said = (
        r"test_silently_wrong.py:\d+: .* do not obey search.direction: .* 100% of the pixels "
        r"of the left image .* x - search.direction \* disparity"
    )
    for beside in ([], ["rank"]):
        with pytest.raises(StereoFrameworkError, match=said):
            Pipeline([looks_left_only, *beside, winner_take_all, left_right_check])(slanted)
    assert (
        np.isfinite(
            Pipeline([looks_both_ways, winner_take_all, left_right_check])(slanted).disparity
        ).mean()
        > 0.5
    )


WRONG_MATCHES = {
    "search": ({"search": SearchRange(0, 3)}, "Estimate with the search range SearchRange"),
    "type": ({"disparity": np.zeros((240, 320))}, r"float64 \(240, 320\); expected float32"),
    "infinite": ({"disparity": np.full((240, 320), np.inf, np.float32)}, "not finite"),
    "status type": ({"status": np.zeros((240, 320), int)}, r"status: int64"),
    "status value": (
        {"status": np.full((240, 320), 9, np.uint8)},
        "status: the value 9; expected values of Status",
    ),
    "status size": ({"status": np.zeros((2, 2), np.uint8)}, r"status: uint8 \(2, 2\)"),
    "levels": (
        {"levels": np.full((240, 320), 24, np.int16)},
        "levels: levels from 24 to 24; expected levels -1 to 23",
    ),
    "confidence": ({"confidence": {"mine": np.zeros((2, 2), np.float32)}}, "confidence mine"),
}


@pytest.mark.parametrize(("changes", "said"), WRONG_MATCHES.values(), ids=WRONG_MATCHES)
def test_the_match_of_a_scheme_is_checked_whole(slanted, changes, said):
    @stage("scheme", source="this test")
    def changing(solve, pair, *, change: bool = True):
        """Give a match with something else in it."""
        return replace(solve(pair), **(changes if change else {}))

    assert Pipeline([census, winner_take_all, step(changing, change=False)])(slanted)
    with pytest.raises(StereoFrameworkError, match=said):
        Pipeline([census, winner_take_all, changing])(slanted)


def small(image):
    return (image / 255).astype(np.float32)


DARK = "intensities up to 1, where 0 to 255"
WARNED = {
    "exchanged": (
        lambda s: match(s.match, s.reference, (0, 31), method="ssd"),
        "the images may be exchanged",
    ),
    "narrow": (
        lambda s: match(s.reference, s.match, (0, 8), method="ssd"),
        "the range may be too narrow",
    ),
    "end": (
        lambda s: load("window").pipeline(s, SearchRange(0, 8)),
        "chose the upper end of the search range, 8",
    ),
    "0..1 matched": (
        lambda s: match(small(s.reference), small(s.match), (0, 31), method="ssd"),
        DARK,
    ),
    "0..1 in a pair": (
        lambda s: load("window").pipeline(Pair(small(s.reference), small(s.match), s.search)),
        DARK,
    ),
    "0..1 measured": (
        lambda s: evaluate(
            s.truth, Scene.from_images(*map(small, (s.reference, s.match)), truth=s.truth)
        ),
        DARK,
    ),
    "scale": (lambda s: evaluate(4 * s.truth, s), "the wrong scale"),
    "sign": (lambda s: evaluate(-s.truth, s), "the wrong sign"),
}


@pytest.mark.parametrize(("call", "said"), WARNED.values(), ids=WARNED)
def test_python_warns_at_the_line_of_the_caller(call, said):
    scene = load_scene("synthetic/planes")
    with pytest.warns(ResultWarning, match=said) as told:
        call(scene)
    assert {warning.filename for warning in told} == {__file__}


def test_nothing_is_warned_of_a_good_pair():
    scene = load_scene("synthetic/planes")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = match(scene.reference, scene.match, (0, 31), method="sgm")
        evaluate(found.disparity, scene)


def test_the_command_line_prints_the_same_warnings_once(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    scene = load_scene("synthetic/planes")
    for name, image in (("left", scene.reference), ("right", scene.match)):
        write_pfm(f"{name}.pfm", small(image))
    for folder in ("a", "b"):
        told = invoke(
            "match",
            "left.pfm",
            "right.pfm",
            "--disparities",
            "0:31",
            "--method",
            "ssd",
            "-o",
            folder,
        )
        assert told.exit_code == 0, told.output
        assert [
            line.count("intensities up to 1")
            for line in told.stderr.splitlines()
            if "intensities" in line
        ] == [1]


def test_the_page_and_the_table_give_one_mean(tmp_path, data):
    # Two scenes of a benchmark that weights them unlike.
    names = "middlebury-v3/trainingQ/Adirondack", "middlebury-v3/trainingQ/Vintage"
    weights = [load_scene(name, data=data).weight for name in names]
    assert weights[0] != weights[1]
    run("initial_map", scenes=list(names), out=tmp_path, data=data)
    own = stored(tmp_path)
    [average] = average_rows(own, data)
    values = [r.statistics["bad_pixels_nonocc"] for r in own]
    assert average.statistics["bad_pixels_nonocc"] == pytest.approx(
        np.average(values, weights=weights)
    )
    table = next(
        block
        for section in run_page(tmp_path, data=data).sections
        for block in section.blocks
        if isinstance(block, Table)
    )
    mean = table.rows[0][table.header.index("mean")]
    assert mean == average.statistics["bad_pixels_nonocc"]
    assert "density %" in table.header


def test_an_average_without_a_scene_names_it(capsys):
    text = str(resolve("taxonomy2002"))
    made = [
        result(f"set/{scene}", {}, {"bad_pixels_all": 3.0}, method=method, protocol_text=text)
        for scene in "abc"
        for method in "mn"
    ]
    print_results(ResultSet(made[:-1]))
    told = capsys.readouterr()
    assert "average of 2 of 3" in told.out
    assert "warning: average of 2 of 3 n: without c, where it has no result" in told.err


@pytest.mark.parametrize("protocol", PRESETS)
def test_coverage_stands_beside_errors_under_every_protocol(slanted, protocol):
    sparse = slanted.truth.copy()
    sparse[:, ::4] = np.nan
    found = evaluate(sparse, slanted, protocol, pseudo_truth=slanted.truth)
    assert found["fraction_matched"] == pytest.approx(0.75)


MADE = ResultSet(
    result("set/a", {}, {"bad_pixels_all": 3.0, "fraction_matched": f}, method=f"{f}")
    for f in (0.745, 1.0)
)
SHARES = "74.5 to 100 % of the pixels have an estimate"


@pytest.mark.parametrize("kind", ["markdown", "latex", "csv"])
@pytest.mark.parametrize("columns", [(), ("bad_pixels_all",)])
def test_coverage_stands_in_every_table(kind, columns):
    table = listing(MADE, columns)
    assert table.header[2:4] == ("bad_pixels_all", "fraction_matched")
    assert "fraction" in to_text(table, kind)
    assert SHARES in pivot(MADE, ["scene"], ["method"], ["bad_pixels_all"]).notes
    assert SHARES in group(MADE, ["scene"], ["bad_pixels_all"]).notes
