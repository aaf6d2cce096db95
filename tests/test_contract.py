"""What every registered stage keeps to, whoever wrote it."""

import dataclasses
import inspect
import re

import numpy as np
import pytest
from contract_world import (
    COLUMNS,
    ROWS,
    arrays,
    assert_map,
    assert_same,
    assert_status,
    documented,
    every_array,
    mirrored,
    rows_of,
    world_of,
)
from kernel_inputs import in_threads
from networks import write_network

import stereo_framework.engine.pipeline  # noqa: F401  registers the stages
from stereo_framework import Estimate, SearchRange, step
from stereo_framework.core.call_context import storing_results
from stereo_framework.core.errors import DataError, ParameterError, StereoFrameworkError
from stereo_framework.core.pair import Pair
from stereo_framework.core.registration import stages
from stereo_framework.core.slots import SLOTS
from stereo_framework.core.view import BothSides
from stereo_framework.core.volume import INTEGERS, SearchMask
from stereo_framework.io import write_disparity
from stereo_framework.matching_cost import squared_difference
from stereo_framework.optimization import winner_take_all

STAGES = [pytest.param(stage, id=f"{stage.slot}.{stage.name}") for stage in stages()]
every_stage = pytest.mark.parametrize("stage", STAGES)
both_kinds = pytest.mark.parametrize("kind", ["grey uint8", "colour float32"])


@pytest.fixture(scope="module")
def worlds():
    """Per kind of image, an instance of everything that a stage may name, all of one small textured pair with two surfaces."""
    return {kind: world_of(kind) for kind in ("grey uint8", "colour float32")}


def call(stage, world):
    """Call a stage directly, as research code does."""
    return stage.public(
        **{name: world[name] for name in stage.data}, **FROM_OUTSIDE.get(stage.name, {})
    )


def run(stage, world):
    return step(stage.function, **FROM_OUTSIDE.get(stage.name, {}))(
        {name: world[name] for name in stage.data}
    )


FROM_OUTSIDE = {}
"""What matchers from outside are given instead of their defaults, which name no program, model or map."""


@pytest.fixture(scope="module", autouse=True)
def _from_outside(tmp_path_factory):
    """A program, a function, a network and a map that fit the world."""
    folder = tmp_path_factory.mktemp("outside")
    zeros = np.zeros((ROWS, COLUMNS), np.float32)
    write_disparity(folder / "made.pfm", zeros)
    (folder / "theirs.py").write_text(
        "def match(left, right, minimum, maximum):\n    return left.reshape(*left.shape[:2], -1)[..., 0] / 50\n"
    )
    write_network(folder / "net.onnx")
    FROM_OUTSIDE["maps"] = {"path": str(folder)}
    FROM_OUTSIDE["command"] = {"command_line": f"cp {folder / 'made.pfm'} {{output}}"}
    FROM_OUTSIDE["python"] = {"function": f"{folder / 'theirs.py'}:match"}
    FROM_OUTSIDE["onnx"] = {"model": str(folder / "net.onnx")}
    yield
    FROM_OUTSIDE.clear()


def test_the_world_holds_all_that_stages_may_name(worlds):
    named = {
        name
        for slot in SLOTS.values()
        for name in (*slot.may_name, *(name for first in slot.must_name for name in first))
    }
    assert named <= worlds["grey uint8"].keys()


@every_stage
def test_has_a_source(stage):
    assert re.search(r"[A-Z]\w+.* (19|20)\d\d", stage.source), "no author and year"


@every_stage
def test_tells_its_use_and_its_parameters(stage):
    summary, _, rest = inspect.getdoc(stage.function).partition("\n")
    assert summary.endswith("."), "the first line is no sentence"
    assert rest.startswith("\n"), "the summary is longer than a line"
    assert step(stage.function).parameters == {
        name: parameter.default for name, parameter in stage.parameters.items()
    }
    found = documented(stage.function)
    assert set(found) == set(inspect.signature(stage.function).parameters)
    for name in stage.parameters:
        kind, text = found[name]
        assert kind, f"{name} has no type"
        assert len(text.split()) >= 3, f"{name}: neither a unit nor a meaning"
        # What is said after the first sentence or clause is about something else.
        first = re.split(r"[.;:] ", " ".join(text.split()))[0]
        told = re.search(
            r"\bin (pixels|(?:squared )?grey levels|levels|passes|units of the (?:matching )?cost)\b",
            first,
        )
        assert not told or stage.unit(name).startswith(told[1]), (
            f"{name}: Annotated[..., Unit({told[1]!r})]"
        )


