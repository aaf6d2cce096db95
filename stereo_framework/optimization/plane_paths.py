"""Slanted planes by paths: candidate planes at each pixel, and the choice among them by sums of paths, for both sides of a pair at once."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stereo_framework.core.pair import shrunk
from stereo_framework.core.scene import Disparity, Image, SearchRange, read_only
from stereo_framework.kernels.filling import fill_rows
from stereo_framework.kernels.left_right import compute_left_right_difference
from stereo_framework.kernels.local_planes import fit_local_planes
from stereo_framework.kernels.parabola import move_to_vertices
from stereo_framework.kernels.segment_planes import compute_plane_disparities
from stereo_framework.kernels.segments import segment_image
from stereo_framework.kernels.threads import over_rows, threads
from stereo_framework.optimization._plane_candidates import (
    choose,
    plane_costs,
    region_planes,
    write_candidates,
)
from stereo_framework.optimization._plane_passes import path_sums, spare_array
from stereo_framework.optimization._semi_global_penalties import image_edges
from stereo_framework.optimization.semi_global import semi_global
from stereo_framework.stages import (
    BothSides,
    CostVolume,
    DisparityMap,
    NonNegative,
    NonNegativeInt,
    PositiveInt,
    SearchMask,
    Unit,
    View,
    auxiliary_map,
    kernel_array,
    per_image,
    stage,
)


class _Cells(NamedTuple):
    """A grid of cells with a plane each: side in pixels, how far estimates may lie off in pixels, and colours in grey levels."""

    side: int
    tolerance: float
    alike: float


class _Segments(NamedTuple):
    """A segmentation of the image with a plane for each segment: as `segments` takes them for the image of half the size, and as above."""

    k: float
    minimum: int
    tolerance: float


_COLOUR_SCALE = 15.0
_COUNT, _KEPT = 12, 4
"""Candidates of a pixel, and how many of the best that differ stay for the next round."""
_SHIFTS = np.array([(0, 0, 0), (0, 0, 6), (0, 6, 0), (0, 0, -6), (0, -6, 0), (1, 0, 0)])
"""Maps of planes of which candidates are continued, and from how many rows and columns away; in the first round all, then the first."""
_MOVES = np.array([-0.25, 0.25], np.float32)
"""From the second round on the best plane so far is a candidate so many pixels nearer, too: planes that are fitted to a map repeat what is wrong in it."""
_CELLS = (
    (_Cells(24, 0.7, 25.0), _Cells(64, 1.0, 25.0), _Cells(160, 1.5, 25.0)),
    (_Cells(40, 0.7, 15.0), _Cells(100, 1.0, 15.0), _Cells(240, 1.5, 15.0)),
)
_LATER = (
    (_Segments(75, 25, 0.7), _Segments(250, 100, 1.0), *_CELLS[0]),
    (_Segments(37.5, 15, 0.7), _Segments(125, 50, 1.0), *_CELLS[1]),
)
"""Regions that give candidates: in the first round all cells, in the others these in turn."""
_SIGMA = 0.5
_HOLES = _Segments(37.5, 15, 1.0)
_FEWEST, _SHARE, _TRIALS = 20, 0.5, 60
"""Segments by whose planes holes of a map are filled, and parameters of `compute_plane_disparities`."""
_ALIKE = (np.float32(0.1), np.float32(0.02))
"""Planes are the same whose values (pixels) and slopes differ by less than this."""
_EDGE, _AT_EDGE, _BOUND = 15.0, 0.05, 4.0
"""Pixels have an edge between them that differ by so many grey levels in some channel; the factor of the weight there; neighbours pay for no more pixels than the last."""
_TAKEN_BACK = 0.5
"""A pixel's own cost is contained in the path costs from every side; this share of these is subtracted again."""
_AVERAGED = 3
"""The maps of so many rounds, the last ones, are averaged where they differ from the last by no more than `_TOLERANCE`: what chance has chosen differs."""
_TOLERANCE = 1.0
"""Views agree that differ by no more pixels than this."""


