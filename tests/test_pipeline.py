import dataclasses
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kernel_inputs import image_pairs, searches

from stereo_framework import (
    Bound,
    CostVolume,
    Energy,
    Labeling,
    Pipeline,
    Scene,
    Search,
    Smoothness,
    StereoFrameworkError,
    _slabs,
    pipeline,
)
from stereo_framework.aggregation import box, min_filter
from stereo_framework.errors import DataError, ParameterError
from stereo_framework.matching_cost import absolute_difference, squared_difference
from stereo_framework.optimization import winner_take_all
from stereo_framework.refinement import parabola
from stereo_framework.scene import Frame
from stereo_framework.stage import NonNegative, Positive, stage
from stereo_framework.volume import Status, restore_outside

local = {"source": "a test", "halo": lambda: 0}
not_local = {"source": "a test"}


def make_scene(reference, match, search=None, **others):
    left, right = Frame("left.png", reference.copy, 0), Frame("right.png", match.copy, 1)
    return Scene("made", (left, right), search=search, **others)


def textured(shift=2, rows=9, columns=20, search=None):
    """A scene with the disparity `shift` everywhere and no intensity twice in a row of pixels: no cost but the right one is 0."""
    texture = np.random.default_rng(3).permuted(np.tile(np.arange(256, dtype=np.uint8), (rows, 1)), axis=1)[:, : columns + shift]
    return make_scene(texture[:, :columns], texture[:, shift:], search or Search(0, 4))


def ramp(shift, search):
    """A scene with the disparity `shift` everywhere, in which wrong disparities are the worse the further they are off."""
    texture = np.tile(np.arange(0, 220, 10, dtype=np.uint8), (9, 1))
    return make_scene(texture[:, :-shift], texture[:, shift:], search)


def in_slabs(height, method, scene, **arguments):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_slabs, "SLAB_ROWS", height)
        return method(scene, **arguments)


def assert_same_match(match, expected):
    for name in ("disparity", "status", "labels"):
        np.testing.assert_array_equal(getattr(match, name), getattr(expected, name), err_msg=name, strict=True)
    assert (match.energy, match.search, match.warnings) == (expected.energy, expected.search, expected.warnings)


# --- slabs ------------------------------------------------------------------------------------------------------------

filters = st.one_of(
    st.builds(lambda s, i: Bound(box, {"size": s, "iterations": i}), st.integers(1, 6), st.integers(1, 3)),
    st.builds(lambda s: Bound(min_filter, {"size": s}), st.integers(1, 6)),
)
costs = st.builds(
    lambda f, t, i: Bound(f, {"truncation": t, "interval": i}),
    st.sampled_from([absolute_difference, squared_difference]),
    st.sampled_from([20, None, 3]),
    st.booleans(),
)
methods = st.builds(
    lambda cost, filters, limits: Pipeline(
        cost, winner_take_all, aggregation=filters, refinement=[Bound(parabola, {"limit": v}) for v in limits]
    ),
    costs,
    st.lists(filters, max_size=3),
    st.lists(st.sampled_from([1.0, 0.5]), max_size=2),
)


def by_hand(method, reference, match, search):
    """Disparity and volume of a method, from its functions alone."""
    volume = method.matching_cost({"reference": reference, "match": match, "search": search})
    for bound in method.aggregation:
        volume = bound({"volume": volume})
    if method.aggregation:
        volume = restore_outside(volume)
    disparity = search.disparities[winner_take_all(Energy(volume)).labels]
    for bound in method.refinement:
        disparity = bound({"disparity": disparity, "volume": volume})
    return disparity, volume