@every_stage
@both_kinds
def test_keeps_shape_and_type_and_leaves_its_inputs_unchanged(stage, kind, worlds):
    world = worlds[kind]
    # The arrays are read-only; the copies catch who gets around that.
    before = {name: array.copy() for name, array in arrays(world)}
    result = run(stage, world)
    for name, array in arrays(world):
        np.testing.assert_array_equal(array, before[name], err_msg=name, strict=True)
    if stage.slot == "aggregation":
        # The pipeline resets cells of the result in place.
        assert not np.may_share_memory(result.costs, world["volume"].costs)
    shape, levels = (ROWS, COLUMNS), world["search"].levels
    if stage.slot == "preprocessing":
        for image in result if stage.data[0] == "reference" else [result]:
            assert (image.shape, image.dtype) == (world["image"].shape, world["image"].dtype)
    elif stage.slot in ("matching_cost", "aggregation"):
        assert result.costs.shape == (*shape, levels)
        # Integers are for those that say so; of float costs they make float costs.
        allowed = (
            (np.float32, *INTEGERS)
            if stage.integer and stage.slot == "matching_cost"
            else (np.float32,)
        )
        assert result.costs.dtype in allowed
        assert result.costs.flags.c_contiguous
        assert result.search == world["search"]
        assert np.isfinite(result.outside_cost)
        assert np.isfinite(result.costs).all()
    elif stage.slot == "smoothness":
        for weights in (result.right, result.down):
            assert (weights.shape, weights.dtype) == (shape, np.float32)
            assert (weights >= 0).all()
        assert (result.right[:, -1] == 0).all()
        assert (result.down[-1] == 0).all()
        assert (result.rho.shape, result.rho.dtype, result.rho[0]) == ((levels,), np.float32, 0)
    elif stage.slot == "optimization" and "other" in stage.data:
        for disparity in result:
            assert_map(disparity, shape)
    elif stage.slot == "optimization":
        assert (result.levels.shape, result.levels.dtype) == (shape, np.int16)
        assert (result.costs.shape, result.costs.dtype) == (shape, np.float32)
        assert ((result.levels >= -1) & (result.levels < levels)).all()
        chosen = np.take_along_axis(
            world["volume"].costs, np.maximum(result.levels, 0)[..., None].astype(int), axis=2
        )[..., 0]
        np.testing.assert_array_equal(result.costs, np.where(result.levels < 0, 0, chosen))
    elif stage.slot == "confidence":
        assert (result.shape, result.dtype) == (shape, np.float32)
        assert np.isfinite(result).all()
    elif stage.slot == "scheme":
        assert isinstance(result, Estimate)
        assert_map(result.disparity, shape)
        assert_status(result.status, shape)
        assert result.search == world["search"]
    else:
        for view in result if isinstance(result, BothSides) else [result]:
            disparity, *others = view if isinstance(view, tuple) else [view]
            assert_map(disparity, shape)
            for status in others[:1]:
                assert_status(status, shape)
            for confidence in others[1:]:
                assert stage.slot == "matcher"
                assert (confidence.shape, confidence.dtype) == (shape, np.float32)
                assert np.isfinite(confidence).all()


INTEGER_STAGES = [p for p in STAGES if p.values[0].integer and {"volume"} & set(p.values[0].data)]
every_integer = pytest.mark.parametrize("dtype", INTEGERS, ids=lambda dtype: dtype.__name__)