@stage(
    "optimization",
    source="ours, unpublished; Hirschmueller 2008 for paths, Bleyer, Rhemann & Rother 2011 for planes",
    memory=2,
    integer=True,
    other_needs=["auxiliary"],
)
def plane_paths(
    volume: CostVolume,
    reference: Image,
    match: Image,
    other: View,
    mask: SearchMask | None = None,
    auxiliary: Mapping[str, DisparityMap] | None = None,
    *,
    initial: str | None = None,
    p1: Annotated[NonNegative, Unit("units of the matching cost")] = 20.0,
    p2: Annotated[NonNegative, Unit("units of the matching cost")] = 80.0,
    iterations: PositiveInt = 5,
    weight: Annotated[NonNegative, Unit("units of the matching cost per pixel")] = 20.0,
    min_occluded_cost: Annotated[NonNegative, Unit("units of the matching cost")] = 24.0,
    occluding_penalty: Annotated[NonNegative, Unit("units of the matching cost")] = 12.0,
    seed: NonNegativeInt = 0,
) -> BothSides:
    """Choose a plane at each pixel of both views, among candidates, by sums of paths as semi-global matching chooses a level.

    Parameters
    ----------
    volume : CostVolume
        Costs float32, uint8 or uint16 (rows, columns, levels), of any step; half a pixel serves best.
    reference, match : ndarray, uint8 or float32, (rows, columns) or (rows, columns, 3)
        Intensities 0..255, as the stages that preprocess pairs have left them.
    other : View
        The match frame's view, with its volume.
    mask : SearchMask, optional
        Excluded cells. The volumes contain `CostVolume.excluded_cost` in these cells.
    auxiliary : mapping of str to DisparityMap, optional
        For `initial`: the initial map is one of them, and one of `other`'s is its map.
    initial : str, optional
        Name of the auxiliary method whose maps are the start. Pixels without an
        estimate are filled. With null, the stage computes its start.
    p1, p2 : float
        Penalties of `semi_global`, in units of the matching cost. If there is no
        `initial`, the start is its map over whole levels, with eight paths, with
        penalties that depend on edges, and refined by a parabola.
    iterations : int
        How often candidates are made and chosen from. All but the last go along rows and columns alone.
    weight : float
        What two neighbours pay for each pixel by which the planes f of p and g of q part, measured at p and at q.
    min_occluded_cost : float
        Minimum cost of a candidate that the surface in the other view's map would occlude.
    occluding_penalty : float
        Addition to the cost of a candidate that would occlude the surface in the other
        view's map.
    seed : int
        Seed of the random places of cells and of the random points of planes.

    Returns
    -------
    BothSides
        The disparities of both views, float32 (rows, columns), pixels, an estimate everywhere; up to half a step beyond the search.

    Raises
    ------
    ParameterError
        A parameter is out of its range, `p2` is below `p1`, or `initial` is not the name
        of an auxiliary method.

    Notes
    -----
    Ours, unpublished. Planes at pixels are those of PatchMatch stereo (Bleyer, Rhemann & Rother 2011) and of local expansion moves (Taniai et al. 2018), whose way of measuring how far planes part is used;
    paths are Hirschmueller's (2008), over candidates as in particle belief propagation.

    A round begins with the map of the round before: what the other view contradicts is replaced by planes of the image's segments, then from the background of the row. Candidates are
    planes fitted to the filled map around the pixel and around some six pixels away; planes that random points of a cell of the image, or of a segment, agree on (RANSAC), where cells lie at
    random places; those that were kept; and the best one a quarter of a pixel nearer and farther. A candidate costs what the volume says between its levels (Catmull-Rom splines),
    corrected by what it means for the other view. The maps of the last three rounds are averaged where they agree.

    The random numbers depend on the seed and the side alone, so that a seed gives the same maps on any number of threads; the two sides run on one each. Besides both volumes there are, for each side, the start's (sums over whole
    levels) and then about 60 numbers a pixel.

    Examples
    --------
    >>> import numpy as np
    >>> from stereo_framework import Pipeline
    >>> from stereo_framework.matching_cost import census
    >>> from stereo_framework.core.pair import Pair
    >>> left = np.random.default_rng(0).integers(0, 256, (20, 40), np.uint8)
    >>> match = Pipeline([census, plane_paths])(Pair(left, np.roll(left, -3, axis=1), SearchRange(0, 5, 0.5)))
    >>> bool((np.abs(match.disparity[:, 6:] - 3) < 0.25).mean() > 0.9)
    True
    """
    terms = tuple(np.float32(term) for term in (_TOLERANCE, min_occluded_cost, occluding_penalty))
    sides = [
        _Side(one, image, np.inf if mask is None else one.excluded_cost, weight, terms, seed)
        for one, image in ((volume, reference), (other.volume, match))
    ]
    if initial is None:
        # One after the other, since each takes a volume, and both threads.
        maps = [_start(side, sides[1 - i].image, p1, p2) for i, side in enumerate(sides)]
    else:
        both = auxiliary or {}, {name: views[0] for name, views in other.auxiliary.items()}
        maps = [auxiliary_map("plane_paths.initial", known, initial).disparity for known in both]
    made: list[list[Disparity]] = []
    for n in range(iterations):
        filled = _on_both(_filled, sides, maps, maps[::-1])
        known = maps if n else filled
        maps = _on_both(_Side.round, sides, [n, n], [n == iterations - 1] * 2, filled, known[::-1])
        made = [*made[1 - _AVERAGED :], maps]
    return BothSides(*(_mean_of_near(own) for own in zip(*made, strict=True)))