@settings(max_examples=60, deadline=None)
@given(
    method=methods,
    images=image_pairs([np.uint8]),
    repeat=st.sampled_from([3, 1]),
    search=searches(),
    height=st.integers(1, 5),
)
def test_slabs_give_what_the_functions_give_on_the_whole(method, images, repeat, search, height):
    reference, match = (np.concatenate([np.roll(image, i, axis=0) for i in range(repeat)]) for image in images)
    scene = make_scene(reference, match, search)
    search = scene.search
    disparity, volume = by_hand(method, reference, match, search)
    result = in_slabs(height, method, scene)
    np.testing.assert_array_equal(result.disparity, disparity, strict=True)
    assert result.volume is None
    whole = in_slabs(1000, method, scene, keep_volume=True)
    partly = in_slabs(height, method, scene, keep_volume=True)
    for kept in (whole, partly):
        assert_same_match(kept, result)
        np.testing.assert_array_equal(kept.volume.costs, volume.costs, strict=True)
    assert result.energy == pytest.approx(Energy(volume).of(result.labels))


@settings(max_examples=20, deadline=None)
@given(
    method=methods,
    images=image_pairs([np.uint8]),
    search=searches(),
)
def test_exchanged_pair_runs_in_the_other_direction(method, images, search):
    scene = make_scene(*images, search)
    exchanged = scene.pair(1, 0)
    expected, _ = by_hand(method, images[1], images[0], dataclasses.replace(search, direction=-1))
    result = method(exchanged)
    assert result.search.direction == -1
    np.testing.assert_array_equal(result.disparity, expected)


@pytest.mark.parametrize(("slab_bytes", "rows"), [(2**30, 2 + 4), (100, 1 + 4)])
def test_volumes_of_local_chains_never_exist_whole(registry, monkeypatch, slab_bytes, rows):
    heights = []

    @stage("aggregation", **local)
    def spy(volume):
        heights.append(volume.costs.shape[0])
        return dataclasses.replace(volume, costs=volume.costs.copy())

    # Slabs that would be too large are halved.
    monkeypatch.setattr(_slabs, "_SLAB_BYTES", slab_bytes)
    method = Pipeline(absolute_difference, winner_take_all, aggregation=[spy, Bound(box, {"size": 5})])
    in_slabs(2, method, textured(rows=12))
    assert max(heights) == rows
    heights.clear()
    in_slabs(100, method, textured(rows=12))
    assert heights[-1] == 12


def test_stages_without_a_halo_see_the_whole(registry):
    @stage("aggregation", **not_local)
    def normalize(volume, *, offset: float = 0.0):
        return dataclasses.replace(volume, costs=volume.costs - volume.costs.mean(axis=(0, 1)) + np.float32(offset))

    @stage("refinement", **not_local)
    def centre(disparity):
        return disparity - np.float32(np.mean(disparity))

    method = Pipeline(
        absolute_difference,
        winner_take_all,
        aggregation=[Bound(box, {"size": 3}), Bound(normalize, {"offset": 2}), Bound(min_filter, {"size": 4})],
        refinement=[parabola, centre],
    )
    scene = textured()
    disparity, volume = by_hand(dataclasses.replace(method, refinement=[parabola]), scene.reference, scene.match, scene.search)
    for height in (1, 4, 100):
        result = in_slabs(height, method, scene, keep_volume=True)
        np.testing.assert_array_equal(result.disparity, centre(disparity))
        np.testing.assert_array_equal(result.volume.costs, volume.costs)
        assert_same_match(in_slabs(height, method, scene), result)


def test_global_optimizers_report_what_they_know(registry):
    @stage("optimization", **not_local)
    def guess(energy, volume):
        assert volume is energy.volume
        assert volume.costs.shape[0] == 9
        zeros = np.zeros(volume.costs.shape[:2], np.int16)
        return Labeling(zeros, volume.costs[..., 0], trace=((0.5, 9.0),), lower_bound=-1.0, objective=7.0)

    result = in_slabs(2, Pipeline(absolute_difference, guess), textured())
    assert (result.trace, result.lower_bound, result.objective) == (((0.5, 9.0),), -1.0, 7.0)
    assert (result.labels == 0).all()
    plain = Pipeline(absolute_difference, winner_take_all)(textured())
    assert (plain.trace, plain.lower_bound, plain.objective) == ((), None, None)


# --- what stages may name ---------------------------------------------------------------------------------------------


