from dataclasses import replace

import cv2
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kernel_inputs import image_pairs, searches

from stereo_framework import Pipeline, Scene, SearchRange, load, load_scene, run, step
from stereo_framework.confidence import matching_score
from stereo_framework.core.errors import ResultWarning
from stereo_framework.core.pair import Pair
from stereo_framework.core.stage import stage_of
from stereo_framework.core.volume import SearchMask, Status
from stereo_framework.engine.memory import peak_memory
from stereo_framework.engine.tiling import of_large_pair
from stereo_framework.matching_cost import absolute_difference
from stereo_framework.optimization import winner_take_all
from stereo_framework.refinement import parabola
from stereo_framework.scheme import tiles
from stereo_framework.scheme.tiles import (
    _cut_mask,
    _find_surfaces,
    _halve,
    _reduce_window,
    _Span,
    _Surfaces,
    _TileDivider,
    _widen,
    _without_repeated_warnings,
)

POINTS = Pipeline([absolute_difference, winner_take_all, matching_score, parabola])
"""A method that looks at single pixels and their candidates."""


FOUND = replace(POINTS(Pair(*np.zeros((2, 3, 4), np.uint8), SearchRange(0, 1))), confidence={})
"""A match whose maps tests replace."""


def solved_by(disparity_of, **words):
    """A method that notes its pairs and returns made maps of matched pixels."""
    seen = []

    def solve(part):
        seen.append(part)
        disparity = np.full(part.shape, disparity_of(part), np.float32)
        return replace(FOUND, disparity=disparity, status=np.zeros(part.shape, np.uint8), **words)

    return seen, solve


def tiled(method, **parameters):
    return method.having(scheme=[step(tiles, **parameters)])


@settings(max_examples=25, deadline=None)
@given(
    data=st.data(),
    images=image_pairs(),
    search=searches(),
    tile_size=st.integers(1, 9),
    overlap=st.integers(0, 3),
)
def test_every_pixel_sees_all_its_candidates(data, images, search, tile_size, overlap):
    """Candidates of a pixel lie in its tile wherever it stands, so that a method of single pixels finds what it finds in the whole pair."""
    shape = images[0].shape[:2]
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    low = np.where(rng.random(shape) < 0.5, np.nan, search.minimum + 1).astype(np.float32)
    mask = data.draw(
        st.sampled_from(
            [
                None,
                SearchMask(valid=rng.random(shape) < 0.8),
                SearchMask(match_valid=rng.random(shape) < 0.8, low=low),
            ]
        )
    )
    pair = Pair(*images, search, mask)
    whole, match = (
        POINTS(pair),
        tiled(POINTS, tile_size=tile_size, overlap=overlap, reduction=1)(pair),
    )
    # The vertex of a parabola counts from another column there, and is rounded to float32 where it lies: some 1e-7 of the disparities, up to 10.
    np.testing.assert_allclose(match.disparity, whole.disparity, rtol=0, atol=2e-6)
    np.testing.assert_array_equal(match.status, whole.status)
    # The energy of what was put together is not known, and not 0.
    assert match.energy is match.objective is match.lower_bound is match.levels is None
    # Tiles agree where they overlap, since all of them see the same.
    assert (match.confidence["tiles"] >= -2e-6).all()


def test_the_confidence_map_shows_the_difference_between_overlapping_tiles():
    """Return the width of each tile as its disparity, and none in some upper rows."""
    pair = Pair(*np.zeros((2, 4, 10), np.uint8), SearchRange(0, 3))
    upper_rows = np.arange(4)[:, None] < 2

    def disparity_of(part):
        width = part.shape[1]
        return np.where(upper_rows, np.nan if width > 7 else 1, width)

    _, solve = solved_by(disparity_of)
    # The tiles decide columns 0 to 4 and 5 to 9 and contain columns 0 to 5 and 4 to 9. The
    # second tile contains three more columns on the left for its candidates.
    match = tiles(solve, pair, tile_size=5, overlap=1, reduction=1)
    assert match.disparity[3].tolist() == [6] * 5 + [9] * 5
    difference = match.confidence["tiles"]
    assert difference[3].tolist() == [0, 0, 0, 0, -3, -3, 0, 0, 0, 0]
    assert difference[0].tolist() == [0, 0, 0, 0, -3, -3, 0, 0, 0, 0]


