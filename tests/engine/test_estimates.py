"""Estimates of memory, compared with formulas, and the tiles that follow from them."""

import math

import numpy as np
import pytest
from pipeline_parts import local, not_local

from stereo_framework import Pipeline, SearchRange, step
from stereo_framework.aggregation import bayesian_diffusion, box, diffusion, min_filter
from stereo_framework.core.errors import StereoFrameworkError
from stereo_framework.core.registration import stage
from stereo_framework.core.view import BothSides
from stereo_framework.engine import memory
from stereo_framework.engine.memory import fitted, in_tiles, of_large_pair, peak_memory, refusal
from stereo_framework.matching_cost import absolute_difference, census
from stereo_framework.optimization import graph_cut, winner_take_all
from stereo_framework.refinement import left_right_check, parabola
from stereo_framework.scheme import tiles
from stereo_framework.smoothness import potts

SHAPE = (1000, 700)
SEARCH = SearchRange(0, 63)
VOLUME = 4 * 1000 * 700 * 64
"""Bytes of a volume of this shape and range in float32."""

PLAIN = Pipeline([absolute_difference, winner_take_all])
CUT = Pipeline([absolute_difference, potts, graph_cut])
TILE_SIZES = (1024, 768, 512, 384, 256, 192, 128)


def strips(height, halo, rows=1000):
    """Return the bytes that local steps hold: three volumes of a strip and its halo on both sides."""
    return 3 * VOLUME * min(rows, height + 2 * halo) // rows


@pytest.mark.parametrize(
    ("aggregation", "halo"),
    [
        ([step(box, size=1)], 0),
        ([step(box, size=9)], 4),
        ([step(box, size=65)], 32),
        # An even window reaches further to one side, and the halo has that length.
        ([step(box, size=8)], 4),
        # The halos of two steps add up.
        ([step(box, size=65), step(min_filter, size=21)], 42),
        ([step(box, size=9, iterations=3)], 12),
        # Halos that are higher than the image add none of their rows.
        ([step(box, size=901)], 450),
    ],
)
def test_strips_of_local_steps_have_their_halo_on_both_sides(aggregation, halo):
    method = PLAIN.having(aggregation=aggregation)
    assert peak_memory([method], SHAPE, SEARCH) == strips(128, halo)


@pytest.mark.parametrize(
    ("columns", "levels", "height"),
    [
        # 64 MiB are 2^24 costs: 128 rows of 2^17.
        (1024, 128, 128),
        (1024, 129, 64),
        (1025, 128, 64),
    ],
)
def test_strips_above_64_mib_are_halved(columns, levels, height):
    search = SearchRange(0, levels - 1)
    volume = 4 * 1000 * columns * levels
    method = PLAIN.having(aggregation=[step(box, size=9)])
    assert peak_memory([method], (1000, columns), search) == 3 * volume * (height + 8) // 1000


def test_images_of_few_rows_are_no_strips():
    method = PLAIN.having(aggregation=[step(box, size=9)])
    assert peak_memory([method], (100, 700), SEARCH) == 3 * 4 * 100 * 700 * 64


@pytest.mark.parametrize(
    ("pipelines", "options", "expected"),
    [
        # The kept volume exists whole beside the strips.
        ([PLAIN], {"keep_volume": True}, strips(128, 0) + VOLUME),
        ([PLAIN], {"both": True}, strips(128, 0)),
        # The costs, and two volumes of a graph cut; four of an aggregation of the whole.
        ([CUT], {}, 3 * VOLUME),
        ([CUT], {"both": True}, 3 * VOLUME),
        ([PLAIN.having(aggregation=[step(diffusion, iterations=5)])], {}, 5 * VOLUME),
        ([PLAIN.having(aggregation=[bayesian_diffusion])], {}, 5 * VOLUME),
        # A common cost and the strips of the wider of two windows.
        (
            [PLAIN.having(aggregation=[step(box, size=size)]) for size in (9, 65)],
            {},
            VOLUME + strips(128, 32),
        ),
        # A sum of costs that two windows share is added to one more volume.
        (
            [
                Pipeline(
                    [
                        step(absolute_difference, weight=1),
                        step(census, weight=1),
                        step(box, size=size),
                        winner_take_all,
                    ]
                )
                for size in (3, 5)
            ],
            {},
            2 * VOLUME,
        ),
    ],
)
def test_memory_is_that_of_the_volumes_at_the_fullest_moment(pipelines, options, expected):
    assert peak_memory(pipelines, SHAPE, SEARCH, **options) == expected


