"""Predicted memory of cost volumes, and tiles with which a method fits into memory."""

import itertools
import math

import numpy as np
import pytest
from pipeline_parts import local, not_local

from stereo_framework import Pipeline, SearchRange, step
from stereo_framework.aggregation import bayesian_diffusion, box, diffusion, min_filter
from stereo_framework.core.errors import StereoFrameworkError
from stereo_framework.core.pair import Pair
from stereo_framework.core.registration import stage
from stereo_framework.core.view import BothSides
from stereo_framework.engine import pipeline, tiling
from stereo_framework.engine.memory import MemoryPeak, peak_memory
from stereo_framework.engine.tiling import fitted, in_tiles, of_large_pair, refusal
from stereo_framework.matching_cost import absolute_difference, census
from stereo_framework.optimization import graph_cut, winner_take_all
from stereo_framework.refinement import left_right_check, parabola
from stereo_framework.scheme import tiles
from stereo_framework.smoothness import potts

SHAPE = (1000, 700)
SEARCH = SearchRange(0, 63)
CELLS = 1000 * 700 * 64
VOLUME = 4 * CELLS
"""Bytes of a cost volume of this shape and search range in float32."""

LOCAL_METHOD = Pipeline([absolute_difference, winner_take_all])
"""Method whose steps are all local, so that it runs strip by strip."""

GLOBAL_METHOD = Pipeline([absolute_difference, potts, graph_cut])
"""Method with a global optimizer, which needs three whole cost volumes."""

TILE_SIZES = (1024, 768, 512, 384, 256, 192, 128)


def strip_memory(halo):
    """Return the bytes of three volumes of 128 rows with a halo above and below."""
    rows = min(SHAPE[0], 128 + 2 * halo)
    return 3 * VOLUME * rows // SHAPE[0]


# --- local steps ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("aggregation", "halo"),
    [
        ([step(box, size=1)], 0),
        ([step(box, size=9)], 4),
        ([step(box, size=65)], 32),
        # A window of even size is longer on one side of the pixel. The halo has the
        # length of this side.
        ([step(box, size=8)], 4),
        # The halos of two steps add up.
        ([step(box, size=65), step(min_filter, size=21)], 42),
        ([step(box, size=9, iterations=3)], 12),
        # Rows of a halo that lie outside the image need no memory.
        ([step(box, size=901)], 450),
    ],
)
def test_strips_of_local_steps_have_their_halo_on_both_sides(aggregation, halo):
    method = LOCAL_METHOD.having(aggregation=aggregation)
    assert peak_memory([method], SHAPE, SEARCH).size == strip_memory(halo)


@pytest.mark.parametrize(
    ("columns", "levels", "height"),
    [
        # 64 MiB are 2^24 costs, which are 128 rows with 2^17 costs each.
        (1024, 128, 128),
        (1024, 129, 64),
        (1025, 128, 64),
    ],
)
def test_strips_of_more_than_64_mib_are_halved(columns, levels, height):
    search = SearchRange(0, levels - 1)
    volume = 4 * 1000 * columns * levels
    method = LOCAL_METHOD.having(aggregation=[step(box, size=9)])
    assert peak_memory([method], (1000, columns), search).size == 3 * volume * (height + 8) // 1000


def test_an_image_with_fewer_rows_than_a_strip_is_computed_as_a_whole():
    volume = 4 * 100 * 700 * 64
    method = LOCAL_METHOD.having(aggregation=[step(box, size=9)])
    assert peak_memory([method], (100, 700), SEARCH).size == 3 * volume


def test_a_left_right_check_needs_the_volume_of_only_one_image_at_a_time():
    method = LOCAL_METHOD.having(refinement=[left_right_check])
    assert peak_memory([method], SHAPE, SEARCH).size == strip_memory(halo=0)
    method_with_parabola = LOCAL_METHOD.having(refinement=[parabola, left_right_check])
    assert peak_memory([method_with_parabola], SHAPE, SEARCH).size == strip_memory(halo=0)


# --- whole cost volumes ---------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"keep_volume": True}, strip_memory(halo=0) + VOLUME),
        ({"both": True}, strip_memory(halo=0)),
    ],
)
def test_only_a_kept_volume_adds_to_the_memory_of_strips(options, expected):
    assert peak_memory([LOCAL_METHOD], SHAPE, SEARCH, **options).size == expected


