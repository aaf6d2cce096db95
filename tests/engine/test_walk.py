"""The engine beside its naive twin: methods at random, of stages that mix all data that they may name into what they return."""

import copy
import dataclasses
import functools
from types import SimpleNamespace

import naive
import numpy as np
import pytest

from stereo_framework import Labeling, Pipeline, SearchRange, step
from stereo_framework.aggregation import box
from stereo_framework.core.pair import Pair
from stereo_framework.core.parameters import Positive, PositiveInt
from stereo_framework.core.registration import stage
from stereo_framework.core.view import BothSides, DisparityMap, View, Volumes
from stereo_framework.core.volume import CostVolume, SearchMask, Status
from stereo_framework.engine import walk
from stereo_framework.engine.walk import Walk
from stereo_framework.matching_cost import absolute_difference
from stereo_framework.smoothness import potts

SHAPE = 9, 14


def mixed(*data):
    """A map of all that is in some data, small beside a disparity."""
    total = np.float32(0)
    for one in data:
        if isinstance(one, CostVolume):
            one = one.costs.mean(axis=2, dtype=np.float32)
        elif isinstance(one, View):
            one = mixed(one.disparity, one.status, one.confidence, one.volumes.by_name())
        elif isinstance(one, DisparityMap):
            one = mixed(one.disparity, one.status, one.confidence)
        elif isinstance(one, SearchMask):
            one = mixed(one.valid, one.low)
        elif isinstance(one, dict):
            one = mixed(*(value for _, value in sorted(one.items())))
        elif isinstance(one, SearchRange):
            one = one.direction
        total = total + (
            0 if one is None else np.nan_to_num(np.float32(one), posinf=9, neginf=-9) / 64
        )
    return np.float32(total)


def made(volume, costs):
    return dataclasses.replace(volume, costs=np.float32(costs))


def found(reference, match, search):
    """Winners as a matcher from elsewhere finds them, not everywhere."""
    disparity = search.disparities[
        absolute_difference(reference, match, search).costs.argmin(axis=2)
    ]
    disparity[:, 3] = np.nan
    return disparity