@pytest.fixture
def cross_check(registry):
    @stage("refinement", source="a test")
    def cross_check(disparity, other, search, *, tolerance: NonNegative = 0.5):
        """Keep what the match frame's own disparity confirms."""
        checked = disparity.copy()
        for y, x in np.ndindex(disparity.shape):
            target = x - search.direction * round(float(disparity[y, x]))
            if not 0 <= target < disparity.shape[1] or abs(other.disparity[y, target] - disparity[y, x]) > tolerance:
                checked[y, x] = np.nan
        return checked

    return cross_check


@pytest.mark.parametrize("height", [2, 100])
@pytest.mark.parametrize(("pair", "hidden"), [((0, 1), slice(None, 2)), ((1, 0), slice(-2, None))])
def test_left_right_check(cross_check, pair, hidden, height):
    scene = textured(shift=2).pair(*pair)
    result = in_slabs(height, Pipeline(absolute_difference, winner_take_all, refinement=cross_check), scene)
    expected = np.full(scene.reference.shape, 2, np.float32)
    # Two columns are seen in one frame only.
    expected[:, hidden] = np.nan
    np.testing.assert_array_equal(result.disparity, expected)
    np.testing.assert_array_equal(result.status, np.where(np.isnan(expected), Status.MISMATCHED, Status.MATCHED))
    assert not np.isnan(Pipeline(absolute_difference, winner_take_all)(scene).disparity).any()


@pytest.mark.parametrize("height", [2, 100])
def test_other_is_the_exchanged_pair_so_far(registry, height):
    seen = []

    @stage("refinement", **local)
    def add(disparity, *, amount: float = 10.0):
        return disparity + np.float32(amount)

    # What names the other match sees the whole, halo or not.
    @stage("refinement", **local)
    def look(disparity, other, volume):
        assert disparity.shape == other.disparity.shape == volume.costs.shape[:2]
        seen.append(other)
        return disparity

    scene = textured(search=Search(-1, 4, 0.5))
    method = Pipeline(absolute_difference, winner_take_all, aggregation=box, refinement=[look, add, look])
    result = in_slabs(height, method, scene)
    plain = Pipeline(absolute_difference, winner_take_all, aggregation=box)
    expected = plain(scene.pair(1, 0), keep_volume=True)
    # The second look's exchanged pair takes the first look as well.
    assert len(seen) == 3
    np.testing.assert_array_equal(seen[0].disparity, expected.disparity)
    np.testing.assert_array_equal(seen[-1].disparity, expected.disparity + 10)
    for other in seen[0], seen[-1]:
        assert other.search == Search(-1, 4, 0.5, -1)
        assert other.status.shape == other.disparity.shape
        np.testing.assert_array_equal(other.volume.costs, expected.volume.costs)
    np.testing.assert_array_equal(result.disparity, plain(scene).disparity + 10)


def test_what_is_not_named_is_not_computed(registry):
    calls = []

    @stage("matching_cost", **local)
    def count(reference, match, search):
        calls.append(search.direction)
        return absolute_difference(reference, match, search)

    Pipeline(count, winner_take_all, refinement=parabola)(textured())
    assert calls == [1]


@pytest.mark.parametrize("height", [2, 100])
def test_raw_is_the_volume_before_aggregation(registry, height):
    seen = {}

    @stage("refinement", **local)
    def costs_of(disparity, volume, raw, reference, match):
        seen.setdefault("raw", []).append(raw.costs)
        assert raw.costs.shape[0] == volume.costs.shape[0] == reference.shape[0] == match.shape[0] == disparity.shape[0]
        return disparity

    @stage("aggregation", **local)
    def keep(volume):
        # Not the same object, but the same costs, of which the pipeline then resets some.
        return dataclasses.replace(volume)

    @stage("aggregation", **local)
    def add_raw(volume, raw):
        return dataclasses.replace(volume, costs=volume.costs + raw.costs)

    scene = textured(search=Search(0, 3, 0.5))
    original = absolute_difference(scene.reference, scene.match, scene.search)
    for aggregation, expected in (
        ([Bound(box, {"size": 3})], box(original, size=3)),
        ([], None),
        ([keep], original),
        ([Bound(box, {"size": 3}), add_raw], CostVolume(box(original, size=3).costs + original.costs, scene.search, 255.0)),
    ):
        seen.clear()
        method = Pipeline(absolute_difference, winner_take_all, aggregation=aggregation, refinement=costs_of)
        result = in_slabs(height, method, scene, keep_volume=True)
        np.testing.assert_array_equal(np.concatenate(seen["raw"]), original.costs)
        expected = restore_outside(expected).costs if expected else original.costs
        np.testing.assert_array_equal(result.volume.costs, expected)
        seen.clear()
        in_slabs(height, method, scene)
        np.testing.assert_array_equal(np.concatenate(seen["raw"]), original.costs)


