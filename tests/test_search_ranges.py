"""Every stage, method and scheme works for every valid search range, or is refused before it runs."""

import dataclasses
import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from networks import write_network

import stereo_framework
from stereo_framework import Pipeline, SearchRange, step
from stereo_framework.confidence.learned import MEASURES
from stereo_framework.core.errors import ParameterError, ScriptError
from stereo_framework.core.package_files import package_folder
from stereo_framework.core.pair import Pair
from stereo_framework.core.registration import stages
from stereo_framework.core.scene import Frame, Scene
from stereo_framework.engine.method_checks import steps_below_a_pixel
from stereo_framework.io import write_disparity
from stereo_framework.script import load

MINIMA = (
    Fraction(-3),
    Fraction(-5, 2),
    Fraction(0),
    Fraction(1, 2),
    Fraction(11, 2),
    Fraction(1, 3),
)
SPACINGS = (Fraction(1), Fraction(1, 2), Fraction(1, 3), Fraction(1, 4), Fraction(2))
DIRECTIONS = (1, -1)
LEVELS = 7
COLUMNS = 96


def is_valid(minimum, spacing):
    """Return whether a minimum is a multiple of 1/N, or whole for a step of N pixels."""
    return minimum % min(spacing, 1) == 0


RANGES = [*itertools.product(MINIMA, SPACINGS)]
VALID = [ends for ends in RANGES if is_valid(*ends)]
INVALID = [ends for ends in RANGES if not is_valid(*ends)]


def named(ranges):
    """Return search ranges as parameters of a test, with readable names."""
    return [pytest.param(*ends, id=f"{ends[0]} by {ends[1]}") for ends in ranges]


def search_from(minimum, spacing, direction=1):
    """Return a search range of seven levels."""
    lowest = float(minimum)
    distance = float(spacing)
    return SearchRange(lowest, lowest + (LEVELS - 1) * distance, distance, direction)


