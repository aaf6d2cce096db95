"""Every built-in method gives the same, to the digit, in whatever company and in however small pieces it is computed."""

import functools
import itertools
from dataclasses import replace

import numpy as np
import pytest
from stereo_framework.engine.walk import Walk

from stereo_framework import SearchRange, load_scene, step
from stereo_framework.core.package_files import package_folder
from stereo_framework.core.pair import Pair
from stereo_framework.core.volume import SearchMask
from stereo_framework.engine import walk
from stereo_framework.kernels.progress import reporting_steps_to
from stereo_framework.script import load

METHODS = sorted(path.stem for path in (package_folder() / "methods").glob("*.yaml"))
SLOW = ("bayesian", "bp", "gc", "gco", "patch_match", "sa", "support_weights")
QUICK = [name for name in METHODS if name not in SLOW]
PAIRS = ("plain", "masks", "masks and ranges")


@functools.cache
def built_in_method(name):
    return load(name).pipeline


@functools.cache
def pairs():
    """A small part of a scene as it is, with masks full of holes, and with a range for each pixel besides."""
    scene = load_scene("synthetic/planes")
    rng = np.random.default_rng(7)
    images = [
        np.ascontiguousarray(image[60:108, 100:164]) for image in (scene.reference, scene.match)
    ]
    valid, match_valid = (rng.random((48, 64)) > 0.15 for _ in range(2))
    valid[10:14, 20:40] = False
    low = rng.integers(0, 6, (48, 64)).astype(np.float32)
    high = low + rng.integers(3, 9, (48, 64)).astype(np.float32)
    low[rng.random((48, 64)) < 0.1] = np.nan
    plain = Pair(*images, SearchRange(0, 20))
    search_masks = None, SearchMask(valid, match_valid), SearchMask(valid, match_valid, low, high)
    return {name: replace(plain, mask=mask) for name, mask in zip(PAIRS, search_masks, strict=True)}


def walked(methods, pair, **options):
    found = dict(Walk(methods, pairs()[pair], **options))
    assert sorted(found) == list(range(len(methods)))
    return [found[i] for i in range(len(methods))]


@functools.cache
def alone(method, pair):
    [match] = walked([method], pair)
    return match


def assert_same(found, expected):
    for match in (found, expected):
        assert not isinstance(match, Exception), match
    for name in ("disparity", "status", "levels"):
        np.testing.assert_array_equal(
            getattr(found, name), getattr(expected, name), err_msg=name, strict=True
        )
    for name in ("energy", "lower_bound", "search", "warnings"):
        assert getattr(found, name) == getattr(expected, name), name
    # Sums of the rows of strips, in another order.
    if expected.objective is None:
        assert found.objective is None
    else:
        assert found.objective == pytest.approx(expected.objective, rel=1e-12)
    assert list(found.seconds) == list(expected.seconds)
    assert found.confidence.keys() == expected.confidence.keys()
    for name, values in expected.confidence.items():
        np.testing.assert_array_equal(found.confidence[name], values, err_msg=name, strict=True)
    assert [energy for _, energy in found.trace] == [energy for _, energy in expected.trace]


@pytest.mark.parametrize("pair", PAIRS)
def test_all_in_one_sweep(pair):
    methods = [built_in_method(name) for name in QUICK]
    for match, method in zip(walked(methods, pair), methods, strict=True):
        assert_same(match, alone(method, pair))


@pytest.mark.parametrize("name", QUICK)
@pytest.mark.parametrize("height", [5, pytest.param(16, marks=pytest.mark.slow)])
def test_in_strips(name, height, monkeypatch):
    expected = {pair: alone(built_in_method(name), pair) for pair in PAIRS}
    monkeypatch.setattr(walk, "STRIP_ROWS", height)
    for pair in PAIRS:
        [match] = walked([built_in_method(name)], pair)
        assert_same(match, expected[pair])


@pytest.mark.parametrize(
    "name",
    [
        *QUICK,
        *(
            pytest.param(name, marks=pytest.mark.slow)
            for name in SLOW
            if name not in ("patch_match", "sa")
        ),
    ],
)
@pytest.mark.parametrize(
    "pair", [pytest.param("plain", marks=pytest.mark.slow), "masks and ranges"]
)
def test_the_other_side_is_that_of_the_exchanged_pair(name, pair):
    """Of methods that treat both sides alike; random numbers are drawn anew for each side."""
    own, other = walked([built_in_method(name)], pair, both=True)[0]
    assert_same(own, alone(built_in_method(name), pair))
    if name in (
        "planes",
        "robust",
        "fine",
    ):  # their images are prepared by the look at the reference image alone
        assert np.isfinite(other.disparity).mean() > 0.5
        return
    [(_, expected)] = Walk([built_in_method(name)], pairs()[pair].exchanged())
    assert_same(other, expected)