@pytest.mark.parametrize("height", [2, 100])
def test_refinements_see_the_volume_that_the_optimizer_returns(registry, height):
    @stage("optimization", **local)
    def doubling(energy):
        labeling = winner_take_all(energy)
        doubled = dataclasses.replace(energy.volume, costs=2 * energy.volume.costs)
        return dataclasses.replace(labeling, volume=doubled)

    @stage("refinement", **local)
    def cost_at_level_1(disparity, volume):
        return volume.costs[..., 1]

    scene = textured()
    expected = absolute_difference(scene.reference, scene.match, scene.search).costs
    result = in_slabs(height, Pipeline(absolute_difference, doubling, refinement=cost_at_level_1), scene)
    np.testing.assert_array_equal(result.disparity, 2 * expected[..., 1])
    # The energy is that of the stage's input all the same.
    assert result.energy == pytest.approx(expected.min(axis=2).sum(dtype=float))
    kept = in_slabs(height, Pipeline(absolute_difference, doubling), scene, keep_volume=True)
    np.testing.assert_array_equal(kept.volume.costs, 2 * expected)


@pytest.mark.parametrize("height", [2, 100])
def test_status_keeps_the_books(registry, height):
    @stage("optimization", **local)
    def leaves_first_columns(energy):
        labeling = winner_take_all(energy)
        labeling.labels[:, :3] = -1
        labeling.costs[:, :3] = 0
        return labeling

    @stage("refinement", **local)
    def forget(disparity):
        disparity = disparity.copy()
        disparity[:, 2:6] = np.nan
        return disparity

    @stage("refinement", **local)
    def fill(disparity):
        disparity = disparity.copy()
        disparity[:, 1:5] = 1
        return disparity

    @stage("refinement", **local)
    def doubt_filled(disparity, status):
        return disparity, np.where(status == Status.FILLED, Status.OCCLUDED, status).astype(np.uint8)

    matched, occluded, mismatched, filled = Status
    scene = textured(columns=7)
    for refinement, columns in (
        ([], [occluded] * 3 + [matched] * 4),
        ([forget], [occluded] * 3 + [mismatched] * 3 + [matched]),
        ([forget, fill], [occluded] + [filled] * 4 + [mismatched] + [matched]),
        ([forget, fill, doubt_filled], [occluded] * 5 + [mismatched] + [matched]),
        ([fill], [occluded] + [filled] * 2 + [matched] * 4),
    ):
        result = in_slabs(height, Pipeline(absolute_difference, leaves_first_columns, refinement=refinement), scene)
        np.testing.assert_array_equal(result.status, np.tile(np.uint8(columns), (9, 1)), strict=True)
    assert np.isnan(Pipeline(absolute_difference, leaves_first_columns)(scene).disparity[:, :3]).all()