def _mean_of_near(maps: Sequence[Disparity]) -> Disparity:
    """The mean at each pixel of those maps that are near the last one."""
    near = [np.abs(one - maps[-1]) <= _TOLERANCE for one in maps]
    total: Disparity = np.sum(maps, axis=0, where=near)
    return total / np.sum(near, axis=0, dtype=np.float32)


def _on_both(work: Callable[..., Disparity], *arguments: Sequence[Any]) -> list[Disparity]:
    """What some work gives for both sides, each on a thread of its own; there are two of each argument."""
    found: list[Any] = [None, None]

    def run(start: int, stop: int) -> None:
        with threads(1):
            found[start:stop] = (work(*(one[i] for one in arguments)) for i in range(start, stop))

    over_rows(run, 2, 1 << 30)
    return found


def _start(side: _Side, other: Image, p1: float, p2: float) -> Disparity:
    """Return the map of semi-global matching over whole disparities, refined by a parabola.

    A disparity is not refined if one of the three costs belongs to an excluded cell.
    """
    search = side.volume.search
    whole, levels = _whole_disparities(search)
    costs = np.ascontiguousarray(side.volume.costs[..., levels])
    volume = CostVolume(costs, whole, side.volume.outside_cost)
    labeling = semi_global(
        volume, side.image, other, p1=p1, p2=p2, penalties="edges", edge_threshold=_EDGE
    )
    assert labeling.volume is not None, "semi_global always returns its sums"

    disparity = whole.disparity_of(labeling.levels)
    sums = read_only(labeling.volume.costs)
    refined = move_to_vertices(
        read_only(disparity), sums, float(whole.minimum), float(whole.step), 0.5
    )
    if np.isfinite(side.closed) and whole.levels >= 3:
        middle = np.clip(labeling.levels, 1, whole.levels - 2)
        neighbours = middle[..., None] + np.arange(-1, 2)
        excluded = (np.take_along_axis(costs, neighbours, axis=2) >= side.closed).any(axis=2)
        refined = np.where(excluded, disparity, refined)

    # The whole disparities reach up to a pixel beyond the levels of the search range.
    first, last = search.disparities[[0, -1]]
    return np.clip(refined, first, last)


def _whole_disparities(search: SearchRange) -> tuple[SearchRange, slice | NDArray[np.intp]]:
    """Return the whole disparities around a search range, and the level that each of them takes.

    Parameters
    ----------
    search : SearchRange

    Returns
    -------
    whole : SearchRange
        From the next whole disparity below the first level to the next one above the last
        level, at least two. For a step of N pixels, it has the levels of `search`.
    levels : slice or ndarray, (whole.levels,)
        Level of `search` at each whole disparity. A whole disparity beyond the ends of the
        range takes the level at that end, so that the end can be chosen.
    """
    if search.denominator == 1:
        return search, slice(None)

    last_level = search.levels - 1
    first = math.floor(search.first / search.denominator)
    last = math.ceil((search.first + last_level) / search.denominator)
    last = max(last, first + 1)

    whole = SearchRange(first, last, 1, search.direction)
    positions = np.arange(first, last + 1) * search.denominator - search.first
    return whole, np.clip(positions, 0, last_level)


def _filled(side: _Side, disparity: Disparity, other: Disparity) -> Disparity:
    """A map in which all that the other one contradicts is replaced: by planes of segments, and from the background of the row."""
    search = side.volume.search
    difference = compute_left_right_difference(
        read_only(disparity), read_only(other), search.direction
    )
    # Comparisons with NaN are false.
    checked = np.where(difference <= _TOLERANCE, disparity, np.float32(np.nan))
    wanted = np.isnan(checked)
    if not wanted.any():
        return checked
    found = _half_segments(side.image, _HOLES.k, _HOLES.minimum)
    values = compute_plane_disparities(
        checked, wanted, found, _HOLES.tolerance, _FEWEST, _SHARE, _TRIALS, side.seed
    )
    checked[wanted] = np.where(
        (values >= search.minimum) & (values <= search.maximum), values, np.float32(np.nan)
    )
    return np.nan_to_num(fill_rows(checked), copy=False, nan=search.minimum)


