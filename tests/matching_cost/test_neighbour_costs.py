"""Census, rank, gradients and AD-census beside their twins, and what all of them keep to."""

from pathlib import Path

import naive_census
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kernel_inputs import KINDS_OF_STEPS, image_pairs, in_threads, searches
from scipy.ndimage import gaussian_filter

from stereo_framework import SearchRange, step
from stereo_framework.core.errors import ParameterError
from stereo_framework.core.view import DisparityMap
from stereo_framework.core.volume import Status
from stereo_framework.engine.planned_steps import CostSum
from stereo_framework.matching_cost import (
    absolute_difference,
    ad_census,
    census,
    gradient_difference,
    rank,
)

COSTS = [census, rank, gradient_difference, ad_census]
lengths = st.sampled_from([3, 5, 9, 7, 15])
grey_conversions = st.sampled_from(["luma", "rounded_luma", "mean"])
interpolations = st.sampled_from(["cubic", "linear"])
PARAMETERS = {
    census: st.fixed_dictionaries(
        {
            "width": lengths,
            "height": lengths,
            "form": st.sampled_from(["plain", "centre_symmetric"]),
            "grey_conversion": grey_conversions,
            "interpolation": interpolations,
        }
    ),
    rank: st.fixed_dictionaries(
        {
            "width": lengths,
            "height": lengths,
            "grey_conversion": grey_conversions,
            "interpolation": interpolations,
        }
    ),
    gradient_difference: st.fixed_dictionaries(
        {
            "alpha": st.sampled_from([0.89, 0.5, 0.0, 1.0]),
            "truncation": st.sampled_from([7.0, 1000.0, 0.5]),
            "gradient_truncation": st.sampled_from([2.0, 1000.0, 30.0]),
            "grey_conversion": grey_conversions,
            "interpolation": interpolations,
        }
    ),
    ad_census: st.fixed_dictionaries(
        {
            "lambda_ad": st.sampled_from([10.0, 50.0, 0.01]),
            "lambda_census": st.sampled_from([30.0, 5.0]),
            "width": lengths,
            "height": lengths,
            "grey_conversion": grey_conversions,
            "ad_weight": st.sampled_from([1.0, 0.5, 0.001]),
            "census_weight": st.sampled_from([1.0, 0.3]),
            "quantization_steps": st.sampled_from([None, 100, 127, 128, 32767]),
            "interpolation": interpolations,
        }
    ),
}
every_cost = pytest.mark.parametrize("cost", COSTS)


@pytest.mark.parametrize("steps", KINDS_OF_STEPS)
@every_cost
@given(data=st.data(), images=image_pairs(), threads=st.integers(1, 2))
def test_agrees_with_twin(cost, steps, data, images, threads):
    search, parameters = data.draw(searches(steps)), data.draw(PARAMETERS[cost])
    with in_threads(threads):
        volume = cost(*images, search, **parameters)
    expected, outside_cost = getattr(naive_census, cost.__name__)(*images, search, **parameters)
    assert volume.search == search
    if cost in (census, rank):
        assert volume.costs.dtype == np.uint8
        assert volume.outside_cost == outside_cost
        np.testing.assert_array_equal(volume.costs, expected)
        return
    quantization_steps = parameters.get("quantization_steps")
    most = (quantization_steps or 0) * (
        parameters.get("ad_weight", 0) + parameters.get("census_weight", 0)
    )
    assert volume.costs.dtype == (
        np.float32 if quantization_steps is None else np.uint8 if most <= 255 else np.uint16
    )
    assert volume.outside_cost == pytest.approx(outside_cost, rel=1e-6)
    # Differences up to 510 and slopes are rounded to float32, of which the exponential loses a few units in the last place more; whole
    # numbers are rounded once.
    atol = (
        1e-3
        if cost is gradient_difference
        else (quantization_steps or 1) * 1e-6 + (0.5 if quantization_steps else 0)
    )
    if parameters.get("lambda_ad") == 0.01:
        # Rounded differences of float images are a hundred times as large there.
        atol += (quantization_steps or 1) * 4e-3
    np.testing.assert_allclose(volume.costs, expected, rtol=0, atol=atol)