def test_nobody_is_sure_of_what_has_no_estimate():
    """Each tile has a lowest value of its own for its pixels without an estimate; in the map they have the lowest of all."""
    rng = np.random.default_rng(3)
    pair = Pair(
        *rng.integers(0, 256, (2, 6, 30), np.uint8),
        SearchRange(0, 3),
        SearchMask(valid=rng.random((6, 30)) < 0.8),
    )
    match = tiled(POINTS.having(confidence=matching_score), tile_size=10, overlap=2, reduction=1)(
        pair
    )
    unknown = np.isnan(match.disparity)
    assert set(match.confidence) == {"matching_score", "tiles"}
    for values in match.confidence.values():
        assert (values[unknown] == values.min()).all()


def test_each_tile_is_searched_where_the_small_map_has_found_something():
    pair = Pair(*np.zeros((2, 16, 64), np.uint8), SearchRange(0, 40))
    # At half the size: 3 on the left, 10 on the right, and less than a quarter known of the third part.
    small = np.where(
        np.arange(32) < 11,
        3.0,
        np.where((np.arange(32) < 22) | (np.arange(8)[:, None] < 1), 10, np.nan),
    )
    seen, solve = solved_by(lambda part: small if part.shape == small.shape else 3)
    match = tiles(solve, pair, tile_size=21, overlap=0, reduction=2, margin=2.0)
    assert seen[0].shape == (8, 32)
    # 2 * 3 - 2 to 2 * 3 + 2; from there to 2 * 10 + 2, the match image moved by 4; all of the range, where less than a quarter is known.
    assert [(one.search.minimum, one.search.maximum) for one in seen[1:]] == [
        (4, 8),
        (0, 18),
        (0, 40),
    ]
    assert [one.shape for one in seen[1:]] == [(16, 21), (16, 38), (16, 62)]
    # What a tile finds counts from where its match image begins.
    assert [match.disparity[0, x] for x in (0, 30, 63)] == [3, 7, 3]


def solved_with_reduced_map(reduced_map, end="minimum"):
    """Return a list of matched pairs, and a method with a made map of the reduced pair.

    In a tile, the method returns the minimum or maximum of the tile's search range.
    """
    pairs = []

    def solve(part):
        pairs.append(part)
        disparity = np.full(part.shape, getattr(part.search, end), np.float32)
        if len(pairs) == 1:
            disparity = reduced_map.astype(np.float32)
        status = np.where(np.isnan(disparity), Status.OCCLUDED, Status.MATCHED).astype(np.uint8)
        return replace(FOUND, disparity=disparity, status=status)

    return pairs, solve


def columns_and_search(part, pair):
    """Return a tile's columns of the reference image, which holds its column numbers, and
    its search range in disparities of the whole pair.
    """
    columns = part.reference[0].astype(int)
    shift = pair.search.direction * (columns[0] - int(part.match[0, 0]))
    return columns, replace(
        part.search, minimum=part.search.minimum + shift, maximum=part.search.maximum + shift
    )


def pair_of_columns(rows, columns, search):
    """Return a pair whose images hold their column numbers."""
    image = np.broadcast_to(np.arange(columns, dtype=np.float32), (rows, columns))
    return Pair(image, image, search)


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("direction", [1, -1])
def test_pixels_outside_the_target_image_widen_no_search_range(direction, sign):
    ends = sorted((0, sign * 40))
    pair = pair_of_columns(16, 64, SearchRange(*ends, direction=direction))
    # In the reduced pair, 12 columns with the disparity 12 lie outside the target image.
    # Most of columns 24 to 31 are unmatched too, but the target image shows them.
    columns = np.arange(32)[:: direction * sign]
    unmatched = (columns < 12) | (columns > 23)
    pairs, solve = solved_with_reduced_map(
        np.where(unmatched, np.nan, np.full((8, 32), 12.0 * sign))
    )
    tiles(solve, pair, tile_size=16, overlap=0, reduction=2, margin=2.0)
    ranges = [columns_and_search(part, pair)[1] for part in pairs[1:]][:: direction * sign]
    narrow = sorted((sign * 22, sign * 26))
    assert [(search.minimum, search.maximum) for search in ranges] == [tuple(narrow)] * 3 + [
        tuple(ends)
    ]