@pytest.mark.parametrize("both", [False, True])
def test_a_graph_cut_holds_the_costs_and_two_more_volumes(both):
    assert peak_memory([GLOBAL_METHOD], SHAPE, SEARCH, both=both).size == 3 * VOLUME


@pytest.mark.parametrize("aggregation", [step(diffusion, iterations=5), step(bayesian_diffusion)])
def test_an_aggregation_of_the_whole_image_holds_the_costs_and_four_more_volumes(aggregation):
    method = LOCAL_METHOD.having(aggregation=[aggregation])
    assert peak_memory([method], SHAPE, SEARCH).size == 5 * VOLUME


def test_methods_that_share_a_cost_hold_its_volume_and_the_strips_of_the_largest_window():
    methods = [LOCAL_METHOD.having(aggregation=[step(box, size=size)]) for size in (9, 65)]
    assert peak_memory(methods, SHAPE, SEARCH).size == VOLUME + strip_memory(halo=32)


def test_a_shared_sum_of_costs_holds_the_sum_and_the_cost_that_is_added_to_it():
    costs = [step(absolute_difference, weight=1), step(census, weight=1)]
    methods = [Pipeline([*costs, step(box, size=size), winner_take_all]) for size in (3, 5)]
    assert peak_memory(methods, SHAPE, SEARCH).size == 2 * VOLUME


def test_a_plug_in_is_predicted_to_need_the_largest_memory_of_its_slot(registry):
    @stage("aggregation", **not_local)
    def my_aggregation(volume):
        return volume

    @stage("optimization", **not_local)
    def my_optimizer(volume):
        return winner_take_all(volume)

    @stage("optimization", **not_local, other_needs={"volume"})
    def my_optimizer_of_both_images(volume, other):
        return BothSides(winner_take_all(volume), winner_take_all(other.volume))

    # Each method also holds the volume of the matching cost, or of both matching costs.
    for steps, volumes in (
        ([my_aggregation, winner_take_all], 1 + 4),
        ([my_optimizer], 1 + 2),
        ([my_optimizer_of_both_images], 2 + 2),
    ):
        method = Pipeline([absolute_difference, *steps])
        assert peak_memory([method], SHAPE, SEARCH).size == volumes * VOLUME


def test_a_plug_in_that_declares_its_memory_is_predicted_to_need_that_memory(registry):
    @stage("optimization", **not_local, memory=5)
    def my_optimizer(volume):
        return winner_take_all(volume)

    method = Pipeline([absolute_difference, my_optimizer])
    assert peak_memory([method], SHAPE, SEARCH).size == (1 + 5) * VOLUME


# --- tiles ----------------------------------------------------------------------------


def largest_tile(**parameters):
    """Return the rows and columns of the largest tile, as the stage declares them.

    The tests of the stage compare these numbers with real tiles.
    """
    stage_step = step(tiles, **parameters, reduction=1)
    return stage_step.stage.memory(SHAPE, SEARCH, **stage_step.parameters)


@pytest.mark.parametrize(("tile_size", "overlap"), [(500, 0), (500, 64), (250, 10)])
def test_a_method_in_tiles_needs_the_memory_of_its_largest_tile(tile_size, overlap):
    # In a column of two tiles, each tile overlaps one other tile. In a column of four
    # tiles, each inner tile overlaps two other tiles.
    overlap_count = 1 if tile_size == 500 else 2
    rows, columns = largest_tile(tile_size=tile_size, overlap=overlap)
    assert rows == tile_size + overlap_count * overlap
    scheme = step(tiles, tile_size=tile_size, overlap=overlap, reduction=1)
    volume = 4 * rows * columns * 64
    assert peak_memory([GLOBAL_METHOD.having(scheme=scheme)], SHAPE, SEARCH).size == 3 * volume


def global_method_in_tiles(tile_size):
    """Return the global method under the scheme of tiles of a size."""
    return GLOBAL_METHOD.having(scheme=step(tiles, tile_size=tile_size))


def tile_size_of(method):
    """Return the size of the tiles of a method; None if it matches whole images."""
    schemes = method.in_slot("scheme")
    return schemes[0].parameters["tile_size"] if schemes else None