def ends_and_middle(disparities):
    """Return the lowest, the middle and the highest of some disparities."""
    return disparities[0], disparities[len(disparities) // 2], disparities[-1]


@dataclasses.dataclass(frozen=True)
class TexturedPair:
    """A pair with known disparities: bands of rows, each with one disparity.

    Parameters
    ----------
    pair : Pair
    truth : ndarray, float32, (rows, columns)
    inner : ndarray, bool, (rows, columns)
        Pixels that lie far from the borders of the images and of the bands.
    """

    pair: Pair
    truth: np.ndarray
    inner: np.ndarray

    def share_within(self, disparity, tolerance, *, semi_dense=False):
        """Return the share of inner pixels whose error is below a tolerance, in pixels.

        A pixel without an estimate is an error unless the method is semi-dense.
        """
        errors = np.abs(disparity - self.truth)[self.inner]
        if semi_dense:
            errors = errors[np.isfinite(errors)]
        return float(np.mean(errors < tolerance))


def texture(y, x):
    """Return a texture of sines at any positions; its highest frequency is 0.14 per pixel."""
    random = np.random.default_rng(3)
    total = np.zeros(np.broadcast(y, x).shape)
    for _ in range(40):
        right = random.uniform(0.03, 0.14)
        down = random.uniform(-0.12, 0.12)
        phase = random.uniform(0, 2 * math.pi)
        total += np.sin(2 * math.pi * (right * x + down * y) + phase)
    return 128 + 5.6 * total


def textured_pair(search, disparities, band=16):
    """Return a pair whose bands of so many rows have these disparities, in pixels."""
    row_disparity = np.repeat(np.asarray(disparities, float), band)[:, None]
    rows = np.arange(len(row_disparity))
    columns = np.arange(COLUMNS)[None]

    reference = texture(rows[:, None], columns).astype(np.float32)
    match = texture(rows[:, None], columns + search.direction * row_disparity).astype(np.float32)
    truth = np.broadcast_to(row_disparity, reference.shape).astype(np.float32)
    row_of_band = rows % band
    inner = np.zeros(truth.shape, bool)
    inner[(row_of_band >= band // 4) & (row_of_band < band - band // 4), 24:-24] = True
    return TexturedPair(Pair(reference, match, search), truth, inner)


def test_seventeen_combinations_of_minimum_and_step_are_valid():
    assert (len(VALID), len(INVALID)) == (17, 13)
    for minimum, spacing in VALID:
        search = search_from(minimum, spacing)
        assert search.levels == LEVELS
        assert search.first == minimum * search.denominator


@pytest.mark.parametrize(("minimum", "spacing"), named(INVALID))
def test_a_minimum_between_the_levels_of_the_grid_is_refused(minimum, spacing):
    with pytest.raises(
        ParameterError,
        match=r"search.minimum: \S+ is not .* as a step of \S+ needs; use \S+ or \S+, or a step of",
    ):
        search_from(minimum, spacing)
    script = {"search": {"minimum": float(minimum), "step": float(spacing)}, "include": "window"}
    for ends in ({}, {"maximum": float(minimum) + 12}):
        with pytest.raises(
            ScriptError,
            match=r"search.minimum: \S+ is not (a whole number of pixels|a multiple of 1/\d pixel)",
        ):
            load(script | {"search": script["search"] | ends})


# --- stages -------------------------------------------------------------------------------------------------------------

PARAMETERS = {
    # Supports that adapt to the image are too small on this texture, or leave the bands.
    "cross_based": {"tau": 200.0, "tau_far": 200.0, "max_arm": 5},
    "guided_filter": {"size": 7, "epsilon": 0.1},
    "minimum_spanning_tree": {"sigma": 5.0},
    "segment_tree": {"sigma": 5.0, "median_size": 1},
    # Windows as large as the bands would see two disparities.
    "patch_match": {"size": 7, "iterations": 8, "gamma": 100.0},
    "opencv_bm": {"block_size": 9},
    "pyramid": {"octaves": 2},
    "tiles": {"tile_size": 32, "overlap": 12, "reduction": 2},
}
"""Parameters that suit the small textured pair, if a stage's defaults do not."""

AFTER_WINDOWS = {"min_filter", "minimum_spanning_tree", "segment_tree"}
"""Aggregations that need costs which are summed over windows already."""

SEMI_DENSE = {
    "stable_matching",
    "stratified_matching",
    "maximum_likelihood_matching",
    "confidence_filter",
    "opencv_bm",
}
"""Stages that leave pixels without an estimate on purpose."""


def pipeline_with(stage, files):
    """Return a window method that contains a stage."""
    parameters = PARAMETERS.get(stage.name, {}) | files.get(stage.name, {})
    auxiliary = {}
    if "auxiliary" in stage.data and not stage.defaults("auxiliary"):
        auxiliary = {
            "first": Pipeline(["absolute_difference", step("box", size=7), "winner_take_all"])
        }

    steps = {
        "matching_cost": ["absolute_difference"],
        "aggregation": [step("box", size=7)],
        "optimization": ["winner_take_all"],
    }
    if stage.slot == "matcher":
        steps = {}
    elif stage.slot == "smoothness":
        steps["optimization"] = ["graph_cut"]
    elif stage.slot == "optimization" and "smoothness" in stage.data:
        steps["smoothness"] = ["potts"]
    elif stage.name == "plane_paths":
        # The default penalties fit these costs.
        steps["matching_cost"] = [step("ad_census", quantization_steps=100)]
        steps["aggregation"] = [step("box", size=5)]
    elif stage.name == "learned":
        steps["confidence"] = [*MEASURES]
    elif "confidence" in stage.data:
        steps["confidence"] = ["peak_ratio"]

    tested = step(stage.function, **parameters)
    if stage.slot == "confidence" or stage.name in AFTER_WINDOWS:
        steps[stage.slot] = [*steps.get(stage.slot, []), tested]
    else:
        steps[stage.slot] = [tested]
    return Pipeline([one for slot in steps.values() for one in slot], auxiliary)


@pytest.fixture
def pair_and_files(tmp_path):
    """Return a function that makes a textured pair and files from outside that know its truth."""

    def make(search, disparities):
        textured = textured_pair(search, disparities)
        # Programs from outside see a mirrored pair if the match frame lies to the left.
        seen = textured.truth if search.direction > 0 else textured.truth[:, ::-1].copy()
        write_disparity(tmp_path / "made.pfm", textured.truth)
        write_disparity(tmp_path / "seen.pfm", seen)
        np.save(tmp_path / "seen.npy", seen)
        module = tmp_path / "theirs.py"
        module.write_text(
            "import numpy as np\n"
            "def match(left, right, minimum, maximum):\n"
            f"    return np.clip(np.load({str(tmp_path / 'seen.npy')!r}), minimum, maximum)\n"
        )
        write_network(tmp_path / "net.onnx")
        files = {
            "maps": {"path": str(tmp_path)},
            "command": {"command_line": f"cp {tmp_path / 'seen.pfm'} {{output}}"},
            "python": {"function": f"{module}:match"},
            "onnx": {"model": str(tmp_path / "net.onnx")},
        }
        frames = (
            Frame("left", textured.pair.reference.copy, 0),
            Frame("right", textured.pair.match.copy, 1),
        )
        pair = dataclasses.replace(
            textured.pair, scene=Scene("made", frames, search=SearchRange(0, 5))
        )
        return dataclasses.replace(textured, pair=pair), files

    return make


def _stage_cases():
    """Return all stages with all valid ranges: one of each stage in turn, and the rest slow."""
    cases = []
    for number, stage in enumerate(stages()):
        for place, (minimum, spacing) in enumerate(VALID):
            # Seven is prime to 17, so that all ranges occur among the stages.
            # PatchMatch takes seconds, so that it is always slow.
            in_sample = place == number * 7 % len(VALID) and stage.name != "patch_match"
            marks = [] if in_sample else [pytest.mark.slow]
            name = f"{stage.slot}.{stage.name}, {minimum} by {spacing}"
            cases.append(pytest.param(stage, minimum, spacing, id=name, marks=marks))
    return cases


@pytest.mark.compiled
@pytest.mark.parametrize(("stage", "minimum", "spacing"), _stage_cases())
def test_every_stage_finds_the_disparities_of_every_valid_range(
    stage, minimum, spacing, pair_and_files
):
    for direction in DIRECTIONS:
        search = search_from(minimum, spacing, direction)
        disparities = ends_and_middle(search.disparities)
        if stage.name == "coarse":
            disparities = ends_and_middle(coarse_disparities(search, distance=2 * search.step))
        textured, files = pair_and_files(search, disparities)
        pipeline = pipeline_with(stage, files)
        if stage.whole_steps and spacing < 1:
            assert_refused(pipeline, textured.pair)
            continue

        estimate = pipeline.estimate(textured.pair)
        assert all(np.isfinite(values).all() for values in estimate.confidence.values())
        if stage.name == "onnx":
            continue  # The network of the test computes no disparities.
        semi_dense = stage.name in SEMI_DENSE
        assert (
            textured.share_within(estimate.disparity, float(spacing) / 2, semi_dense=semi_dense)
            >= 0.99
        )
        assert np.isfinite(estimate.disparity[textured.inner]).mean() >= 0.5


def coarse_disparities(search, distance):
    """Return the multiples of a distance, in pixels, that lie within a range."""
    first = math.ceil(search.minimum / distance - 1e-6)
    last = math.floor(search.maximum / distance + 1e-6)
    return distance * np.arange(first, last + 1)


def assert_refused(pipeline, pair):
    """Check that a pipeline refuses a pair before any of its stages runs."""
    with pytest.raises(
        ParameterError,
        match=r"^search.step: 0\.\d+ pixel is not a whole step, and \w+ \(\w+\) .*; use a step of 1",
    ):
        pipeline.estimate(pair)


@pytest.mark.compiled
@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize(
    ("minimum", "spacing"),
    [(0, 0.5), (0.5, 0.5), (5.5, 0.5), (-2.5, 0.5), (1 / 3, 1 / 3), (0, 0.25)],
)
def test_planes_are_found_in_ranges_narrower_than_a_pixel(minimum, spacing, direction):
    search = SearchRange(minimum, minimum + spacing, spacing, direction)
    # Two levels distinguish less than seven, so the window is larger.
    pipeline = Pipeline(
        [step("ad_census", quantization_steps=100), step("box", size=7), "plane_paths"]
    )
    for disparity in (search.minimum, search.maximum):
        textured = textured_pair(search, [disparity], band=32)
        estimate = pipeline.estimate(textured.pair)
        assert textured.share_within(estimate.disparity, spacing / 2) >= 0.99


# --- methods ------------------------------------------------------------------------------------------------------------

METHODS = sorted(path.stem for path in (package_folder() / "methods").glob("*.yaml"))
OVERRIDES = {
    # A window of 35 pixels would see two bands, and few iterations leave errors of an eighth of a pixel.
    "patch_match": ["matcher.size=7", "matcher.iterations=8", "matcher.gamma=100"],
    # From a high temperature it freezes in a local minimum.
    "sa": ["optimization.start_temperature=50"],
}
"""Values of parameters that suit the small textured pair, if those of a method do not."""

WINDOW_METHODS = {"ssd", "ad_census"}
"""Methods whose windows or supports reach farther than a quarter of a small band."""
SEMI_DENSE_METHODS = {"bm", "csm", "stratified", "cox", "dp", "sgbm"}


def _method_cases():
    """Return all built-in methods with all valid ranges.

    The methods fine and fast on some ranges are fast tests. All other cases are slow
    tests.
    """
    sample = [
        ("fine", Fraction(11, 2), Fraction(1, 2)),
        ("fine", Fraction(1, 3), Fraction(1, 3)),
        ("fast", Fraction(1, 2), Fraction(1, 4)),
    ]
    cases = []
    for name, (minimum, spacing) in itertools.product(METHODS, VALID):
        marks = [] if (name, minimum, spacing) in sample else [pytest.mark.slow]
        cases.append(
            pytest.param(name, minimum, spacing, id=f"{name}, {minimum} by {spacing}", marks=marks)
        )
    return cases


@pytest.mark.compiled
@pytest.mark.parametrize(("name", "minimum", "spacing"), _method_cases())
def test_every_shipped_method_finds_the_disparities_of_every_valid_range(name, minimum, spacing):
    pipeline = load(name, overrides=OVERRIDES.get(name, [])).only.pipeline
    band = 56 if name in WINDOW_METHODS else 24
    for direction in DIRECTIONS:
        search = search_from(minimum, spacing, direction)
        disparities = ends_and_middle(search.disparities)
        tolerance = float(spacing) / 2
        if name == "initial_map":
            # It matches at half the size with a step of a pixel, so that its step is two pixels.
            tolerance = 1.0
            disparities = ends_and_middle(coarse_disparities(search, distance=2))
        textured = textured_pair(search, disparities, band)
        if list(steps_below_a_pixel(pipeline, float(spacing))):
            assert_refused(pipeline, textured.pair)
            continue
        disparity = pipeline.estimate(textured.pair).disparity
        semi_dense = name in SEMI_DENSE_METHODS or name == "initial_map"
        assert textured.share_within(disparity, tolerance, semi_dense=semi_dense) >= 0.99


# --- the user's ranges --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("ends", "spacing", "expected"),
    [
        ((5.5, 59), 1, (5, 59)),
        ((5.5, 59), 0.5, (5.5, 59)),
        ((5.3, 58.6), 0.5, (5, 59)),
        ((0, 59.7), 1, (0, 60)),
        ((-2.5, 4.2), 2, (-3, 5)),
        ((0, 59), 2, (0, 59)),
        ((0.2, 0.4), 1, (0, 1)),
        ((3, 3.25), 0.5, (3, 3.5)),
        ((3, 3.25), 2, (3, 5)),
        ((1 / 3, 2), 1 / 3, (1 / 3, 2)),
        ((np.float32(0.1), np.int64(4)), 0.25, (0, 4)),
    ],
)
def test_the_smallest_valid_range_covers_both_ends(ends, spacing, expected):
    search = SearchRange.covering(*ends, spacing)
    assert (search.minimum, search.maximum, search.step) == (*expected, spacing)
    assert search.levels >= 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((3, 3), "search.maximum: 3 is not above search.minimum, 3"),
        ((math.nan, 3), "search.minimum: nan is not a finite number"),
        ((0, math.inf), "search.maximum: inf is not a finite number"),
        ((0, 3, 0.3), "search.step: 0.3 is neither"),
        ((0, 3, 0), "search.step: 0 is not above 0"),
        ((0, 90_000), "search: 90001 levels; at most"),
    ],
)
def test_ends_that_no_range_covers_are_refused(arguments, message):
    with pytest.raises(ParameterError, match=message):
        SearchRange.covering(*arguments)