@every_integer
@pytest.mark.parametrize("stage", INTEGER_STAGES)
def test_integer_stages_never_wrap(stage, dtype, worlds):
    """On integer costs a stage gives integers or, when those would not do, float32; never another result than on the same numbers."""
    world = worlds["grey uint8"]
    # 65535 itself marks cells that a mask closes.
    highest = min(np.iinfo(dtype).max, 65534)
    volume = world["volume"]
    whole = np.minimum(volume.costs, highest).astype(dtype)
    # The largest costs of all, so that sums would wrap.
    whole[2, 5], whole[7, 9:12] = highest, highest
    integer = dataclasses.replace(volume, costs=whole, outside_cost=255.0)
    found, expected = (
        run(stage, world | {"volume": given, "raw": given}) for given in (integer, integer.floats())
    )
    if stage.slot == "aggregation":
        assert found.costs.dtype in (np.float32, *INTEGERS)
        # What is rounded to integers is off by half of one at most.
        np.testing.assert_allclose(found.costs, expected.costs, atol=0.5)
        assert found.outside_cost == pytest.approx(expected.outside_cost)
    elif stage.slot == "optimization" and "other" not in stage.data:
        np.testing.assert_array_equal(found.levels, expected.levels)
        np.testing.assert_allclose(found.costs, expected.costs)
    elif stage.slot == "confidence":
        # Sums of float32 over the levels, in the order that the compiler chooses for the processor: a few units of their last place.
        np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-6)
    else:
        assert_same(found, expected)


TAKES_FLOATS = [
    p for p in STAGES if {"volume", "raw"} & set(p.values[0].data) and not p.values[0].integer
]


@pytest.mark.parametrize("stage", TAKES_FLOATS)
def test_takes_integer_costs_as_the_numbers_that_they_are(stage, worlds):
    world = worlds["grey uint8"]
    whole = dataclasses.replace(world["volume"], costs=np.rint(world["volume"].costs))
    narrow = dataclasses.replace(whole, costs=whole.costs.astype(np.uint16))
    found, expected = (
        call(stage, world | {"volume": volume, "raw": volume}) for volume in (narrow, whole)
    )
    assert_same(found, expected)


FORMS = {
    "in the order of Fortran": np.asfortranarray,
    "cropped": lambda array: np.pad(array, [(1, 2), (3, 1), *[(0, 0)] * (array.ndim - 2)])[
        1:-2, 3:-1
    ],
    "reversed": lambda array: np.ascontiguousarray(array[:, ::-1])[:, ::-1],
    "float64": lambda array: array.astype(np.float64) if array.dtype == np.float32 else array,
}
"""Forms in which people have their arrays."""


@every_stage
def test_arrays_in_any_form_are_taken(stage, worlds):
    world = worlds["colour float32"]
    expected = call(stage, world)
    for form, change in FORMS.items():
        changed = {
            name: every_array(world[name], change)
            for name in stage.data
            if name not in ("scene", "pair", "solve")
        }
        assert_same(call(stage, world | changed), expected), form


CHANGES = {
    "narrow": lambda array: np.ascontiguousarray(array[:, :-5]),
    "wide": lambda array: np.concatenate([array, array], axis=1),
    "low": lambda array: array[:-3].copy(),
    # Whole numbers are taken where float32 or uint8 holds each of them exactly.
    "integer": lambda array: np.nan_to_num(array).astype(np.int32) + 2**26,
}
"""What may be wrong with an array that somebody hands to a stage directly."""


@every_stage
def test_refuses_data_of_other_sizes_and_types_before_a_kernel_reads_them(stage, worlds):
    full = SearchMask(
        *(np.ones((ROWS, COLUMNS), bool) for _ in range(2)), np.zeros((ROWS, COLUMNS), np.float32)
    )
    world = worlds["grey uint8"] | {"mask": full}
    world["partial"] = world["volume"]
    sized = [
        name
        for name in stage.data
        if any(True for _ in arrays(world[name])) and name not in ("scene", "pair", "solve")
    ]
    changed = 0
    for name in sized:
        for how, change in CHANGES.items():
            # A lone image, map or volume may have any size, and search_masks check their types themselves.
            if (len(sized) == 1 and how != "integer") or (name == "mask" and how == "integer"):
                continue
            with pytest.raises(StereoFrameworkError, match=rf"^{stage.name}: .* (fits|expected) "):
                call(stage, world | {name: every_array(world[name], change)})
            changed += 1
    assert changed or stage.slot == "scheme"