@pytest.fixture
def stages(registry):
    """What methods are made of, by slot."""
    local = {"source": "a test", "halo": lambda: 0}

    @stage("preprocessing", source="a test")
    def darker(image, search):
        return image // 2 + np.uint8(search.direction > 0)

    @stage("preprocessing", source="a test")
    def apart(reference, match, search):
        return reference // 2, match // 2 + 9

    @stage("matcher", source="a test")
    def one_side(reference, match, search, mask, scene):
        disparity = found(reference, match, search)
        status = np.full(SHAPE, Status.MISMATCHED, np.uint8)
        return disparity, status, mixed(reference, match, search, mask, scene and scene.direction)

    @stage("matcher", source="a test")
    def both_sides(reference, match, search):
        back = dataclasses.replace(search, direction=-search.direction)
        return BothSides(
            found(reference, match, search),
            (found(match, reference, back), np.full(SHAPE, Status.FILLED, np.uint8)),
        )

    @stage("matching_cost", **local)
    def cost(reference, match, search, mask, auxiliary=None, *, largest: Positive = 99.0):
        volume = absolute_difference(reference, match, search, truncation=largest)
        return made(volume, volume.costs + mixed(mask, auxiliary)[..., None])

    @stage("aggregation", source="a test", halo=lambda size: size // 2)
    def near(volume, raw, reference, match, search, mask, *, size: PositiveInt = 3):
        about = mixed(reference, match, search, mask)[..., None]
        return made(volume, box(volume, size=size).costs + raw.costs / 4 + about)

    @stage("aggregation", source="a test")
    def whole(volume):
        return made(volume, volume.costs - volume.costs.min(axis=(0, 1)))

    @stage("aggregation", **local)
    def here_and_there(volume, *, level: int = 9):
        # Strips without such a row stay the same object.
        rows = (volume.costs.min(axis=(1, 2)) < level)[:, None, None]
        return made(volume, volume.costs + rows) if rows.any() else volume

    @stage("aggregation", resume="steps", **local)
    def counting(volume, partial=None, *, steps: PositiveInt = 1):
        return made(volume, (volume if partial is None else partial).costs + np.float32(steps))

    @stage("optimization", **local)
    def decide(volume, raw, reference, match, search, mask, smoothness=None, *, own: bool = False):
        about = mixed(reference, match, search, mask, smoothness and smoothness.right)
        levels = (volume.costs + raw.costs / 4).argmin(axis=2).astype(np.int16)
        levels[:, 3], levels[:, 7] = -1, 2
        return Labeling(
            levels,
            volume.chosen(levels),
            made(volume, 2 * volume.costs + about[..., None]) if own else None,
        )

    @stage("confidence", **local)
    def sure(disparity, volume, raw, search, reference, match, status):
        return mixed(disparity, volume, raw, search, reference, match, status) + np.zeros(
            disparity.shape, np.float32
        )

    @stage("confidence", source="a test", other_needs={"raw"})
    def agreed(disparity, other, confidence):
        return mixed(disparity, other, confidence)

    @stage("refinement", **local)
    def mix(
        disparity,
        reference,
        match,
        corrected,
        search,
        volume,
        raw,
        status,
        mask,
        confidence,
        auxiliary=None,
    ):
        about = mixed(
            reference,
            match,
            *corrected,
            search,
            volume,
            raw,
            status,
            mask,
            confidence,
            auxiliary,
        )
        found = np.where(about % 1 < 0.2, np.float32(np.nan), disparity + about)
        return np.where(np.isnan(disparity) & (about % 1 > 0.6), np.float32(1), found)

    @stage("refinement", other_needs={"volume", "raw"}, **local)
    def across(disparity, other, search):
        return disparity + mixed(other, search)

    @stage("refinement", **local)
    def beside(disparity, other, reference, match, corrected, mask, status):
        return disparity + mixed(other, reference, match, *corrected, mask, status)

    @stage("refinement", source="a test", halo=lambda: 1)
    def upper(disparity, status):
        return np.concatenate([disparity[:1], disparity[:-1]]), np.minimum(
            status, np.uint8(Status.MISMATCHED)
        )

    return locals()


# --- the twin -----------------------------------------------------------------------------------------------------------


@functools.cache
def seen_from(pair, side):
    """The pair from a side, and which of its cells may be chosen."""
    own = pair.exchanged() if side else pair
    if own.mask is None:
        return own, np.ones((*SHAPE, own.search.levels), bool)
    return own, naive.open_cells(own.mask, own.search, SHAPE)


def beginning(method, pair, side):
    own, is_open = seen_from(pair, side)
    view = SimpleNamespace(
        pair=own, reference=own.reference, match=own.match, corrected=(own.reference, own.match)
    )
    view.search, view.mask, view.confidence, view.smoothness = own.search, own.mask, {}, None
    view.scene, view.levels = own.scene, None
    view.volume = view.raw = view.disparity = view.status = view.energy = None
    view.is_open = is_open
    found = {name: matched(other, pair, side) for name, other in method.auxiliary}
    view.auxiliary = {
        name: DisparityMap(one.disparity, one.status, one.search, one.confidence)
        for name, one in found.items()
    }
    return view


@functools.cache
def known(method, pair, count, side):
    """What is known of a side after some steps: that of the steps before, all of it whole and anew."""
    if count == 0:
        return beginning(method, pair, side)
    one = method.steps[count - 1]
    slot, names = one.stage.slot, one.stage.data
    view = copy.copy(known(method, pair, count - 1, side))
    if slot == "preprocessing" and "image" in names:
        first = known(method, pair, 0, 0)  # the search that it is given is that of the pair
        view.reference, view.match, *corrected = (
            one.stage.function(image, first.search)
            for image in (view.reference, view.match, *view.corrected)
        )
        view.corrected = tuple(corrected)
        return view
    if slot == "preprocessing":
        both = known(method, pair, count - 1, 0)
        changed = one.stage.function(*both.corrected, both.search)
        view.corrected = changed[::-1] if side else changed
        return view
    if slot == "optimization":
        close(view)
    data = dict(vars(view))
    if slot in ("matcher", "matching_cost"):
        data["reference"], data["match"] = view.corrected
    if "other" in names:
        other = known(method, pair, count - 1, 1 - side)
        data["other"] = View(
            disparity_map=DisparityMap(
                other.disparity, other.status, other.search, other.confidence
            ),
            volumes=Volumes(other.volume, other.raw).keeping(one.stage.other_needs),
        )
    result = one.stage.function(
        **{name: data[name] for name in names if name != "partial"}, **one.parameters
    )
    if isinstance(result, BothSides):  # from the reference image's side, for both
        before = known(method, pair, count - 1, 0)
        result = one.stage.function(*before.corrected, before.search)[side]
    taken(view, slot, one.stage.name, result)
    if slot == "aggregation" and method.steps[count].stage.slot != "aggregation":
        view.volume = made(
            view.volume,
            naive.restore_outside_cost(view.volume.costs, view.search, view.volume.outside_cost),
        )
    return view


def close(view):
    """Closed cells, as an optimizer sees them."""
    some = view.is_open.any(axis=2, keepdims=True)
    view.volume = made(
        view.volume, np.where(view.is_open, view.volume.costs, np.where(some, 1e6, 0))
    )


def taken(view, slot, name, result):
    if slot == "matching_cost":
        view.volume = view.raw = made(
            result, np.where(view.is_open, result.costs, result.outside_cost)
        )
    elif slot == "aggregation":
        view.volume = result
    elif slot == "smoothness":
        view.smoothness = result
    elif slot == "confidence":
        view.confidence = {**view.confidence, name: result}
    elif slot == "optimization":
        closed = (result.levels >= 0) & ~np.take_along_axis(
            view.is_open, np.maximum(result.levels, 0)[..., None], 2
        )[..., 0]
        view.levels = np.where(closed, np.int16(-1), result.levels)
        # Of closed cells those alone are counted that what is unassigned is filled with; pixels without an open one cost nothing.
        marked = ~view.is_open & view.is_open.any(axis=2, keepdims=True)
        view.energy = naive.energy_of(
            np.where(marked, view.volume.outside_cost, view.volume.costs),
            view.smoothness,
            view.levels,
        )
        view.volume = result.volume or view.volume
        disparity = np.where(
            view.levels < 0, np.float32(np.nan), view.search.disparities[view.levels]
        )
        keep(view, disparity, np.where(view.levels < 0, Status.OCCLUDED, Status.MATCHED))
    elif isinstance(result, tuple):
        keep(view, *result[:2])
        view.confidence = (
            {**view.confidence, "matcher": result[2]} if result[2:] else view.confidence
        )
    elif slot == "matcher":
        keep(view, result, np.where(np.isnan(result), Status.OCCLUDED, Status.MATCHED))
    else:
        before, after = np.isnan(view.disparity), np.isnan(result)
        status = np.where(
            before & ~after,
            Status.FILLED,
            np.where(~before & after, Status.MISMATCHED, view.status),
        )
        keep(view, result, status)


def keep(view, disparity, status):
    some = view.is_open.any(axis=2)
    view.disparity = np.where(some, disparity, np.float32(np.nan))
    view.status = np.where(some, status, Status.INVALID).astype(np.uint8)


def matched(method, pair, side=0):
    """The match of a side."""
    view = copy.copy(known(method, pair, len(method.steps), side))
    unsure = np.isnan(view.disparity) | (view.status == Status.FILLED)
    view.confidence = {
        name: np.where(unsure, values.min(), values) for name, values in view.confidence.items()
    }
    return view


# --- the comparison -----------------------------------------------------------------------------------------------------


def any_method(rng, stages, auxiliary):
    """A method of some of the stages, in any number and order."""

    def some(most, *choices):
        return [choices[i] for i in rng.integers(0, len(choices), rng.integers(0, most + 1))]

    prepared = some(2, stages["darker"], stages["apart"])
    if rng.random() < 0.3:
        refinements = some(3, stages["beside"], stages["upper"])
        return Pipeline(
            [prepared, stages[str(rng.choice(["one_side", "both_sides"]))], refinements],
            auxiliary,
        )
    costs = step(stages["cost"], largest=float(rng.choice([20, 99])))
    sizes = [step(stages["near"], size=size) for size in (1, 2, 3)]
    steps = [step(stages["counting"], steps=count) for count in (1, 2, 4)]
    aggregation = some(
        3,
        *sizes,
        *steps,
        stages["whole"],
        step(stages["here_and_there"], level=int(rng.integers(0, 30))),
    )
    return Pipeline(
        [
            prepared,
            costs,
            aggregation,
            some(1, step(potts, gradient_threshold=20.0, gradient_penalty=3.0)),
            step(stages["decide"], own=bool(rng.integers(2))),
            some(2, stages["sure"], stages["agreed"]),
            some(3, stages["mix"], stages["across"], stages["upper"]),
        ],
        auxiliary,
    )


def any_pair(rng):
    """A pair, in which some arrays are parts of others, with a mask or without."""
    wide = rng.integers(0, 60, (2, SHAPE[0], SHAPE[1] + 4), dtype=np.uint8)
    search = SearchRange(
        int(rng.integers(-2, 2)), 4, float(rng.choice([1, 0.5])), int(rng.choice([1, -1]))
    )
    masks = [None, SearchMask(valid=rng.random(SHAPE) < 0.8, match_valid=rng.random(SHAPE) < 0.9)]
    low = rng.integers(-2, 4, SHAPE).astype(np.float32)
    masks += [dataclasses.replace(masks[1], low=low, high=low + 2)]
    return Pair(wide[0][:, 2:-2], wide[1][:, 1:-3], search, masks[rng.integers(3)])


@pytest.mark.parametrize("seed", range(40))
def test_methods_at_random_agree_with_the_twin(stages, seed, monkeypatch):
    rng = np.random.default_rng(seed)
    pair, both = any_pair(rng), bool(rng.integers(2))
    first = any_method(rng, stages, {})
    some = [first, any_method(rng, stages, {"first": first})]
    # Neighbours that begin alike: with another end, another aggregation more, other iterations.
    some += [some[1].having(refinement=[some[1].in_slot("refinement"), stages["beside"]])]
    some += [
        first.having(aggregation=[aggregation, stages["near"]])
        if (aggregation := first.in_slot("aggregation"))
        else first
    ]
    some += (
        [first.having(steps=7)]
        if sum(one.stage.name == "counting" for one in first.steps) == 1
        else []
    )
    monkeypatch.setattr(walk, "STRIP_ROWS", int(rng.integers(1, 6)))
    for index, found in Walk(some, pair, both=both):
        for side, match in enumerate(found if both else [found]):
            expected = matched(some[index], pair, side)
            for name in ("disparity", "status", "levels"):
                np.testing.assert_array_equal(
                    getattr(match, name),
                    getattr(expected, name),
                    err_msg=f"{name} of {some[index]}",
                )
            assert match.energy == (expected.energy and pytest.approx(expected.energy, rel=1e-12))
            assert match.confidence.keys() == expected.confidence.keys()
            for name, values in expected.confidence.items():
                np.testing.assert_array_equal(match.confidence[name], values, err_msg=name)