def test_preprocessing_gets_both_images_and_changes_what_others_see(registry):
    seen = []

    @stage("preprocessing", **local)
    def invert(image):
        return 255 - image

    @stage("preprocessing", **local)
    def halve(image):
        return image // 2

    @stage("refinement", **local)
    def look(disparity, reference, match):
        seen.append((reference, match))
        return disparity

    scene = textured()
    Pipeline(absolute_difference, winner_take_all, preprocessing=[invert, halve], refinement=look)(scene)
    np.testing.assert_array_equal(seen[0][0], (255 - scene.reference) // 2)
    np.testing.assert_array_equal(seen[0][1], (255 - scene.match) // 2)


@pytest.mark.parametrize("height", [2, 100])
def test_smoothness_enters_the_energy(registry, height):
    @stage("smoothness", **local)
    def steps(reference, search, *, weight: Positive = 1.0):
        right = np.full(reference.shape, weight, np.float32)
        down = np.full(reference.shape, 2 * weight, np.float32)
        right[:, -1] = down[-1] = 0
        return Smoothness(right, down, np.arange(search.levels, dtype=np.float32))

    @stage("optimization", **local)
    def with_gaps(energy):
        assert energy.smoothness.right.shape == energy.smoothness.down.shape == energy.volume.costs.shape[:2]
        labeling = winner_take_all(energy)
        labeling.labels[:, 4:6] = -1
        labeling.costs[:, 4:6] = 0
        return labeling

    scene = textured()
    volume = absolute_difference(scene.reference, scene.match, scene.search)
    data = Pipeline(absolute_difference, with_gaps, smoothness=Bound(steps, {"weight": 1}))
    energies = []
    for weight in (1, 5):
        method = dataclasses.replace(data, smoothness=Bound(steps, {"weight": weight}))
        result = in_slabs(height, method, scene)
        expected = Energy(volume, steps(scene.reference, scene.search, weight=weight)).of(result.labels)
        assert result.energy == pytest.approx(expected, rel=1e-12)
        energies.append(result.energy)
    assert energies[0] < energies[1]


# --- what users see ---------------------------------------------------------------------------------------------------


def test_no_warning_where_all_is_well():
    assert Pipeline(absolute_difference, winner_take_all, aggregation=box)(textured()).warnings == ()


@pytest.mark.parametrize(
    ("scene", "message"),
    [
        (
            ramp(2, Search(-4, -1)),
            "^95 % of the pixels chose the upper end of the search range, -1: is the range or its sign wrong",
        ),
        (ramp(2, Search(-4, -1)).pair(1, 0), "^95 % of the pixels chose the upper end of the search range, -1:"),
        (textured(shift=5, search=Search(0, 5)), r"^\d+ % of the pixels chose the upper end of the search range, 5:"),
        (textured(shift=1, search=Search(1, 6)), r"^\d+ % of the pixels chose the lower end of the search range, 1:"),
        (textured(shift=1, search=Search(1, 3, 0.5)), r"chose the lower end of the search range, 1:"),
    ],
)
def test_winners_at_the_ends_of_the_range_warn(scene, message):
    [warning] = Pipeline(absolute_difference, winner_take_all)(scene).warnings
    assert re.search(message, warning)


def test_a_map_without_estimates_warns(registry):
    @stage("refinement", **local)
    def forget(disparity):
        return np.full_like(disparity, np.nan)

    result = Pipeline(absolute_difference, winner_take_all, refinement=forget)(textured())
    assert result.warnings == ("the result holds no estimate at all",)


def test_range_is_the_scenes_or_the_callers():
    scene = textured()
    method = Pipeline(absolute_difference, winner_take_all)
    assert method(scene).search == Search(0, 4)
    # The direction is the scene's in any case.
    assert method(scene, Search(1, 3, 0.5, -1)).search == Search(1, 3, 0.5, 1)
    with pytest.raises(
        DataError, match=r"scene made: no search range; give one \(search: {minimum, maximum} or --disparities A:B\)"
    ):
        method(make_scene(scene.reference, scene.match))


def test_images_of_different_size_are_refused():
    scene = make_scene(np.zeros((2, 3), np.uint8), np.zeros((2, 4), np.uint8), Search(0, 1))
    with pytest.raises(DataError, match=r"left.png is 3x2 and right.png is 4x2; both images must be of one size"):
        Pipeline(absolute_difference, winner_take_all)(scene)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"matching_cost": box}, "^matching_cost: box is a stage of aggregation$"),
        ({"optimization": parabola}, "^optimization: parabola is a stage of refinement$"),
        ({"aggregation": [box, parabola]}, "^aggregation: parabola is a stage of refinement$"),
        ({"refinement": winner_take_all}, "^refinement: winner_take_all is a stage of optimization$"),
        ({"smoothness": Bound(box)}, "^smoothness: box is a stage of aggregation$"),
        ({"optimization": None}, "^None: not a stage; register it"),
        ({"aggregation": [len]}, "^len: not a stage; register it"),
    ],
)
def test_stages_in_a_wrong_slot_are_refused(arguments, message):
    with pytest.raises(ParameterError, match=message):
        Pipeline(**{"matching_cost": absolute_difference, "optimization": winner_take_all, **arguments})