NUMBERS = {"NaN": np.nan, "infinity": np.inf, "minus infinity": -np.inf, "a huge intensity": 1e28}
"""Numbers that no image and no cost may hold, by their names in the ids of tests."""

FINITE = (
    "image",
    "reference",
    "match",
    "corrected",
    "volume",
    "raw",
    "smoothness",
    "disparity",
    "other",
    "auxiliary",
    "confidence",
)
"""Data that hold numbers."""


def holding(number):
    """Return a change that puts a number into the middle of an array of floats."""

    def change(array):
        if array.dtype.kind != "f":
            return array
        changed = array.copy()
        changed.reshape(-1)[array.size // 2] = number
        return changed

    return change


def forbids(name, number):
    """Return whether data of a name must not hold a number."""
    if np.isfinite(number):
        return name in ("image", "reference", "match", "corrected")
    # NaN is a disparity that is not known, also in the maps of views.
    return not (np.isnan(number) and name == "disparity")


@every_stage
@pytest.mark.parametrize("number", NUMBERS.values(), ids=NUMBERS.keys())
def test_direct_calls_refuse_numbers_that_kernels_would_spread(stage, number, worlds):
    world = worlds["colour float32"]
    for name in {*stage.data}.intersection(FINITE):
        if not forbids(name, number):
            continue
        changed = world | {name: every_array(world[name], holding(number))}
        # Some functions refuse their smoothness term themselves.
        with pytest.raises(
            StereoFrameworkError,
            match=rf"^{stage.name}: .*(expected (an? )?(finite|intensities)|all must be finite)",
        ):
            call(stage, changed)


@pytest.mark.parametrize("stage", [p for p in STAGES if "mask" in p.values[0].data])
def test_direct_calls_take_masks_whose_limits_are_not_known_everywhere(stage, worlds):
    world = worlds["grey uint8"]
    low = np.zeros((ROWS, COLUMNS), np.float32)
    low[2:5] = np.nan
    mask = SearchMask(low=low, high=low + 5)
    call(stage, world | {"mask": mask})


@pytest.mark.parametrize("number", [np.nan, np.inf, 1e28])
def test_direct_calls_and_pairs_name_what_they_refuse(number, worlds):
    world = worlds["colour float32"]
    image = holding(number)(world["reference"])
    with pytest.raises(
        DataError,
        match=r"^squared_difference: reference has .* expected (finite )?intensities in 0..255",
    ):
        squared_difference(image, world["match"], (0, 5))
    with pytest.raises(
        DataError, match=r"^pair: the match image has .* expected (finite )?intensities in 0..255"
    ):
        Pair(world["reference"], image, SearchRange(0, 5))


def test_direct_calls_refuse_costs_that_are_not_finite(worlds):
    volume = worlds["grey uint8"]["volume"]
    for given in (
        holding(np.nan)(volume.costs),
        dataclasses.replace(volume, costs=holding(np.inf)(volume.costs)),
    ):
        with pytest.raises(
            DataError,
            match=r"^winner_take_all: volume.costs has NaN or infinite costs \(values: 1\); expected finite costs",
        ):
            winner_take_all(given)
    with pytest.raises(
        DataError, match=r"^winner_take_all: volume.outside_cost is nan; expected a finite cost"
    ):
        winner_take_all(dataclasses.replace(volume, outside_cost=np.nan))


@every_stage
def test_refuses_data_of_another_kind(stage, worlds):
    world = worlds["grey uint8"]
    for name in {*stage.data} - {"solve", "scene"}:
        with pytest.raises(
            ParameterError, match=rf"^{stage.name}: {name} is 'nothing of the kind'; expected "
        ):
            call(stage, world | {name: "nothing of the kind"})


TAKES_VOLUMES = [p for p in STAGES if {"volume", "raw"} & set(p.values[0].data)]


@pytest.mark.parametrize("stage", TAKES_VOLUMES)
def test_refuses_volumes_that_do_not_hold_the_levels_of_their_search(stage, worlds):
    world = worlds["grey uint8"]
    few = dataclasses.replace(world["volume"], costs=world["volume"].costs[..., :4].copy())
    with pytest.raises(
        DataError,
        match=rf"^{stage.name}: \w+.costs has 4 levels; expected 6 levels for the search range",
    ):
        call(stage, world | {"volume": few, "raw": few})


@every_stage
@both_kinds
def test_threads_do_not_change_the_result(stage, kind, worlds):
    with in_threads(1):
        expected = run(stage, worlds[kind])
    with in_threads(2):
        assert_same(run(stage, worlds[kind]), expected)
    assert_same(run(stage, worlds[kind]), expected)


@both_kinds
@pytest.mark.parametrize("stage", [p for p in STAGES if p.values[0].resume])
@pytest.mark.parametrize(("few", "many"), [(1, 2), (2, 5), (7, 8)])
def test_continued_stages_give_the_same_as_at_once(stage, kind, worlds, few, many):
    def after(count, **others):
        return step(stage.function, **{stage.resume: count})(worlds[kind] | others)

    partial = after(few)
    partial.costs.flags.writeable = False
    assert_same(after(many - few, partial=partial), after(many))
    # Not by doing nothing.
    assert (partial.costs != after(many).costs).any()


SMALL = {"size": 2, "iterations": 2, "length": 2, "width": 3, "height": 3}


@both_kinds
@pytest.mark.parametrize("stage", [p for p in STAGES if p.values[0].halo])
def test_local_stages_give_the_same_on_row_slices(stage, kind, worlds):
    world = worlds[kind]
    for parameters in (
        {},
        {name: value for name, value in SMALL.items() if name in stage.parameters},
    ):
        bound = step(stage.function, **parameters)
        if bound.halo is None:
            continue
        data = {name: world[name] for name in stage.data}
        expected = bound(data)
        for start, stop in ((0, 3), (3, 4), (4, 9), (9, ROWS)):
            top, bottom = max(0, start - bound.halo), min(ROWS, stop + bound.halo)
            part = bound(rows_of(data, top, bottom))
            assert_same(rows_of(part, start - top, stop - top), rows_of(expected, start, stop))


# All but the one that draws candidates at random, pixel by pixel.
MIRRORED = [
    p
    for p in STAGES
    if p.values[0].slot not in ("preprocessing", "matcher", "smoothness", "scheme")
]
MIRRORED = [p for p in MIRRORED if p.values[0].name != "plane_paths"]
# Its smaller images keep every second column, beginning with the first one.
MIRRORED = [p for p in MIRRORED if p.values[0].name != "cross_scale"]


@both_kinds
@pytest.mark.parametrize("stage", MIRRORED)
def test_a_mirrored_pair_gives_the_mirrored_result(stage, kind, worlds):
    # A median filter makes neighbours equal. Trees prefer the first of them.
    mirrorable = {"size": 3, "median_size": 1}
    parameters = FROM_OUTSIDE.get(stage.name, {}) | {
        name: value for name, value in mirrorable.items() if name in stage.parameters
    }
    bound = step(stage.function, **parameters)
    data = {name: worlds[kind][name] for name in stage.data}
    expected, found = dict(arrays(mirrored(bound(data)))), dict(arrays(bound(mirrored(data))))
    assert found.keys() == expected.keys()
    for name, array in found.items():
        np.testing.assert_allclose(array, expected[name], rtol=1e-5, atol=1e-3, err_msg=name)


KEPT = {
    "cross_based": 2,
    "support_weights": 2,
    "census": 2,
    "rank": 2,
    "ad_census": 2,
} | dict.fromkeys(("guided_filter", "minimum_spanning_tree", "segment_tree", "segment_planes"), 1)
"""Of how many images a stage keeps what it computes."""


@pytest.mark.parametrize(("name", "kept"), KEPT.items())
def test_what_is_computed_of_an_image_serves_both_views_and_other_settings(name, kept, worlds):
    world, found = worlds["colour float32"], {}
    bound = step(name)
    back = dataclasses.replace(world["search"], direction=-world["search"].direction)
    exchanged = world | {
        "search": back,
        "volume": dataclasses.replace(world["volume"], search=back),
    }
    if "match" in bound.stage.data:
        exchanged |= {"reference": world["match"], "match": world["reference"]}
    with storing_results(found):
        for given in (world, exchanged):
            bound({key: given[key] for key in bound.stage.data})
            assert len(found) == kept