@every_cost
@pytest.mark.parametrize("levels", [2, 15, 16, 17, 64])
@pytest.mark.parametrize("direction", [1, -1])
def test_agrees_with_twin_where_levels_fill_vectors(cost, direction, levels):
    images = np.random.default_rng(levels).integers(0, 256, (2, 2, 28, 3), dtype=np.uint8)
    search = SearchRange(-9, levels - 10, 1, direction)
    expected, _ = getattr(naive_census, cost.__name__)(*images, search, grey_conversion="mean")
    costs = cost(*images, search, grey_conversion="mean").costs
    # Float32 costs of a few grey levels, exact but for the last place or two.
    np.testing.assert_allclose(costs, expected, rtol=0, atol=1e-6)

    expected, _ = getattr(naive_census, cost.__name__)(*images, search)
    # Gradients are differences of lumas, which float32 does not hold exactly.
    tolerance = {gradient_difference: 2e-5}.get(cost, 1e-6)
    np.testing.assert_allclose(cost(*images, search).costs, expected, rtol=0, atol=tolerance)


@pytest.mark.parametrize("size", [3, 5, 9, 13])
@pytest.mark.compiled
def test_census_equals_pandoras_in_every_cell_that_it_has(size):
    golden = np.load(Path(__file__).parents[1] / "golden" / "census.npz")
    costs = census(
        golden["left"], golden["right"], SearchRange(0, 15), width=size, height=size
    ).costs
    known = golden[f"size{size}"] != 255
    # Cells whose windows lie within both images.
    rows, columns = golden["left"].shape
    assert known.sum() == (rows - size + 1) * sum(columns - size + 1 - d for d in range(16))
    np.testing.assert_array_equal(costs[known], golden[f"size{size}"][known])


def test_ad_census_is_the_sum_of_saturated_costs():
    images = np.random.default_rng(6).integers(0, 256, (2, 9, 20, 3), dtype=np.uint8)
    search = SearchRange(0, 9)
    # Three channels are added there and averaged here.
    parts = step(absolute_difference, saturation=30.0), step(census, saturation=30.0)
    expected = CostSum(tuple(parts))({"reference": images[0], "match": images[1], "search": search})
    volume = ad_census(*images, search)
    # A few units in the last place of costs up to 2.
    np.testing.assert_allclose(
        volume.costs[:, volume.inside], expected.costs[:, volume.inside], rtol=0, atol=1e-6
    )


@pytest.mark.parametrize(
    ("cost", "parameters", "outside_cost"),
    [
        (census, {}, 31),
        (census, {"form": "centre_symmetric"}, 15),
        (census, {"width": 15, "height": 15}, 112),
        (rank, {}, 31),
        (ad_census, {}, 1),
        (ad_census, {"quantization_steps": 127}, 127),
        (ad_census, {"ad_weight": 0.5}, 0.75),
        # A whole number, the nearest to 75.75.
        (ad_census, {"ad_weight": 0.5, "quantization_steps": 101}, 76),
        # 0.11 * 7 + 0.89 * 2
        (gradient_difference, {}, 2.55),
        (
            gradient_difference,
            {"alpha": 0.5, "truncation": 1000.0, "gradient_truncation": 45.0},
            150,
        ),
    ],
)
def test_cells_out_of_view_hold_the_outside_cost(cost, parameters, outside_cost):
    image = np.random.default_rng(5).integers(0, 256, (4, 6, 3), dtype=np.uint8)
    volume = cost(image, image, SearchRange(0, 2), **parameters)
    assert volume.outside_cost == pytest.approx(outside_cost, rel=1e-7)
    assert (volume.costs[:, ~volume.inside] == np.float32(volume.outside_cost)).all()


def test_the_worst_costs_fit_the_type():
    # Each pixel brighter than all others of its window in one image, darker in the other.
    left, right = np.full((15, 15), 255, np.uint8), np.zeros((15, 15), np.uint8)
    left[7, 7], right[7, 7] = 0, 255
    assert census(left, right, SearchRange(0, 1), width=15, height=15).costs[7, 7, 0] == 224
    assert rank(left, right, SearchRange(0, 1), width=15, height=15).costs[7, 7, 0] == 224
    for steps in (127, 32767):
        volume = ad_census(
            left,
            right,
            SearchRange(0, 1),
            width=15,
            height=15,
            lambda_census=1.0,
            lambda_ad=1.0,
            quantization_steps=steps,
        )
        assert volume.costs[7, 7, 0] == 2 * steps


