"""Every shipped method gives the same, to the digit, in whatever company and in however small pieces it is computed; and the same as the old engine."""

import dataclasses
import functools

import numpy as np
import pytest

from stereo_framework import Search, load_scene
from stereo_framework.engine import slabs, strips
from stereo_framework.engine.new_pipeline import Pipeline, step
from stereo_framework.engine.tree import Tree
from stereo_framework.engine.walk import Walk
from stereo_framework.pair import Pair
from stereo_framework.script import load
from stereo_framework.shipped import library
from stereo_framework.volume import Domain

METHODS = sorted(path.stem for path in (library() / "methods").glob("*.yaml"))
# What takes iterations is given fewer of them, and what takes long is not run in every company.
FEWER = {"sa": {"optimization.iterations": 3}, "patch_match": {"matcher.iterations": 1}}
SLOW = ("sa", "patch_match", "planes", "robust", "support_weights", "gco", "bayesian", "gc", "bp")


@functools.cache
def old(name):
    return load(name).only.pipeline


def new_of(method):
    steps = [step(one.stage.function, **one.parameters) for _, one in method.own_stages()]
    return Pipeline(steps, {name: new_of(other) for name, other in method.alternatives})


@functools.cache
def pairs():
    """A small pair as it is, with masks, with ranges of the pixels, and with both."""
    scene = load_scene("synthetic/planes")
    rng = np.random.default_rng(7)
    # 19 to 28 px is what this part of the scene shows; a few more make ends.
    place = slice(60, 108), slice(100, 164)
    images = [np.ascontiguousarray(image[place]) for image in (scene.reference, scene.match)]
    valid, match_valid = (rng.random((48, 64)) > 0.15 for _ in range(2))
    valid[10:14, 20:40] = False
    low = rng.integers(0, 6, (48, 64)).astype(np.float32)
    high = low + rng.integers(3, 9, (48, 64)).astype(np.float32)
    low[rng.random((48, 64)) < 0.1] = np.nan
    plain = Pair(*images, Search(0, 20))
    masks = dataclasses.replace(plain, domain=Domain(valid, match_valid))
    both = dataclasses.replace(plain, domain=Domain(valid, match_valid, low, high))
    return {"plain": plain, "masks": masks, "masks and ranges": both}


def assert_same(found, expected):
    if isinstance(expected, Exception):
        assert (type(found), str(found)) == (type(expected), str(expected))
        return
    assert not isinstance(found, Exception), found
    for name in ("disparity", "status", "labels"):
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name), err_msg=name, strict=True)
    for name in ("energy", "objective", "lower_bound", "search", "warnings"):
        assert getattr(found, name) == getattr(expected, name), name
    assert list(found.seconds) == list(expected.seconds)
    assert found.confidence.keys() == expected.confidence.keys()
    for name, values in expected.confidence.items():
        np.testing.assert_array_equal(found.confidence[name], values, err_msg=name, strict=True)
    assert [energy for _, energy in found.trace] == [energy for _, energy in expected.trace]


@functools.cache
def before(name, pair, both=False):
    [(_, match)] = Tree([old(name)], both=both).walk(pairs()[pair])
    return match


def alone(method, pair, **options):
    [(_, found)] = Walk([method], pair, **options)
    return found


@pytest.mark.parametrize("pair", ["plain", "masks", "masks and ranges"])
@pytest.mark.parametrize("name", METHODS)
def test_alone(name, pair):
    assert_same(alone(new_of(old(name)), pairs()[pair]), before(name, pair))


@pytest.mark.parametrize("pair", ["plain", "masks and ranges"])
def test_in_a_sweep(pair):
    names = [name for name in METHODS if name not in SLOW]
    found = dict(Walk([new_of(old(name)) for name in names], pairs()[pair]))
    for i, name in enumerate(names):
        assert_same(found[i], before(name, pair))


@pytest.mark.parametrize("name", [name for name in METHODS if name not in SLOW])
@pytest.mark.parametrize("height", [5, 16])
def test_in_strips(name, height, monkeypatch):
    monkeypatch.setattr(strips, "STRIP_ROWS", height)
    monkeypatch.setattr(slabs, "SLAB_ROWS", height)
    for pair in ("plain", "masks and ranges"):
        [(_, expected)] = Tree([old(name)]).walk(pairs()[pair])
        assert_same(alone(new_of(old(name)), pairs()[pair]), expected)


