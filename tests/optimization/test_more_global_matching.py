import itertools

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from kernel_inputs import filled

from stereo_framework import CostVolume, Search
from stereo_framework.optimization import more_global_matching, winner_take_all

AXES = [(1, 0), (0, 1), (-1, 0), (0, -1)]
DIAGONALS = [(1, 1), (-1, 1), (-1, -1), (1, -1)]


def volume(costs):
    return CostVolume(np.asarray(costs, np.float32), Search(0, np.shape(costs)[2] - 1), 255.0)


def naive(costs, directions, p1, p2):
    """The sums by the formula, pixel by pixel: a direction (x, y) and the one a quarter turn on."""
    rows, columns, levels = costs.shape
    sums = np.zeros(costs.shape)
    penalty = np.array([[0 if a == b else p1 if abs(a - b) == 1 else p2 for a in range(levels)] for b in range(levels)], float)
    for dx, dy in [*AXES, *DIAGONALS][:directions]:
        found = {}
        both = [(dx, dy), (-dy, dx)]
        # Each pixel after those that it hears from: both steps go on along their sum.
        ahead = [sum(step[k] for step in both) for k in (0, 1)]
        for y, x in sorted(itertools.product(range(rows), range(columns)), key=lambda p: ahead[0] * p[1] + ahead[1] * p[0]):
            behind = [found[y - sy, x - sx] for sx, sy in both if (y - sy, x - sx) in found]
            heard = [(own + penalty).min(axis=1) - own.min() for own in behind]
            found[y, x] = costs[y, x] + (np.mean(heard, axis=0) if heard else 0)
            sums[y, x] += found[y, x]
    return sums


@given(
    costs=st.sampled_from([(4, 5, 3), (3, 3, 4), (1, 6, 2), (5, 1, 3), (2, 2, 2), (5, 4, 2)]).flatmap(
        lambda shape: filled(shape, np.arange(60))
    ),
    directions=st.sampled_from([4, 8]),
    p1=st.sampled_from([0, 2, 7]),
    more=st.sampled_from([0, 5, 30]),
)
def test_agrees_with_the_formula(costs, directions, p1, more):
    found = more_global_matching(volume(costs), directions=directions, p1=p1, p2=p1 + more)
    expected = naive(np.asarray(costs, float), directions, p1, p1 + more)
    # Halves of whole numbers are exact in float32 for as long as they are few; beyond that they round.
    np.testing.assert_allclose(found.volume.costs, expected, rtol=1e-5)
    np.testing.assert_array_equal(found.levels, winner_take_all(found.volume).levels)
    np.testing.assert_array_equal(
        found.costs, np.take_along_axis(np.asarray(costs), found.levels[..., None].astype(int), 2)[..., 0]
    )


def test_closed_cells_stay_closed():
    costs = np.random.default_rng(7).integers(0, 40, (6, 8, 5)).astype(np.float32)
    costs[:, :3, 2] = np.nan
    costs[4, 5] = np.nan
    found = more_global_matching(volume(costs))
    assert (found.volume.costs[np.isnan(costs)] >= 1e6).all()
    assert (found.volume.costs[~np.isnan(costs)] < 1e5).all()