def around(values, known, toward, sigma):
    """Averages of known values by SciPy's Gaussian, `toward` where nothing is near."""
    total, weight = (
        gaussian_filter(np.where(known, v, 0.0), sigma, mode="constant", truncate=6)
        for v in (values, 1.0)
    )
    return (total + 1e-3 * toward) / (weight + 1e-3)


@pytest.mark.compiled
@pytest.mark.parametrize("residual", [2.0, 6.0, 40.0])
def test_differences_give_way_where_light_differs(residual):
    rng = np.random.default_rng(0)
    rows, columns = 60, 80
    match = rng.integers(60, 150, (rows, columns)).astype(np.uint8)
    shadow = np.where(np.arange(columns) > 45, 50, 0)
    reference = np.clip(match + 3 - shadow + rng.integers(-3, 4, match.shape), 0, 255).astype(
        np.uint8
    )
    status = rng.choice([Status.MATCHED, Status.FILLED], match.shape, p=[0.8, 0.2]).astype(np.uint8)
    search = SearchRange(0, 3)
    look = {"first": DisparityMap(np.zeros(match.shape, np.float32), status, search)}
    apart, known = reference - match.astype(float), status == Status.MATCHED
    unlike = np.abs(around(apart, known, 0.0, 4.0))
    local = around(unlike, known, np.median(unlike[known]), 12.0)
    kept = 0.5 * np.minimum(
        np.minimum((residual / local) ** 4, (residual / np.median(np.abs(apart[known]))) ** 2), 1
    )
    found = ad_census(
        reference, match, search, look, residual=residual, ad_weight=0.5, census_weight=1.0
    )
    parts = [
        ad_census(reference, match, search, ad_weight=a, census_weight=b).costs
        for a, b in ((1, 1e-9), (1e-9, 1))
    ]
    share = (kept / (kept + 1))[..., None]
    expected = 1.5 * (share * parts[0] + (1 - share) * parts[1])
    seen = search.in_view(columns)[None]
    # Averages of 12 pixels are taken of blocks of 2x2; the fourth power of their error near the shadow's edge is the largest.
    np.testing.assert_allclose(
        np.where(seen, found.costs, 0), np.where(seen, expected, 0), atol=0.03
    )
    assert found.outside_cost == 0.75
    if residual == 6.0:
        # In the light differences count in full, in the shadow next to nothing.
        assert kept[:, :20].min() > 0.49
        assert kept[:, 70:].max() < 0.001


def test_differences_count_in_full_where_nothing_is_known():
    image, search = (
        np.random.default_rng(1).integers(0, 255, (12, 20)).astype(np.uint8),
        SearchRange(0, 3),
    )
    other = np.roll(image, 3, axis=1)
    look = {
        "first": DisparityMap(
            np.zeros((12, 20), np.float32), np.full((12, 20), Status.FILLED, np.uint8), search
        )
    }
    np.testing.assert_array_equal(
        ad_census(image, other, search, look, residual=2.0).costs,
        ad_census(image, other, search).costs,
    )
    with pytest.raises(
        ParameterError,
        match=r"^ad_census.residual: needs an initial map, "
        r"and the method names no auxiliary methods$",
    ):
        ad_census(image, other, search, residual=2.0)


@pytest.mark.parametrize(
    ("weight", "steps", "dtype"),
    [
        # Largest costs of 255 and of 65535 fit; a step more needs another type, or is
        # refused.
        (1.25, 102, np.uint8),
        (1.25, 103, np.uint16),
        (1.5, 21845, np.uint16),
        (1.5, 21846, None),
    ],
)
def test_the_largest_cost_decides_about_the_type(weight, steps, dtype):
    image, search = np.zeros((4, 6), np.uint8), SearchRange(0, 2)
    weights = {"ad_weight": weight, "census_weight": weight}
    if dtype is None:
        with pytest.raises(ParameterError, match="21846 times the weights, 3, is above 65535"):
            ad_census(image, image, search, quantization_steps=steps, **weights)
        return
    assert ad_census(image, image, search, quantization_steps=steps, **weights).costs.dtype == dtype