def test_steps_of_the_user_count_as_the_largest_of_their_slot(registry):
    @stage("aggregation", **not_local)
    def my_aggregation(volume):
        return volume

    @stage("optimization", **not_local)
    def my_optimizer(volume):
        return winner_take_all(volume)

    @stage("optimization", **not_local, memory=5)
    def hungry(volume):
        return winner_take_all(volume)

    @stage("optimization", **not_local, other_needs={"volume"})
    def of_both_sides(volume, other):
        return BothSides(winner_take_all(volume), winner_take_all(other.volume))

    for steps, volumes in (
        ([absolute_difference, my_aggregation, winner_take_all], 1 + 4),
        ([absolute_difference, my_optimizer], 1 + 2),
        ([absolute_difference, hungry], 1 + 5),
        ([absolute_difference, of_both_sides], 2 + 2),
    ):
        assert peak_memory([Pipeline(steps)], SHAPE, SEARCH) == volumes * VOLUME


def test_a_check_of_both_views_holds_one_volume_at_a_time():
    method = PLAIN.having(refinement=[left_right_check])
    assert peak_memory([method], SHAPE, SEARCH) == strips(128, 0)
    fine = PLAIN.having(refinement=[parabola, left_right_check])
    assert peak_memory([fine], SHAPE, SEARCH) == strips(128, 0)


@pytest.mark.parametrize(("tile_size", "overlap"), [(500, 0), (500, 64), (250, 10)])
def test_memory_under_a_scheme_is_that_of_its_largest_part(tile_size, overlap):
    method = CUT.having(scheme=step(tiles, tile_size=tile_size, overlap=overlap, reduction=1))
    rows = tile_size + overlap * (2 if tile_size < 500 else 1)
    largest_part = tiles_stage_memory(tile_size=tile_size, overlap=overlap)
    assert largest_part[0] == rows
    part_volume = 4 * math.prod(largest_part) * 64
    assert peak_memory([method], SHAPE, SEARCH) == 3 * part_volume


def tiles_stage_memory(**parameters):
    """Return rows and columns of the largest tile, whose own tests compare it with real ones."""
    stage_step = step(tiles, **parameters, reduction=1)
    return stage_step.stage.memory(SHAPE, SEARCH, **stage_step.parameters)


# --- what fits ----------------------------------------------------------------------------------------------------------


def tiled(tile_size):
    """Return the method that is cut into tiles of a size."""
    return CUT.having(scheme=step(tiles, tile_size=tile_size))


def size_of(method):
    """Return the size of the tiles of a method; None if it runs whole."""
    steps = method.in_slot("scheme")
    return steps[0].parameters["tile_size"] if steps else None


@pytest.mark.parametrize(
    ("share", "size"),
    [(1.1, 512), (1.24, 512), (1.26, None), (0.7, 384)],
)
def test_four_fifths_of_the_free_memory_may_be_taken(monkeypatch, share, size):
    monkeypatch.setattr(memory, "free_memory", lambda: share * 3 * VOLUME)
    assert size_of(fitted(CUT, SHAPE, SEARCH)) == size


def test_a_pair_that_takes_exactly_the_allowed_memory_runs_whole():
    assert size_of(fitted(CUT, SHAPE, SEARCH, 3 * VOLUME)) is None
    assert size_of(fitted(CUT, SHAPE, SEARCH, 3 * VOLUME - 1)) == 512


@pytest.mark.parametrize(
    ("size", "next_size"), [*zip(TILE_SIZES, (*TILE_SIZES[1:], None), strict=True)]
)
def test_the_largest_tiles_that_fit_are_taken(size, next_size):
    # Of these images all tiles differ in size.
    shape = (3000, 3000)
    need = peak_memory([tiled(size)], shape, SEARCH)
    assert size_of(in_tiles(CUT, shape, SEARCH, need)) == size
    smaller = in_tiles(CUT, shape, SEARCH, need - 1)
    if next_size is None:
        assert smaller is None
    else:
        assert size_of(smaller) == next_size


