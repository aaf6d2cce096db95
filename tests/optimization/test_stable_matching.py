import naive_correlation
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kernel_inputs import filled, in_threads, searches
from naive_stable import Table

from stereo_framework import CostVolume, Energy, Pipeline, Search, load_scene, step
from stereo_framework.matching_cost import normalized_cross_correlation
from stereo_framework.optimization import stable_matching

WHOLE = (1, 2, 3)
# Eighths: similarities and margins are exact, so that twins and kernel decide ties alike. Few values make many ties.
COSTS = np.arange(17) / 8
parameters = st.fixed_dictionaries(
    {
        "alpha": st.sampled_from([0, 20, 2000]),
        "beta": st.sampled_from([0, 0.125, 0.5]),
        "size": st.sampled_from([2, 3]),
        "ordering": st.booleans(),
        "two_sided": st.booleans(),
    }
)


@st.composite
def problems(draw, columns, levels=None):
    """A volume, its images and its parameters."""
    search = draw(searches(WHOLE))
    if levels:
        search = Search(search.minimum, search.minimum + (levels - 1) * search.step, search.step, search.direction)
    shape = draw(st.sampled_from([3, 1])), draw(columns)
    volume = CostVolume(draw(filled((*shape, search.levels), COSTS)).astype(np.float32), search, 2.0)
    images = [draw(filled(shape, np.arange(256))).astype(np.uint8) for _ in range(2)]
    return volume, images, draw(parameters)


def tables(volume, images, parameters):
    rules = {k: v for k, v in parameters.items() if k != "size"}
    for y in range(volume.costs.shape[0]):
        variances = [
            [float(naive_correlation.variance(image, y, x, parameters["size"])) for x in range(image.shape[1])]
            for image in images
        ]
        yield Table(volume.costs[y], volume.search, *variances, **rules)


@given(problem=problems(st.sampled_from([9, 12, 5, 2, 1])), threads=st.integers(1, 3))
def test_agrees_with_twin(problem, threads):
    volume, images, parameters = problem
    with in_threads(threads):
        result = stable_matching(volume, *images, **parameters)
    for y, table in enumerate(tables(*problem)):
        assert result.levels[y].tolist() == table.levels(table.greedy(), volume.costs.shape[1])
    chosen = np.take_along_axis(volume.costs, np.maximum(result.levels, 0)[..., None].astype(int), axis=2)[..., 0]
    np.testing.assert_array_equal(result.costs, np.where(result.levels < 0, 0, chosen))
    assert (result.levels.dtype, result.costs.dtype) == (np.int16, np.float32)


@given(problem=problems(st.sampled_from([4, 3, 2]), levels=3))
def test_is_the_union_of_all_strict_sub_kernels(problem):
    volume, images, parameters = problem
    result = stable_matching(volume, *images, **parameters)
    for y, table in enumerate(tables(*problem)):
        # At most 12 candidates, 4096 sets.
        union = set().union(*table.all_sub_kernels())
        assert table.is_strict_sub_kernel(tuple(union))
        assert result.levels[y].tolist() == table.levels(union, volume.costs.shape[1])


def random_problem(seed, columns=40, levels=12):
    rng = np.random.default_rng(seed)
    costs = rng.uniform(0, 2, (6, columns, levels)).astype(np.float32)
    images = rng.integers(0, 256, (2, 6, columns), np.uint8)
    return Energy(CostVolume(costs, Search(0, levels - 1), 2.0)), *images


@pytest.mark.parametrize("ordering", [False, True])
def test_no_pixel_is_matched_twice_and_order_is_kept(ordering):
    energy, *images = random_problem(1)
    labels = stable_matching(energy.volume, *images, alpha=0, beta=0.02, ordering=ordering).levels
    assert (labels >= 0).mean() > 0.2
    reversals = 0
    for row in labels:
        matched = np.flatnonzero(row >= 0)
        positions = matched - row[matched]
        assert len(set(positions)) == len(positions)
        reversals += (np.diff(positions) <= 0).sum()
    assert (reversals == 0) == ordering


def test_without_margins_no_two_pixels_would_rather_have_each_other():
    energy, *images = random_problem(2)
    labels = stable_matching(energy.volume, *images, alpha=0, beta=0).levels
    for costs, row in zip(energy.volume.costs, labels, strict=True):
        own = {x: costs[x, k] for x, k in enumerate(row) if k >= 0}
        other = {x - k: costs[x, k] for x, k in enumerate(row) if k >= 0}
        for x, k in np.ndindex(costs.shape):
            if x - k >= 0 and row[x] != k:
                assert costs[x, k] >= min(own.get(x, 9), other.get(x - k, 9))


def test_a_chain_of_matches_that_wait_for_each_other():
    # Each pixel prefers its predecessor's partner, so that they are settled one by one.
    columns = 30
    costs = np.full((1, columns, 2), 2, np.float32)
    costs[0, :, 0] = np.arange(columns) / 16
    costs[0, 1:, 1] = np.arange(1, columns) / 16 - 1 / 32
    image = np.zeros((1, columns), np.uint8)
    labels = stable_matching(CostVolume(costs, Search(0, 1), 2.0), image, image, alpha=0, beta=0).levels
    assert labels.tolist() == [[0] * columns]


def test_texture_decides_where_alpha_asks_for_it():
    rng = np.random.default_rng(4)
    match = rng.integers(0, 256, (9, 40), np.uint8)
    match[:, 20:] = 100 + match[:, 20:] // 64
    reference = np.roll(match, 3, axis=1)
    volume = normalized_cross_correlation(reference, match, Search(0, 6))
    labels = stable_matching(volume, reference, match, alpha=20, beta=0).levels
    assert (labels[:, 6:20] == 3).mean() > 0.95
    # Standard deviations of a grey level: 20 / (1.25 + 1.25) is more than correlations can differ by.
    assert (labels[:, 27:] == -1).all()
    # Not for want of a match.
    assert (stable_matching(volume, reference, match, alpha=0, beta=0).levels[:, 27:] == 3).mean() > 0.95


@pytest.mark.parametrize(
    "scene", ["tsukuba", "venus", *(pytest.param(name, marks=pytest.mark.slow) for name in ("teddy", "cones"))]
)
def test_larger_margins_give_sparser_maps_and_fewer_errors(scene, data):
    scene = load_scene(f"middlebury-v2/{scene}", data=data)
    nonocc = scene.mask("nonocc")

    def measured(alpha, beta):
        method = Pipeline([normalized_cross_correlation, step(stable_matching, alpha=alpha, beta=beta)])
        disparity = method(scene).disparity
        matched = np.isfinite(disparity) & nonocc
        return matched.sum() / nonocc.sum(), (np.abs(disparity - scene.truth)[matched] > 1).mean()

    found = [measured(alpha, beta) for alpha, beta in ((0, 0), (0, 0.05), (10, 0.05), (50, 0.1), (150, 0.3))]
    density, error = zip(*found, strict=True)
    assert density[0] > 0.95
    assert (np.diff(density) < 0).all()
    # Beyond that what is left lies along edges of high contrast, where windows see two surfaces: errors need not fall further.
    assert error[0] > error[1] > error[2]
    assert error[2] < 0.5 * error[0]