@pytest.mark.parametrize(
    ("free_share", "tile_size"),
    [(1.1, 512), (1.24, 512), (1.26, None), (0.7, 384)],
)
def test_four_fifths_of_the_free_memory_may_be_taken(monkeypatch, free_share, tile_size):
    needed_memory = 3 * VOLUME
    monkeypatch.setattr(tiling, "free_memory", lambda: free_share * needed_memory)
    assert tile_size_of(fitted(GLOBAL_METHOD, SHAPE, SEARCH)) == tile_size


def test_a_method_that_needs_exactly_the_allowed_memory_matches_whole_images():
    needed_memory = 3 * VOLUME
    assert tile_size_of(fitted(GLOBAL_METHOD, SHAPE, SEARCH, needed_memory)) is None
    assert tile_size_of(fitted(GLOBAL_METHOD, SHAPE, SEARCH, needed_memory - 1)) == 512


@pytest.mark.parametrize(
    ("tile_size", "next_tile_size"), [*itertools.pairwise((*TILE_SIZES, None))]
)
def test_the_largest_tiles_that_fit_into_the_memory_are_used(tile_size, next_tile_size):
    # In images of this size, tiles of all sizes need different amounts of memory.
    shape = (3000, 3000)
    needed_memory = peak_memory([global_method_in_tiles(tile_size)], shape, SEARCH).size
    assert tile_size_of(in_tiles(GLOBAL_METHOD, shape, SEARCH, needed_memory)) == tile_size
    method_in_smaller_tiles = in_tiles(GLOBAL_METHOD, shape, SEARCH, needed_memory - 1)
    if next_tile_size is None:
        assert method_in_smaller_tiles is None
    else:
        assert tile_size_of(method_in_smaller_tiles) == next_tile_size


def test_a_method_with_another_scheme_is_not_divided_into_tiles():
    coarse_method = GLOBAL_METHOD.having(scheme=step("coarse"))
    assert in_tiles(coarse_method, SHAPE, SEARCH, math.inf) is None


def test_the_tiles_of_a_method_are_replaced_by_the_largest_tiles_that_fit():
    method = in_tiles(global_method_in_tiles(300), SHAPE, SEARCH, math.inf)
    assert tile_size_of(method) == 1024


def test_a_method_that_fits_in_no_tiles_is_refused():
    with pytest.raises(StereoFrameworkError, match=r"; use fewer levels or smaller images$"):
        fitted(GLOBAL_METHOD, SHAPE, SEARCH, 1000)


# --- large pairs ----------------------------------------------------------------------


def test_a_pair_with_exactly_the_number_of_cells_of_large_pairs_is_divided_into_tiles(monkeypatch):
    monkeypatch.setattr(tiling, "_LARGE_CELLS", CELLS)
    assert tile_size_of(fitted(GLOBAL_METHOD, SHAPE, SEARCH, math.inf)) == 1024
    assert tile_size_of(of_large_pair(GLOBAL_METHOD, SHAPE, SEARCH)) == 1024
    monkeypatch.setattr(tiling, "_LARGE_CELLS", CELLS + 1)
    assert fitted(GLOBAL_METHOD, SHAPE, SEARCH, math.inf) is GLOBAL_METHOD
    assert of_large_pair(GLOBAL_METHOD, SHAPE, SEARCH) is GLOBAL_METHOD


def test_a_large_pair_has_at_least_two_to_the_power_of_29_cells():
    assert tiling._LARGE_CELLS == 2**29
    shape = (2**12, 2**11)
    assert of_large_pair(GLOBAL_METHOD, shape, SearchRange(0, 62)) is GLOBAL_METHOD
    assert tile_size_of(of_large_pair(GLOBAL_METHOD, shape, SearchRange(0, 63))) == 1024


def test_a_method_that_holds_exactly_one_whole_volume_is_divided_into_tiles(monkeypatch, registry):
    monkeypatch.setattr(tiling, "_LARGE_CELLS", 1)

    @stage("matching_cost", **local)
    def local_cost(reference, match, search):
        return absolute_difference(reference, match, search)

    @stage("optimization", **not_local, memory=0)
    def optimizer_without_volume(volume):
        return winner_take_all(volume)

    method = Pipeline([local_cost, optimizer_without_volume])
    assert peak_memory([method], SHAPE, SEARCH).size == VOLUME
    assert tile_size_of(of_large_pair(method, SHAPE, SEARCH)) == 1024