@pytest.mark.parametrize("direction", [1, -1])
def test_a_tile_of_occluded_pixels_contains_the_occluding_surface(direction):
    pair = pair_of_columns(16, 160, SearchRange(0, 63, direction=direction))
    # A surface of disparity 20 in columns 50 to 69 occludes 16 columns of disparity 4.
    columns = np.arange(80)[::direction]
    background = np.where((columns >= 34) & (columns < 50), np.nan, 4.0)
    reduced_map = np.where((columns >= 50) & (columns < 70), 20.0, background)
    pairs, solve = solved_with_reduced_map(np.broadcast_to(reduced_map, (8, 80)))
    tiles(solve, pair, tile_size=20, overlap=0, reduction=2, margin=0.0)
    # Columns 80 to 99 are occluded. They are searched from 2 * 4 to 2 * 20.
    middle_tile = pairs[1:][::direction][4]
    middle_columns, search = columns_and_search(middle_tile, pair)
    assert (search.minimum, search.maximum) == (8, 40)
    # The occluded pixels may be confused with pixels that lie up to 32 columns away.
    assert {*range(80 - 32, 100 + 32)} <= {
        *(middle_columns if direction == 1 else 159 - middle_columns)
    }


def test_invalid_pixels_widen_no_search_range():
    pair = Pair(*np.zeros((2, 16, 64), np.uint8), SearchRange(0, 40))
    disparity = np.full((8, 32), np.nan, np.float32)
    disparity[:, 16:18] = 5
    status = np.where(np.isnan(disparity), Status.INVALID, Status.MATCHED).astype(np.uint8)
    pairs = []

    def solve(part):
        pairs.append(part)
        if len(pairs) == 1:
            return replace(FOUND, disparity=disparity, status=status)
        return replace(
            FOUND, disparity=np.zeros(part.shape, np.float32), status=np.zeros(part.shape, np.uint8)
        )

    tiles(solve, pair, tile_size=32, overlap=0, reduction=2, margin=2.0)
    ranges = [(part.search.minimum, part.search.maximum) for part in pairs[1:]]
    # The first tile has invalid pixels only. The second tile begins 8 columns further left.
    assert ranges == [(0, 40), (0, 4)]


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize(
    ("border_block", "last_start"),
    [
        # Tile 2 ends at pixel 11, within the last block; a block has 4 pixels.
        (2, 6),
        # Tile 1 begins at pixel 2, within the first block, because of the overlap.
        (0, 0),
    ],
)
def test_a_tile_is_searched_at_disparities_of_blocks_that_it_contains_in_part(
    axis, border_block, last_start
):
    pair = Pair(*np.zeros((2, 11, 11), np.uint8), SearchRange(0, 40))
    blocks = np.full((3, 3), 1.0)
    blocks[(border_block, slice(None))[:: 1 if axis == 0 else -1]] = 4
    pairs, solve = solved_with_reduced_map(blocks)
    tiles(solve, pair, tile_size=11, overlap=0, reduction=4, margin=2.0)
    assert (pairs[1].search.minimum, pairs[1].search.maximum) == (2, 18)


def test_blocks_at_the_ends_of_a_part_belong_to_the_reduced_part():
    window = slice(4, 8), slice(3, 9)
    assert _reduce_window(window, 4) == (slice(1, 2), slice(0, 3))
    assert _reduce_window((slice(0, 11), slice(5, 12)), 4) == (slice(0, 3), slice(1, 3))


@pytest.mark.parametrize("name", ["valid", "match_valid", "low", "high", "match_low", "match_high"])
@pytest.mark.parametrize("shift", [0, 3, -2])
def test_each_map_of_a_mask_is_cut_alone_like_its_image(name, shift):
    columns = np.tile(np.arange(10, dtype=np.float32), (4, 1))
    is_valid = name.endswith("valid")
    whole = columns % 3 == 0 if is_valid else columns
    reference_cut, target_cut = (slice(1, 3), slice(2, 6)), (slice(1, 3), slice(4, 9))
    part = _cut_mask(SearchMask(**{name: whole}), reference_cut, target_cut, shift)
    expected = whole[target_cut if name.startswith("match_") else reference_cut]
    np.testing.assert_array_equal(getattr(part, name), expected if is_valid else expected - shift)
    assert [other for other, values in vars(part).items() if values is not None] == [name]


