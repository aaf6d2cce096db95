import naive_refinement
import numpy as np
import pytest
from kernel_inputs import in_threads

from stereo_framework import CostVolume, Search
from stereo_framework.errors import DataError, ParameterError
from stereo_framework.kernels.contrast import contrast
from stereo_framework.refinement import plane_choice
from stereo_framework.view import View

hole = np.nan


def surfaces(rng, shape):
    """Two slanted ones with a step, wrong places and holes."""
    y, x = np.indices(shape)
    slopes = rng.uniform(-0.1, 0.1, 4)
    found = np.where(
        x < shape[1] // 2 + rng.integers(-2, 3), 2 + slopes[0] * x + slopes[1] * y, 5 + slopes[2] * x + slopes[3] * y
    )
    found = found + rng.uniform(-0.1, 0.1, shape)
    found[rng.random(shape) < 0.1] = 1
    return np.clip(found, 0, 7).astype(np.float32)


@pytest.mark.parametrize("seed", range(8))
def test_agrees_with_twin(seed):
    rng = np.random.default_rng(seed)
    shape = [(7, 16), (4, 22), (1, 24), (9, 3)][seed % 4]
    kind, colour = (np.uint8, np.float32)[seed % 2], (seed // 2) % 2
    images = [
        rng.integers(0, 30, (*shape, 3)[: 2 + colour]) + 40 * (rng.random((*shape, 3)[: 2 + colour]) < 0.2) for _ in range(2)
    ]
    images = [image.astype(kind) for image in images]
    search = Search(-0.5 if seed % 3 == 1 else 0, 7, (1, 1 / 2, 1)[seed % 3], (1, -1)[seed % 2])
    dtype = (np.float32, np.uint16, np.uint8)[seed % 3]
    raw = CostVolume((rng.random((*shape, search.levels)) * 200).astype(dtype), search, 90.0)
    first, second = surfaces(rng, shape), surfaces(rng, shape)
    first[rng.random(shape) < 0.15] = hole
    second[rng.random(shape) < 0.05] = hole
    status = rng.choice(np.uint8([0, 0, 0, 3]), shape)
    parameters = {"radius": 9, "spacing": 2, "colour_scale": 20.0, "preference": 0.9}
    before = [a.copy() for a in (first, second, status, raw.costs, *images)]
    alternatives = {"robust": View(second, np.zeros(shape, np.uint8), search)}
    with in_threads(2):
        found, told = plane_choice(first, *images, search, raw, status, alternatives, loyalty=0.4, contrast=12.0, **parameters)
    share = np.clip((np.mean([contrast(image) for image in images]) / 12 - 0.5) / 0.5, 0, 1)
    expected, costs_of = naive_refinement.plane_choice(first, images, raw, status, second, *parameters.values(), 1 + 0.4 * share)
    np.testing.assert_array_equal(np.isnan(found), np.isnan(expected))
    np.testing.assert_array_equal(told, np.where(np.isnan(found), status, 0))
    differs = np.argwhere(np.abs(found - expected) > 1e-3)
    for p in map(tuple, differs):
        # Where planes lie next to a bound or two costs are nearly equal, rounding to float32 decides.
        (least, _), *others = costs_of[p]
        assert any(cost - least < 1e-3 * least and abs(value - found[p]) < 1e-3 for cost, value in others), p
    assert len(differs) <= 2
    assert len(costs_of) > 0.3 * first.size
    for array, copy in zip((first, second, status, raw.costs, *images), before, strict=True):
        np.testing.assert_array_equal(array, copy)


def scene(rng):
    """A square 6 in front of a plane 2, both textured, and costs that know it."""
    truth = np.full((18, 32), 2.0, np.float32)
    truth[5:13, 14:24] = 6
    right = rng.integers(60, 100, (18, 52), dtype=np.uint8)
    left = np.take_along_axis(right, (np.arange(32) + 10 - truth).astype(int), axis=1)
    match = right[:, 10:42].copy()
    search = Search(0, 9)
    costs = np.full((18, 32, 10), 40, np.float32)
    for k in range(10):
        costs[:, k:, k] = np.abs(left[:, k:].astype(float) - match[:, : 32 - k])
    return truth, left, match, CostVolume(costs, search, 20.0)


@pytest.mark.compiled
def test_the_right_surface_wins_at_a_frayed_edge():
    rng = np.random.default_rng(1)
    truth, left, match, raw = scene(rng)
    frayed = truth.copy()
    frayed[3:15, 12:26] = 6
    holes = frayed.copy()
    holes[:, :4] = hole
    robust = View(truth, np.zeros(truth.shape, np.uint8), raw.search)
    status = np.zeros(truth.shape, np.uint8)
    found, _ = plane_choice(holes, left, match, raw.search, raw, status, {"robust": robust}, radius=4, spacing=1)
    wrong = np.abs(found - truth) > 0.5
    assert (np.abs(frayed - truth) > 0.5).mean() > 0.08
    # What cannot be told by costs alone: pixels that the match image does not show.
    assert wrong.mean() < 0.02


@pytest.mark.compiled
def test_loyalty_holds_to_the_second_map_where_costs_say_nothing():
    image = (np.indices((8, 10)).sum(axis=0) % 2 * 200).astype(np.uint8)
    raw = CostVolume(np.full((8, 10, 8), 5, np.float32), Search(0, 7), 5.0)
    status = np.zeros((8, 10), np.uint8)
    first, second = np.full((8, 10), 5, np.float32), np.full((8, 10), 2, np.float32)
    others = {"robust": View(second, status, Search(0, 7))}
    given = first, image, image, Search(0, 7), raw, status, others
    np.testing.assert_allclose(plane_choice(*given)[0], 2, atol=1e-4)
    np.testing.assert_allclose(plane_choice(*given, loyalty=0.0)[0], 5, atol=1e-4)
    # Images of little contrast leave the choice to the costs and to the preference for the first map.
    np.testing.assert_allclose(plane_choice(*given, contrast=400.0)[0], 5, atol=1e-4)
    np.testing.assert_allclose(plane_choice(*given, contrast=400.0, preference=1.0)[0], 5, atol=1e-4)


@pytest.mark.compiled
def test_the_first_map_may_be_an_alternative():
    rng = np.random.default_rng(3)
    shape, images = (9, 20), rng.integers(0, 60, (2, 9, 20), dtype=np.uint8)
    raw = CostVolume(rng.random((*shape, 8)).astype(np.float32), Search(0, 7), 0.5)
    first, second, status = surfaces(rng, shape), surfaces(rng, shape), rng.choice(np.uint8([0, 3]), shape)
    robust, given = View(second, np.zeros(shape, np.uint8), Search(0, 7)), (*images, Search(0, 7), raw)
    expected, _ = plane_choice(first, *given, status, {"robust": robust})
    others = {"robust": robust, "fine": View(first, status, Search(0, 7))}
    nothing = np.full(shape, hole, np.float32)
    found, _ = plane_choice(nothing, *given, np.ones(shape, np.uint8), others, first="fine", second="robust")
    np.testing.assert_array_equal(found, expected)


def test_what_has_no_estimate_anywhere_stays_without():
    status = np.uint8([[4, 1, 2, 0]])
    nothing = np.full((1, 4), hole, np.float32)
    raw = CostVolume(np.zeros((1, 4, 3), np.float32), Search(0, 2), 1.0)
    others = {"robust": View(nothing, status, Search(0, 2))}
    found, told = plane_choice(nothing, np.zeros((1, 4), np.uint8), np.zeros((1, 4), np.uint8), Search(0, 2), raw, status, others)
    assert np.isnan(found).all()
    assert told.tolist() == status.tolist()


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"preference": 1.5}, "preference: 1.5 is not a number > 0 and <= 1"),
        ({"spacing": 0}, "spacing: 0 is not a whole number >= 1"),
        ({"loyalty": -1.0}, "loyalty: -1.0 is not a number >= 0"),
        ({"second": "robst"}, "second: no alternative 'robst'; legal alternatives: robust; did you mean 'robust'"),
    ],
)
def test_refuses(parameters, message):
    flat, image = np.zeros((2, 4), np.float32), np.zeros((2, 4), np.uint8)
    raw = CostVolume(np.zeros((2, 4, 3), np.float32), Search(0, 2), 1.0)
    others = {"robust": View(flat, image, Search(0, 2))}
    with pytest.raises(ParameterError, match=f"^plane_choice.{message}"):
        plane_choice(flat, image, image, Search(0, 2), raw, image, others, **parameters)
    with pytest.raises(DataError, match=r"^plane_choice: match has shape \(3, 4\)"):
        plane_choice(flat, image, np.zeros((3, 4), np.uint8), Search(0, 2), raw, image, others)