def test_a_method_in_strips_or_with_a_scheme_matches_large_pairs_unchanged(monkeypatch):
    monkeypatch.setattr(tiling, "_LARGE_CELLS", 1)
    assert of_large_pair(LOCAL_METHOD, SHAPE, SEARCH) is LOCAL_METHOD
    method_in_tiles = global_method_in_tiles(300)
    assert of_large_pair(method_in_tiles, SHAPE, SEARCH) is method_in_tiles


# --- refused pairs --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("needed_memory", "allowed_memory", "needed_text", "allowed_text"),
    [
        (2**29, 2**29 - 1, "0.5 GiB", "512 MiB"),
        (3 * 2**30, 2**30, "3.0 GiB", "1.0 GiB"),
        (200 * 2**20, 1.5 * 2**20, "200 MiB", "1.5 MiB"),
    ],
)
def test_a_refusal_names_both_amounts_of_memory_and_the_tiles_that_fit(
    needed_memory, allowed_memory, needed_text, allowed_text
):
    refused_pair = (GLOBAL_METHOD, (90, 120), SearchRange(0, 7))
    needs = f"{GLOBAL_METHOD.name} needs about {needed_text} for 120x90 pixels and 8 levels"
    remedy = (
        "use fewer levels or smaller images, or tiles: "
        "--set 'scheme=[{use: tiles, tile_size: 1024}]'"
    )
    peak = MemoryPeak(needed_memory, GLOBAL_METHOD.name)
    text = refusal(*refused_pair, peak, allowed_memory)
    assert text == f"{needs}; {allowed_text} are allowed (--memory); {remedy}"
    text = refusal(*refused_pair, peak, allowed_memory, "free")
    assert text == f"{needs}; {allowed_text} are free; {remedy}"


def method_with_small_aggregation():
    """Return a method whose only large copy is the reset of the outside costs."""

    @stage("aggregation", **not_local, memory=1)
    def in_place(volume, raw):
        return volume

    return Pipeline([absolute_difference, in_place, winner_take_all])


@pytest.mark.parametrize(
    ("steps", "auxiliary", "expected"),
    [
        ([absolute_difference, bayesian_diffusion, winner_take_all], {}, "bayesian_diffusion"),
        ([absolute_difference, bayesian_diffusion, potts, graph_cut], {}, "bayesian_diffusion"),
        ([absolute_difference, box, potts, graph_cut], {}, "graph_cut"),
        ([absolute_difference, winner_take_all], {}, "winner_take_all"),
        ([absolute_difference, box, winner_take_all], {}, "box"),
        (
            [step(absolute_difference, weight=1), step(census, weight=1), winner_take_all],
            {},
            "the sum of the matching costs",
        ),
        ([absolute_difference, winner_take_all], {"slow": GLOBAL_METHOD}, "graph_cut"),
        (
            [absolute_difference, bayesian_diffusion, winner_take_all, tiles],
            {},
            "bayesian_diffusion",
        ),
        (method_with_small_aggregation, {}, "in_place"),
    ],
)
def test_a_refusal_names_the_stage_that_needs_the_most_memory(registry, steps, auxiliary, expected):
    method = steps() if callable(steps) else Pipeline(steps, auxiliary)
    peak = peak_memory([method], SHAPE, SEARCH)
    assert peak.size == peak_memory([method], SHAPE, SEARCH).size
    assert peak.stage == expected
    text = refusal(method, SHAPE, SEARCH, peak, peak.size - 1)
    assert text.startswith(f"{expected} needs about ")


def test_a_pair_is_refused_if_its_method_needs_more_than_the_free_memory(monkeypatch):
    pair = Pair(*np.zeros((2, 9, 20), np.uint8), SearchRange(0, 3))
    needed_memory = peak_memory([GLOBAL_METHOD], pair.shape, pair.search).size
    monkeypatch.setattr(pipeline, "free_memory", lambda: needed_memory)
    assert GLOBAL_METHOD.estimate(pair).disparity.shape == (9, 20)
    monkeypatch.setattr(pipeline, "free_memory", lambda: needed_memory - 1)
    with pytest.raises(StereoFrameworkError, match=r"are free; use fewer levels"):
        GLOBAL_METHOD.estimate(pair)