def match_cases():
    """Return the methods and ranges that `match` is tried with; few of them are not slow."""
    names = ["window", "sgm", "tiled"]
    cases = []
    for number, (name, (minimum, spacing)) in enumerate(itertools.product(names, RANGES)):
        marks = [] if number % 15 == 4 else [pytest.mark.slow]
        cases.append(
            pytest.param(name, minimum, spacing, id=f"{name}, {minimum} by {spacing}", marks=marks)
        )
    return cases


@pytest.mark.compiled
@pytest.mark.parametrize(("name", "minimum", "spacing"), match_cases())
def test_match_widens_a_range_to_the_grid_of_the_step(name, minimum, spacing):
    ends = float(minimum), float(minimum) + (LEVELS - 1) * float(spacing)
    search = SearchRange.covering(*ends, float(spacing))
    textured = textured_pair(search, ends_and_middle(search.disparities))
    method = {"include": "sgm" if name == "sgm" else "window", "search": {"step": float(spacing)}}
    if name == "tiled":
        method["scheme"] = {"use": "tiles", "tile_size": 32, "overlap": 12, "reduction": 2}

    matched = stereo_framework.match(
        textured.pair.reference, textured.pair.match, ends, method=method
    )
    assert matched.search == search
    assert search.minimum <= ends[0] < ends[1] <= search.maximum
    assert ("widened to the grid of the step" in matched.origin) == (not is_valid(minimum, spacing))
    assert textured.share_within(matched.disparity, float(spacing) / 2) >= 0.99