def test_pipelines_print_compare_and_list_their_stages():
    method = Pipeline(
        absolute_difference, winner_take_all, aggregation=[box, min_filter, Bound(box, {"size": 3})], refinement=parabola
    )
    addresses = [address for address, _ in method.stages()]
    assert addresses == [
        "matching_cost",
        "aggregation.0",
        "aggregation.min_filter",
        "aggregation.2",
        "optimization",
        "refinement.parabola",
    ]
    assert str(Pipeline(absolute_difference, winner_take_all, aggregation=box)) == (
        "absolute_difference(truncation=None, interval=False, interpolation='cubic') > box(size=9, iterations=1) > winner_take_all()"
    )
    assert method == dataclasses.replace(method)
    assert len({method, dataclasses.replace(method), dataclasses.replace(method, refinement=())}) == 2


def test_seconds_are_kept_by_address():
    method = Pipeline(absolute_difference, winner_take_all, aggregation=box, refinement=parabola)
    for result in (in_slabs(2, method, textured()), in_slabs(2, method, textured(), keep_volume=True)):
        assert list(result.seconds) == [
            "matching_cost",
            "aggregation.box",
            "restore_outside",
            "optimization",
            "refinement.parabola",
        ]
        assert min(result.seconds.values()) > 0


def test_volumes_that_do_not_fit_are_refused(registry, monkeypatch):
    @stage("optimization", **not_local)
    def everything(energy):
        return winner_take_all(energy)

    # Three volumes of 9 x 20 x 5 float32 cells.
    monkeypatch.setattr(pipeline, "free_memory", lambda: 3 * 4 * 900 - 1)
    method = Pipeline(absolute_difference, everything)
    with pytest.raises(
        StereoFrameworkError,
        match=r"^everything needs about 0.0 GiB for 20x9 pixels and 5 levels; 0.0 GiB are free; use fewer levels or smaller images$",
    ):
        method(textured())
    # A slab is read and another one written while the volume that is kept is put together.
    monkeypatch.setattr(pipeline, "free_memory", lambda: 4 * 900 + 2 * 4 * 200 - 1)
    with pytest.raises(StereoFrameworkError, match="winner_take_all needs about"):
        in_slabs(2, Pipeline(absolute_difference, winner_take_all), textured(), keep_volume=True)
    # In slabs it fits.
    Pipeline(absolute_difference, winner_take_all, aggregation=box)(textured())
    for free in (3 * 4 * 900, None):
        monkeypatch.setattr(pipeline, "free_memory", lambda free=free: free)
        method(textured())


def test_memory_errors_name_the_stage(registry):
    @stage("aggregation", **local)
    def hungry(volume):
        raise MemoryError("Unable to allocate 1 TiB")

    with pytest.raises(StereoFrameworkError, match=r"^aggregation.hungry: out of memory \(Unable to allocate 1 TiB\)$"):
        Pipeline(absolute_difference, winner_take_all, aggregation=hungry)(textured())


def test_errors_of_stages_reach_the_caller(registry):
    @stage("refinement", **local)
    def breaks(disparity):
        raise ZeroDivisionError("in a stage")

    with pytest.raises(ZeroDivisionError, match="in a stage"):
        Pipeline(absolute_difference, winner_take_all, refinement=breaks)(textured())