@pytest.mark.parametrize("name", [name for name in METHODS if name not in ("sa", "planes", "robust")])
@pytest.mark.parametrize("pair", ["plain", "masks and ranges"])
def test_both_sides(name, pair):
    for found, expected in zip(alone(new_of(old(name)), pairs()[pair], both=True), before(name, pair, both=True), strict=True):
        assert_same(found, expected)


@pytest.mark.parametrize("name", [name for name in METHODS if name not in SLOW])
def test_with_neighbours(name, monkeypatch):
    """Beside methods that begin alike and end earlier, or go on otherwise, and with both checks."""
    monkeypatch.setattr(strips, "STRIP_ROWS", 16)
    monkeypatch.setattr(slabs, "SLAB_ROWS", 16)
    method = old(name)
    some = [method, dataclasses.replace(method, refinement=())]
    some += [dataclasses.replace(method, refinement=(*method.refinement[:n], "median")) for n in range(len(method.refinement))]
    some += [
        dataclasses.replace(method, refinement=(*method.refinement, "left_right_check", r)) for r in ("median", "border_fill")
    ]
    if method.matcher is None:
        some += [dataclasses.replace(method, aggregation=(*method.aggregation, box)) for box in ("box", "min_filter")]
        some += [dataclasses.replace(method, optimization="winner_take_all", refinement=r) for r in ((), ("parabola",))]
        some += [dataclasses.replace(method, confidence=("winner_margin",), refinement=("left_right_check", "parabola"))]
    for pair in ("plain", "masks and ranges"):
        expected = dict(Tree(some).walk(pairs()[pair]))
        found = dict(Walk([new_of(one) for one in some], pairs()[pair]))
        assert sorted(found) == list(range(len(some)))
        for i in found:
            assert_same(found[i], expected[i])


@pytest.mark.parametrize("stage", ["binomial", "diffusion", "membrane_diffusion", "bayesian_diffusion"])
@pytest.mark.parametrize("checked", [False, True])
def test_continued(stage, checked, monkeypatch):
    monkeypatch.setattr(strips, "STRIP_ROWS", 16)
    monkeypatch.setattr(slabs, "SLAB_ROWS", 16)
    from stereo_framework import Bound
    from stereo_framework.stage import find

    method, function = old("window"), find("aggregation", stage).function
    refinements = ["left_right_check", "median"] if checked else []
    some = [
        dataclasses.replace(method, aggregation=(*more, Bound(function, {"iterations": n}), *rest), refinement=refinements)
        for n in (5, 1, 3, 9)
        for more in ((), ("box",))
        for rest in ((), ("min_filter",))
    ]
    for pair in ("plain", "masks and ranges"):
        expected = dict(Tree(some).walk(pairs()[pair]))
        found = dict(Walk([new_of(one) for one in some], pairs()[pair]))
        for i in found:
            assert_same(found[i], expected[i])
            assert_same(alone(new_of(some[i]), pairs()[pair]), expected[i])


@pytest.mark.parametrize("scheme", ["tiles", "pyramid", "coarse"])
@pytest.mark.parametrize("name", ["ssd", "sgm", "dp", "fine", "sgbm", "census"])
def test_schemes(scheme, name):
    from stereo_framework import Bound
    from stereo_framework.stage import find

    parameters = {"tiles": {"overlap": 8}, "pyramid": {"levels": 2}, "coarse": {}}[scheme]
    method = dataclasses.replace(old(name), scheme=[Bound(find("scheme", scheme).function, parameters)])
    for pair in ("plain", "masks and ranges"):
        for both in (False, True):
            [(_, expected)] = Tree([method], both=both).walk(pairs()[pair])
            found = alone(new_of(method), pairs()[pair], both=both)
            for one, other in zip(found, expected, strict=True) if both else [(found, expected)]:
                assert_same(one, other)


def test_the_volume_is_kept():
    for name in ("ssd", "sgm", "census", "stratified"):
        for pair in ("plain", "masks and ranges"):
            [(_, expected)] = Tree([old(name)], keep_volume=True).walk(pairs()[pair])
            found = alone(new_of(old(name)), pairs()[pair], keep_volume=True)
            np.testing.assert_array_equal(found.volume.costs, expected.volume.costs, strict=True)
            assert_same(found, expected)