WHOLE_STEPS = [stage for stage in stages() if stage.whole_steps]


@pytest.mark.parametrize("stage", WHOLE_STEPS, ids=lambda stage: stage.name)
def test_stages_that_need_whole_steps_are_refused_before_anything_is_computed(stage, monkeypatch):
    method = {"search": {"step": 0.5}, stage.slot: stage.name}
    if stage.slot == "optimization":
        method["matching_cost"] = "census"
    reason = rf"0\.5 pixel is not a whole step, and {stage.name} \({stage.slot}\) {stage.whole_steps}; use a step of 1"
    with pytest.raises(ScriptError, match=f"search.step: {reason}"):
        load(method)
    with pytest.raises(ScriptError, match=f"^--set search.step: {reason}"):
        load(method | {"search": {"step": 1}}, overrides=["search.step=0.5"])
    with pytest.raises(ScriptError, match=rf"sweep.grid.search.step\[1\]: {reason}"):
        load(method | {"search": {}, "sweep": {"grid": {"search.step": [1, 0.5]}}})

    whole = load(method | {"search": {}}).only
    monkeypatch.setattr("stereo_framework.user_pair.matching.looked_at", None)
    image = np.zeros((20, 40), np.uint8)
    with pytest.raises(ParameterError, match=f"^search.step: {reason}"):
        stereo_framework.match(image, image, (0, 8, 0.5), method=whole)
    with pytest.raises(ParameterError, match=f"^search.step: {reason}"):
        whole.pipeline(Pair(image, image, SearchRange(0, 8, 0.5)))