def test_neither_another_scheme_nor_too_little_memory_allows_tiles():
    halved = CUT.having(scheme=step("coarse"))
    assert in_tiles(halved, SHAPE, SEARCH, math.inf) is None
    assert size_of(in_tiles(tiled(300), SHAPE, SEARCH, math.inf)) == 1024
    with pytest.raises(StereoFrameworkError, match=r"; use fewer levels or smaller images$"):
        fitted(CUT, SHAPE, SEARCH, 1000)


def test_pairs_of_exactly_the_large_number_of_cells_are_cut_into_tiles(monkeypatch):
    cells = 1000 * 700 * 64
    monkeypatch.setattr(memory, "_LARGE", cells)
    assert size_of(fitted(CUT, SHAPE, SEARCH, math.inf)) == 1024
    assert size_of(of_large_pair(CUT, SHAPE, SEARCH)) == 1024
    monkeypatch.setattr(memory, "_LARGE", cells + 1)
    assert fitted(CUT, SHAPE, SEARCH, math.inf) is CUT
    assert of_large_pair(CUT, SHAPE, SEARCH) is CUT


def test_pairs_from_half_a_thousand_million_cells_are_large():
    assert memory._LARGE == 2**29
    assert of_large_pair(CUT, (2**12, 2**11), SearchRange(0, 62)) is CUT
    assert size_of(of_large_pair(CUT, (2**12, 2**11), SearchRange(0, 63))) == 1024


def test_only_methods_with_a_whole_volume_and_no_scheme_are_cut_into_tiles(monkeypatch, registry):
    monkeypatch.setattr(memory, "_LARGE", 1)

    @stage("optimization", **not_local, memory=0)
    def frugal(volume):
        return winner_take_all(volume)

    @stage("matching_cost", **local)
    def small_cost(reference, match, search):
        return absolute_difference(reference, match, search)

    whole = Pipeline([small_cost, frugal])
    assert peak_memory([whole], SHAPE, SEARCH) == VOLUME
    assert size_of(of_large_pair(whole, SHAPE, SEARCH)) == 1024
    assert of_large_pair(PLAIN, SHAPE, SEARCH) is PLAIN
    already = tiled(300)
    assert of_large_pair(already, SHAPE, SEARCH) is already


@pytest.mark.parametrize(
    ("need", "allowed", "needed", "limit"),
    [
        (2**29, 2**29 - 1, "0.5 GiB", "512 MiB"),
        (3 * 2**30, 2**30, "3.0 GiB", "1.0 GiB"),
        (200 * 2**20, 1.5 * 2**20, "200 MiB", "1.5 MiB"),
    ],
)
def test_a_refusal_names_both_amounts_and_the_tiles_that_fit(need, allowed, needed, limit):
    small = (90, 120)
    message = (
        f"{CUT.name} needs about {needed} for 120x90 pixels and 8 levels; {limit} are {{}}; "
        "use fewer levels or smaller images, or tiles: "
        "--set 'scheme=[{{use: tiles, tile_size: 1024}}]'"
    )
    search = SearchRange(0, 7)
    assert refusal(CUT, small, search, need, allowed) == message.format("allowed (--memory)")
    assert refusal(CUT, small, search, need, allowed, "free") == message.format("free")


def test_a_pair_that_takes_exactly_the_free_memory_is_matched(monkeypatch):
    from stereo_framework.core.pair import Pair
    from stereo_framework.engine import pipeline

    pair = Pair(*np.zeros((2, 9, 20), np.uint8), SearchRange(0, 3))
    need = peak_memory([CUT], pair.shape, pair.search)
    monkeypatch.setattr(pipeline, "free_memory", lambda: need)
    assert CUT.estimate(pair).disparity.shape == (9, 20)
    monkeypatch.setattr(pipeline, "free_memory", lambda: need - 1)
    with pytest.raises(StereoFrameworkError, match=r"are free; use fewer levels"):
        CUT.estimate(pair)