@pytest.mark.parametrize(
    ("unshown", "limits", "expected"),
    [
        # The range is 2.5 columns wide. Its candidates lie to the left, so that no
        # other columns are added.
        (slice(40, 50), (0, 2.5), (37, 53)),
        (slice(40, 50), (0, 3), (37, 53)),
        (slice(1, 99), (0, 2.5), (0, 100)),
        (None, (0, 2.5), (40, 50)),
    ],
)
def test_unshown_columns_widen_a_tile_by_whole_columns(unshown, limits, expected):
    search = SearchRange(*limits, 0.5)
    widened = _widen(slice(40, 50), unshown, search, 100)
    assert (widened.start, widened.stop) == expected


@pytest.mark.parametrize("direction", [1, -1])
def test_a_pixel_whose_candidate_is_the_first_column_outside_is_unshown(direction):
    disparity = np.full((1, 12), 2, np.float32)
    # Candidates of columns 1 and 2 are columns -1 and 0, or mirrored.
    disparity[0, 1:3] = np.nan
    disparity = np.ascontiguousarray(disparity[:, ::direction])
    status = np.where(np.isnan(disparity), Status.OCCLUDED, Status.MATCHED).astype(np.uint8)
    estimate = replace(FOUND, disparity=disparity, status=status)
    surfaces = _find_surfaces(estimate, 1.0, direction)
    unshown = np.isfinite(surfaces.unshown[0, ::direction])
    assert unshown.tolist() == [False, True] + [False] * 10


@pytest.mark.parametrize(("rows", "parts"), [(31, 1), (32, 2), (33, 2)])
def test_a_tile_that_is_too_large_is_divided_down_to_sixteen_rows(monkeypatch, rows, parts):
    monkeypatch.setattr(_TileDivider, "_fits", lambda *arguments: False)
    pair = pair_of_columns(rows, 30, SearchRange(0, 4))
    unshown = np.full((rows, 30), 2, np.float32)
    holes = np.full_like(unshown, np.nan)
    surfaces = _Surfaces(unshown, unshown, holes, np.ones(unshown.shape, bool))
    planner = _TileDivider(pair, surfaces, overlap=0, reduction=1, margin=0.0, most_cells=1)
    whole_rows = _Span(slice(0, rows), slice(0, rows), slice(0, rows))
    columns = _Span(slice(0, 30), slice(0, 30), slice(0, 30))
    assert len(planner.parts_of(whole_rows, columns)) == parts


@st.composite
def wide_searches(draw):
    """Return search ranges of some pixels, below, around and above 0, in either direction."""
    step_size = draw(st.sampled_from([1, 1 / 2, 1 / 3, 1 / 4, 2, 3]))
    grid = min(step_size, 1)
    minimum = draw(st.integers(-30, 30)) * grid
    levels = draw(st.integers(2, 40))
    rest = draw(st.sampled_from([0, 0.4]))
    return SearchRange(
        minimum,
        minimum + (levels - 1 + rest) * step_size,
        step_size,
        draw(st.sampled_from([1, -1])),
    )