def neighbours(method):
    """Methods that begin as this one and end earlier, go on otherwise, or look across, once or twice."""
    refinements = method.in_slot("refinement")
    some = [
        method,
        *(
            method.having(refinement=[refinements[:n], "median"])
            for n in range(len(refinements) + 1)
        ),
    ]
    some += [
        method.having(refinement=[refinements, "left_right_check", *last])
        for last in (("median",), ("border_fill",))
    ]
    some += [
        method.having(
            refinement=["left_right_check", "median", step("left_right_check", tolerance=0)]
        )
    ]
    if not method.in_slot("matcher"):
        some += [
            method.having(aggregation=[method.in_slot("aggregation"), more])
            for more in ("box", "min_filter")
        ]
        some += [
            method.having(optimization="winner_take_all", refinement=last)
            for last in ((), ("parabola",))
        ]
        some += [
            method.having(confidence="winner_margin", refinement=["left_right_check", "parabola"])
        ]
        some += [method.having(confidence="left_right_consistency", refinement="parabola")]
    return some


@pytest.mark.parametrize("name", QUICK)
def test_beside_methods_that_begin_alike(name, monkeypatch):
    some = neighbours(built_in_method(name))
    expected = {
        (i, pair): alone(method, pair)
        for i, method in enumerate(some)
        for pair in ("plain", "masks and ranges")
    }
    monkeypatch.setattr(walk, "STRIP_ROWS", 16)
    # The order in which they are asked for decides nothing.
    for pair, order in (("plain", range(len(some))), ("masks and ranges", range(len(some))[::-1])):
        for i, match in zip(order, walked([some[i] for i in order], pair), strict=True):
            assert_same(match, expected[i, pair])


@pytest.mark.parametrize(
    "stage", ["binomial", "diffusion", "membrane_diffusion", "bayesian_diffusion"]
)
@pytest.mark.parametrize("refinement", [(), ("left_right_check", "median")])
def test_more_iterations_continue_fewer(stage, refinement, monkeypatch):
    some = [
        built_in_method("window").having(
            aggregation=[before, step(stage, iterations=count), after], refinement=refinement
        )
        for count, before, after in itertools.product((5, 1, 9), ((), "box"), ((), "binomial"))
    ]
    # Only the longest looks across: the others' second side is computed for it.
    some += [some[-1].having(refinement="left_right_check")]
    expected = {
        (i, pair): alone(method, pair)
        for i, method in enumerate(some)
        for pair in ("plain", "masks and ranges")
    }
    monkeypatch.setattr(walk, "STRIP_ROWS", 16)
    for pair in ("plain", "masks and ranges"):
        for i, match in enumerate(walked(some, pair)):
            assert_same(match, expected[i, pair])


@pytest.mark.parametrize(
    "scheme",
    [step("tiles", overlap=8), step("pyramid", octaves=2), step("coarse")],
    ids=lambda s: s.stage.name,
)
@pytest.mark.parametrize("name", ["ssd", "sgm", "dp", "sgbm", "census"])
def test_both_sides_of_a_scheme(scheme, name):
    method = built_in_method(name).having(scheme=scheme)
    for pair in ("plain", "masks and ranges"):
        own, other = walked([method], pair, both=True)[0]
        [(_, exchanged)] = Walk([method], pairs()[pair].exchanged())
        assert_same(own, alone(method, pair))
        assert_same(other, exchanged)


def test_a_scheme_of_one_tile_changes_nothing_but_levels():
    for name, pair in itertools.product(("ssd", "sgm", "fine"), PAIRS):
        whole = alone(built_in_method(name), pair)
        match = alone(built_in_method(name).having(scheme=step("tiles", reduction=1)), pair)
        np.testing.assert_array_equal(match.disparity, whole.disparity)
        np.testing.assert_array_equal(match.status, whole.status)
        assert match.levels is None


def test_a_volume_that_is_kept_changes_nothing():
    for name, pair in itertools.product(("ssd", "sgm", "census", "stratified"), PAIRS):
        [match] = walked([built_in_method(name)], pair, keep_volume=True)
        assert_same(match, alone(built_in_method(name), pair))
        known = match.levels >= 0
        chosen = np.take_along_axis(
            match.volume.costs, np.maximum(match.levels, 0)[..., None].astype(int), axis=2
        )[..., 0]
        # The optimizer's own costs are lowest where it chose; of those that go beyond each pixel's own (stratified, paths) not everywhere.
        assert (chosen == match.volume.costs.min(axis=2))[known].mean() > 0.5


def test_steps_of_one_thread_free_what_they_used():
    """Nothing holds a volume in a circle of references, which only the collector of garbage would find."""
    import gc
    import weakref

    volumes = []

    def watch(name):
        volumes.append((name, sum(ref() is not None for ref in alive)))

    alive = []
    plain = walk.view_after

    def noted(stage, result, view):
        if stage.slot == "aggregation":
            alive.append(weakref.ref(result.costs))
        return plain(stage, result, view)

    gc.disable()
    try:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(walk, "STRIP_ROWS", 16)
            patch.setattr(walk, "view_after", noted)
            with reporting_steps_to(watch):
                [_] = list(Walk([built_in_method("ssd")], pairs()["masks"]))
        assert len(alive) == 2 * 3
        assert max(count for _, count in volumes) <= 2
        assert all(ref() is None for ref in alive)
    finally:
        gc.enable()