@dataclass
class _Side:
    """One side of the pair with its candidates."""

    volume: CostVolume
    image: Image
    closed: float
    weight: float
    terms: tuple[np.float32, ...]
    seed: int

    def __post_init__(self) -> None:
        # The same whether it is the reference side or that of the exchanged pair.
        self.draws = np.random.default_rng((self.seed, self.volume.search.direction > 0))
        shape = self.image.shape[:2]
        self.colours = kernel_array(self.image.reshape(*shape, -1))
        self.planes, self.costs, self.sums = (
            spare_array((*shape, *size, _COUNT)) for size in ((3,), (), ())
        )

    def round(self, n: int, last: bool, filled: Disparity, other: Disparity) -> Disparity:
        """Choose anew in round `n`, given this side's filled map and the other side's map; the disparities chosen."""
        search, step = self.volume.search, self.volume.search.step
        filled = read_only(filled)
        sources = [
            fit_local_planes(filled, self.image, (16,) if n else (8, 16), 1.0, _COLOUR_SCALE, 0.05)
        ]
        if not n:
            sources.append(fit_local_planes(filled, self.image, (4, 8), 0.8, _COLOUR_SCALE, 0.2))
        regions, kept, moves = (
            (_LATER[n % 2], _KEPT, _MOVES) if n else (_CELLS[0] + _CELLS[1], 0, _MOVES[:0])
        )
        shifts = _SHIFTS[: _COUNT - kept - len(regions) - len(moves)]
        ends = np.float32(search.minimum - step / 2), np.float32(search.maximum + step / 2)
        found = self._regions(regions, np.array(sources[0]))
        write_candidates(kept, np.array(sources), shifts, *found, moves, ends, self.planes)
        levels = np.float32(search.minimum), np.float32(1 / step)
        limits = np.float32(self.volume.outside_cost), np.float32(self.closed)
        plane_costs(
            self.volume.costs,
            levels,
            limits,
            other,
            np.float32(search.direction),
            self.terms,
            self.planes,
            self.costs,
        )
        edges = image_edges(self.image, 4, _EDGE)[: 4 if last else 2]
        path_sums(
            self.planes, self.costs, edges, self.weight, _AT_EDGE * self.weight, _BOUND, self.sums
        )
        chosen = np.empty_like(filled)
        choose(
            self.planes,
            self.sums,
            self.costs,
            np.float32(_TAKEN_BACK * 2 * len(edges)),
            _KEPT,
            _ALIKE,
            chosen,
        )
        return chosen

    def _regions(
        self, regions: Sequence[_Cells | _Segments], planes: NDArray[np.float32]
    ) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
        """The regions of each pixel, and the planes of all regions; see `write_candidates`."""
        _, rows, columns = planes.shape
        labels, tables, number = np.empty((len(regions), rows, columns), np.int32), [], 0
        for own, region in zip(labels, regions, strict=True):
            keys = tuple(int(key) for key in self.draws.integers(0, 1 << 32, 2))
            if isinstance(region, _Cells):
                side, alike = region.side, region.alike
                top, left = (int(at) for at in self.draws.integers(0, side, 2))
                across = -(-(columns + left) // side)
                own[:] = ((np.arange(rows) + top) // side * across)[:, None] + (
                    np.arange(columns) + left
                ) // side
            else:
                side, alike = 0, np.inf
                own[:] = _half_segments(self.image, region.k, region.minimum)
            flat, sizes = own.reshape(-1), np.bincount(own.reshape(-1))
            # Numbers of 16 bits are sorted several times faster.
            order = np.argsort(
                flat.astype(np.uint16) if len(sizes) <= 1 << 16 else flat, kind="stable"
            )
            found = np.empty((len(sizes), 5), np.float32)
            limits = float(side), region.tolerance, alike
            region_planes(
                planes, self.colours, order, np.append(0, np.cumsum(sizes)), limits, keys, found
            )
            own += number
            number += len(found)
            tables.append(found)
        return labels, np.concatenate(tables)


@per_image
def _half_segments(image: Image, k: float, minimum: int) -> NDArray[np.int32]:
    """Segments of the image of half the size, at the full one: four times quicker, and good enough for planes to try."""
    rows, columns = image.shape[:2]
    found = segment_image(shrunk(image, 2), _SIGMA, k, minimum)
    return np.ascontiguousarray(found.repeat(2, axis=0).repeat(2, axis=1)[:rows, :columns])