def test_a_scheme_may_determine_the_step_of_a_stage():
    method = ["census", "stable_matching"]
    pair = textured_pair(SearchRange(0, 6, 0.5), [2, 4]).pair
    assert np.isfinite(Pipeline([*method, step("coarse", step=1)])(pair).disparity).any()
    with pytest.raises(
        ParameterError,
        match=r"^scheme.coarse.step: 0.5 pixel is not a whole step, and stable_matching \(optimization\)",
    ):
        Pipeline([*method, step("coarse", step=0.5)])(
            dataclasses.replace(pair, search=SearchRange(0, 6))
        )
    inner = Pipeline(method)
    outer = Pipeline(["census", "winner_take_all", step("coarse", step=0.5)], {"first": inner})
    with pytest.raises(
        ParameterError, match=r"^scheme.coarse.step: .* \(auxiliary.first.optimization\)"
    ):
        outer.check_step(1)
    script = {
        "matching_cost": "census",
        "optimization": "stable_matching",
        "scheme": {"use": "coarse", "step": 0.5},
    }
    with pytest.raises(ScriptError, match=r"scheme: step: 0\.5 pixel is not a whole step"):
        load(script)


def test_the_search_range_of_a_scene_is_checked_before_its_runs():
    textured = textured_pair(SearchRange(0.5, 4, 0.5), [1])
    scene = Scene.from_images(
        textured.pair.reference, textured.pair.match, SearchRange(0.5, 4, 0.5)
    )
    script = {"matching_cost": "census", "optimization": "stable_matching"}
    with pytest.raises(
        ScriptError, match=r"scene \S+: search.step: 0\.5 pixel is not a whole step"
    ):
        stereo_framework.run(script, scenes=scene)
    window = {"include": "window", "search": {"step": 1}}
    with pytest.raises(
        ScriptError, match=r"scene \S+: search.minimum: 0\.5 is not a whole number of pixels"
    ):
        stereo_framework.run(window, scenes=scene)


@pytest.mark.parametrize("ends", [(5, 0), (0, 90_000), (0, math.nan)])
def test_match_names_the_argument_of_a_range_that_it_refuses(ends):
    image = np.zeros((20, 40), np.uint8)
    with pytest.raises(ParameterError, match=r"^disparities: "):
        stereo_framework.match(image, image, ends, method="window")


def test_match_refuses_a_method_whose_own_bounds_leave_no_range():
    image = np.zeros((20, 40), np.uint8)
    method = {"include": "window", "search": {"minimum": 20}}
    with pytest.raises(
        ParameterError,
        match="its search range from 20 to 8 is empty, because the method limits 0:8",
    ):
        stereo_framework.match(image, image, (0, 8), method=method)