@settings(max_examples=100, deadline=None)
@given(search=wide_searches(), tile_size=st.integers(1, 20))
def test_border_tiles_contain_the_rivals_of_wrong_correspondences(search, tile_size):
    """A pixel x may be confused with each candidate x'. All pixels that have x' as candidate
    and lie further inwards must be in the tile if x may lie outside the target image.
    """
    width = 40
    pair = pair_of_columns(1, width, search)
    pairs, solve = solved_by(lambda part: 0)
    tiles(solve, pair, tile_size=tile_size, overlap=0, reduction=1)
    near, far = sorted(
        search.direction * disparity for disparity in (search.minimum, search.maximum)
    )
    columns = np.arange(width)
    distance = columns[:, None] - columns
    is_candidate = (distance >= near) & (distance <= far)
    for i, part in enumerate(pairs):
        missing = ~np.isin(columns, columns_and_search(part, pair)[0])
        for x in range(width * i // len(pairs), width * (i + 1) // len(pairs)):
            rivals = is_candidate[:, is_candidate[x]].any(axis=1)
            inwards = ((x < far) & (columns >= x)) | ((x >= width + near) & (columns <= x))
            assert not (missing & rivals & inwards).any()


@settings(max_examples=100, deadline=None)
@given(
    search=wide_searches(),
    tile_size=st.integers(4, 40),
    overlap=st.integers(0, 8),
    reduction=st.sampled_from([2, 4, 3]),
    margin=st.sampled_from([0, 1.7, 6]),
    seed=st.integers(0, 99),
    end=st.sampled_from(["minimum", "maximum"]),
)
def test_tiles_have_levels_of_the_whole_range_and_the_surfaces_of_the_reduced_pair(
    search, tile_size, overlap, reduction, margin, seed, end
):
    """Ranges may begin between pixels, below 0, and have steps of several pixels."""
    rng = np.random.default_rng(seed)
    shape = rows, width = 30, 48
    pair = pair_of_columns(rows, width, search)
    reduced_shape = tuple(-(-length // reduction) for length in shape)
    surfaces = rng.uniform(search.minimum, search.maximum, 3) / reduction
    surfaces[rng.random(3) < 0.3] = np.nan
    bounds = np.sort(rng.integers(0, reduced_shape[1], 2))
    reduced_map = np.broadcast_to(
        surfaces[np.searchsorted(bounds, np.arange(reduced_shape[1]))], reduced_shape
    )
    pairs, solve = solved_with_reduced_map(reduced_map, end)
    match = tiles(
        solve, pair, tile_size=tile_size, overlap=overlap, reduction=reduction, margin=margin
    )

    # Each pixel has the end of its tile's range as its disparity.
    surface = reduction * reduced_map[0, np.arange(width) // reduction]
    ends_of_tiles = match.disparity[0, np.isfinite(surface)]
    surface = surface[np.isfinite(surface)]
    if end == "minimum":
        assert (ends_of_tiles <= np.maximum(surface - margin, search.minimum) + 1e-4).all()
    else:
        assert (ends_of_tiles >= np.minimum(surface + margin, search.disparities[-1]) - 1e-4).all()

    rows_of_largest, columns_of_largest = stage_of(tiles).memory(
        shape, search, tile_size=tile_size, overlap=overlap, reduction=reduction, margin=margin
    )
    for part in pairs[1:]:
        tile_search = columns_and_search(part, pair)[1]
        level = (tile_search.minimum - search.minimum) / search.step
        pixels = level / search.denominator
        assert pixels == pytest.approx(round(pixels), abs=1e-6)
        assert tile_search.step == search.step
        assert tile_search.minimum >= search.minimum - 1e-6
        assert tile_search.maximum <= search.maximum + 1e-6
        assert part.search.first == round(part.search.minimum * search.denominator)
        # A tile that unshown pixels widen has fewer rows or levels than the largest tile.
        cells = part.shape[0] * part.shape[1] * part.search.levels
        assert cells <= rows_of_largest * columns_of_largest * search.levels


@pytest.mark.parametrize(("width", "most"), [(4, 11), (6, 60)])
def test_chance_matches_of_the_small_map_widen_no_search(width, most):
    pair = Pair(*np.zeros((2, 300, 300), np.uint8), SearchRange(0, 79))
    disparity = np.full((150, 150), 5.0)
    disparity[8, 20 : 20 + width] = 30
    disparity[0, 0] = np.nan
    seen, solve = solved_by(lambda part: disparity if part.shape == (150, 150) else 5)
    tiles(solve, pair, reduction=2, margin=0.0)  # 150x150 pixels: surfaces of up to 5 are none
    assert (seen[1].search.minimum, seen[1].search.maximum) == (10, most)


def test_the_range_of_a_tile_begins_at_a_whole_pixel():
    """As that of the whole pair does, on which an optimizer may rely that takes whole levels first."""
    pair = Pair(*np.zeros((2, 16, 16), np.uint8), SearchRange(0, 40, 0.5))
    seen, solve = solved_by(lambda part: 6.25)
    tiles(solve, pair, reduction=2, margin=1.0)
    assert seen[1].search == SearchRange(11, 14, 0.5)


def test_the_estimate_of_memory_is_that_of_the_largest_tile():
    method = Pipeline(["census", "semi_global"])
    shape, search = (4000, 6000), SearchRange(0, 255)
    whole = peak_memory([method], shape, search).size
    parts = peak_memory([tiled(method, tile_size=1000, overlap=64)], shape, search).size
    # A tile has 1000 + 128 rows and 1000 + 128 + 255 columns, since its candidates may lie up to 255 columns to the left, and some for rounding.
    assert parts / whole == pytest.approx(1128 * 1386 / (4000 * 6000), rel=1e-6)


def test_what_does_not_fit_is_told_which_tiles_would():
    """A graph cut holds three volumes: 276 MB of 1200x1200 pixels and 16 levels; in two by two tiles 87 MB, of 664x682 pixels each."""
    scene = Scene.from_images(*np.zeros((2, 1200, 1200), np.uint8), (0, 15))
    [result] = run("gc", scenes=scene, memory=100_000_000)
    assert result.error.endswith(", or tiles: --set 'scheme=[{use: tiles, tile_size: 768}]'")
    [result] = run("gc", scenes=scene, memory=10_000)
    assert result.error.endswith("use fewer levels or smaller images")


def test_a_large_pair_runs_in_tiles_whatever_memory_there_is(monkeypatch):
    """And its row, its identity and the script that it keeps say so."""
    whole = run("sgm", scenes="synthetic/planes")
    monkeypatch.setattr("stereo_framework.engine.tiling._LARGE_CELLS", 2**20)
    with pytest.warns(
        ResultWarning,
        match=r"planes: 320x240 pixels and 32 levels are matched in tiles of 1024 pixels",
    ):
        [found] = run("sgm", scenes="synthetic/planes")
    assert (found.parameters["scheme.use"], found.parameters["scheme.tiles.tile_size"]) == (
        "tiles",
        1024,
    )
    assert found.script["scheme"][0]["use"] == "tiles"
    [asked] = run("sgm", scenes="synthetic/planes", overrides=["scheme=[tiles]"])
    assert (found.id, found.statistics) == (asked.id, asked.statistics)
    assert found.id != whole[0].id
    # Too little memory changes no number: it is refused, with the tiles that would do.
    [refused] = run("sgm", scenes="synthetic/planes", memory=20_000_000)
    assert "--set 'scheme=[{use: tiles, tile_size: 1" in refused.error
    assert refused.id == found.id


@pytest.mark.parametrize(
    ("name", "parts"),
    [("sgm", True), ("fine", True), ("window", False), ("sgbm", False), ("tiles", False)],
)
def test_only_what_holds_whole_volumes_needs_tiles(name, parts):
    method = tiled(load("sgm").pipeline, tile_size=300) if name == "tiles" else load(name).pipeline
    assert (of_large_pair(method, (1900, 2900), SearchRange(0, 279)) is not method) == parts
    assert of_large_pair(method, (1000, 1400), SearchRange(0, 191)) is method


@settings(max_examples=25, deadline=None)
@given(
    search=searches(),
    tile_size=st.integers(1, 20),
    overlap=st.integers(0, 3),
    far=st.integers(-30, 30),
)
def test_no_tile_is_larger_than_the_estimate_says(search, tile_size, overlap, far):
    search = replace(search, minimum=search.minimum + far, maximum=search.maximum + far)
    seen, solve = solved_by(lambda part: 0)
    pair = Pair(*np.zeros((2, 13, 40), np.uint8), search)
    tiles(solve, pair, tile_size=tile_size, overlap=overlap, reduction=1)
    largest = stage_of(tiles).memory(
        pair.shape, search, tile_size=tile_size, overlap=overlap, reduction=1, margin=0
    )
    assert all(one.shape[0] <= largest[0] and one.shape[1] <= largest[1] for one in seen)


def test_memory_and_messages_of_all_tiles_are_told():
    _, first = solved_by(lambda part: 0, memory=99.0, messages="99")
    _, second = solved_by(lambda part: 0)
    _, third = solved_by(lambda part: 0, memory=50.0, messages="50")
    one_after_the_other = iter([first, second, third])
    pair = Pair(*np.zeros((2, 13, 60), np.uint8), SearchRange(0, 3))
    match = tiles(
        lambda part: next(one_after_the_other)(part), pair, tile_size=20, overlap=0, reduction=1
    )
    assert (match.memory, match.messages) == (99, "99\n50")


@pytest.mark.parametrize("order", [(1, 3, 2), (3, 1, 2), (2, 1, 3)])
def test_of_warnings_that_differ_in_their_numbers_the_largest_is_reported(order):
    warnings = [f"rows are off by up to {number}.5 px" for number in order]
    assert _without_repeated_warnings([*warnings, "dark"]) == (
        "rows are off by up to 3.5 px",
        "dark",
    )


def test_halves_of_a_tile_overlap_by_at_most_a_half():
    span = _Span(slice(20, 30), slice(12, 38), slice(8, 18))
    assert _halve(span, 8) == (
        _Span(slice(20, 25), slice(12, 30), slice(8, 13)),
        _Span(slice(25, 30), slice(20, 38), slice(5, 10)),
    )
    assert _halve(span, 2) == (
        _Span(slice(20, 25), slice(12, 27), slice(8, 13)),
        _Span(slice(25, 30), slice(23, 38), slice(2, 7)),
    )


@pytest.mark.parametrize(("foreground", "is_unshown"), [(6, False), (7, True)])
def test_a_surface_two_pixels_nearer_occludes_nothing(foreground, is_unshown):
    disparity = np.full((1, 40), 4, np.float32)
    disparity[0, 18:20] = np.nan
    disparity[0, 20:26] = foreground
    status = np.where(np.isnan(disparity), Status.OCCLUDED, Status.MATCHED).astype(np.uint8)
    estimate = replace(FOUND, disparity=disparity, status=status)
    surfaces = _find_surfaces(estimate, 1.0, direction=1)
    assert np.isfinite(surfaces.unshown[0, 18:20]).all() == is_unshown


def test_chance_matches_are_counted_in_pixels_of_the_reduced_tile():
    # A tile has 128x128 reduced pixels, so that surfaces of more than 4 of them count.
    pair = Pair(*np.zeros((2, 300, 300), np.uint8), SearchRange(0, 79))
    disparity = np.full((150, 150), 5.0)
    disparity[8, 20:25] = 30
    disparity[0, 0] = np.nan
    seen, solve = solved_by(lambda part: disparity if part.shape == (150, 150) else 5)
    tiles(solve, pair, tile_size=256, overlap=0, reduction=2, margin=0.0)
    assert (seen[1].search.minimum, seen[1].search.maximum) == (10, 60)


def test_tile_borders_are_no_worse_than_the_whole(data):
    """Errors along the borders alone: within half a point of the whole's own there, which is 21 of 4,296 pixels."""
    scene = load_scene("teddy", data=data)
    # With the mean of the channels, tiles without overlap have visible seams here.
    method = load("sgm", overrides=["matching_cost.grey_conversion=mean"]).pipeline
    whole, match = method(scene).disparity, tiled(method, tile_size=150)(scene).disparity
    rows, columns = scene.reference.shape[:2]
    near = np.zeros((rows, columns), bool)
    for length, axis in ((rows, 0), (columns, 1)):
        parts = round(length / 150)
        for i in range(1, parts):
            middle = length * i // parts
            near[(slice(None),) * axis + (slice(middle - 2, middle + 2),)] = True
    judged = near & scene.mask("nonocc") & np.isfinite(scene.truth)
    wrong = [100 * np.mean(~(np.abs(found - scene.truth) <= 1)[judged]) for found in (whole, match)]
    assert judged.sum() > 4000
    assert wrong[1] <= wrong[0] + 0.5
    # Tiles that see nothing beyond their own pixels show seams.
    alone = tiled(method, tile_size=150, overlap=0)(scene).disparity
    assert 100 * np.mean(~(np.abs(alone - scene.truth) <= 1)[judged]) > wrong[0] + 0.5


def enlarged_soft(image):
    """Return an image that is enlarged 6 times, so that wrong matches have low costs."""
    large = cv2.resize(image, None, fx=6, fy=6, interpolation=cv2.INTER_CUBIC)
    return np.clip(np.rint(large), 0, 255).astype(np.uint8)


@pytest.mark.parametrize("direction", [1, -1])
def test_occluded_tiles_are_not_marked_as_matched_with_wrong_disparities(data, direction):
    """A surface of disparity 255 occludes 240 columns of a surface of disparity 15."""
    image = load_scene("cones", data=data).reference
    background = enlarged_soft(image[300:324, :180])
    foreground = enlarged_soft(image[200:224, 100:140])
    width, start, stop = 960, 560, 800
    left = background[:, :width].copy()
    left[:, start:stop] = foreground
    right = background[:, 15 : 15 + width].copy()
    right[:, start - 255 : stop - 255] = foreground
    images = [np.ascontiguousarray(view[:, ::direction]) for view in (left, right)]
    pair = Pair(*images, SearchRange(12, 272, direction=direction))

    # The tiles have about 160 columns, so that one of them is occluded completely.
    match = tiled(load("sgm").pipeline, tile_size=160, overlap=32)(pair)
    occluded = np.s_[:, start - 240 : start]
    status = match.status[:, ::direction][occluded]
    disparity = match.disparity[:, ::direction][occluded]
    wrong = (status == Status.MATCHED) & (np.abs(disparity - 15) > 2)
    # Without tiles, 0.1 % of these pixels are wrong, and 17 to 22 % in unwidened tiles.
    assert 100 * wrong.mean() < 1
