"""Slanted planes by paths: candidate planes at each pixel, chosen by sums of paths over them, for both views at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple

import numpy as np
from annotated_types import Ge, Le
from numpy.typing import NDArray

from stereo_framework.artefacts import segments_of
from stereo_framework.kernels.filling import fill_rows
from stereo_framework.kernels.left_right import left_right_kernel
from stereo_framework.kernels.local_planes import local_planes
from stereo_framework.kernels.parabola import parabola_kernel
from stereo_framework.kernels.segment_planes import plane_values
from stereo_framework.kernels.threads import over_rows, threads
from stereo_framework.optimization._plane_candidates import cell_planes, choose, plane_costs, segment_planes, write_candidates
from stereo_framework.optimization._plane_passes import LANES, path_sums, spare_array
from stereo_framework.optimization._semi_global_penalties import image_edges
from stereo_framework.optimization.semi_global import semi_global
from stereo_framework.scene import Disparity, Image, Search
from stereo_framework.stage import Fraction01, NonNegative, NonNegativeInt, Positive, PositiveInt, Unit, stage
from stereo_framework.view import View, Views
from stereo_framework.volume import CostVolume, Domain, Energy


class _Windows(NamedTuple):
    """In which windows planes are fitted to a map, one after the other; see `local_planes`."""

    radii: tuple[int, ...]
    gate: float
    ridge: float


class _Cells(NamedTuple):
    """A grid of cells with a plane each: its side, how far estimates may lie off, and colours apart."""

    side: int
    tolerance: float
    alike: float


class _Segments(NamedTuple):
    """A segmentation of the image with a plane for each segment."""

    scale: float
    minimum: int
    tolerance: float


_WIDE, _NARROW = _Windows((8, 16), 1.0, 0.05), _Windows((4, 8), 0.8, 0.2)
_COLOUR_SCALE = 15.0
_SHIFTS = ((0, 0), (0, 6), (6, 0), (0, -6), (-6, 0), (6, 6), (6, -6), (-6, 6), (-6, -6))
"""Rows and columns from where planes of the filled map are continued, the first ones where there are not places for all."""
_FIRST = (
    _Cells(24, 0.7, 25),
    _Cells(64, 1, 25),
    _Cells(160, 1.5, 25),
    _Cells(40, 0.7, 15),
    _Cells(100, 1, 15),
    _Cells(240, 1.5, 15),
)
_LATER = (
    (_Segments(150, 60, 0.7), _Segments(500, 200, 1.0), _Cells(24, 0.7, 25), _Cells(64, 1, 25), _Cells(160, 1.5, 25)),
    (_Segments(300, 100, 0.7), _Segments(1000, 400, 1.0), _Cells(40, 0.7, 15), _Cells(100, 1, 15), _Cells(240, 1.5, 15)),
)
"""Regions whose planes are candidates in the first round, and in the others in turn."""
_ALIKE = (0.1, 0.02)
_SIGMA = 0.5
_TRIALS = 60
_BEYOND = 0.5
"""How far beyond the ends of the search planes may lie, in pixels."""


@stage(
    "optimization",
    source="ours, unpublished; Hirschmueller 2008 for paths, Bleyer et al. 2011 for planes",
    volumes=3,
    integer=True,
)
def plane_paths(
    energy: Energy,
    reference: Image,
    match: Image,
    other: View,
    domain: Domain | None = None,
    *,
    p1: Annotated[NonNegative, Unit("units of the matching cost")] = 20.0,
    p2: Annotated[NonNegative, Unit("units of the matching cost")] = 80.0,
    rounds: PositiveInt = 3,
    candidates: Annotated[int, Ge(9), Le(LANES)] = 12,
    kept: Annotated[int, Ge(1), Le(8)] = 4,
    weight: Annotated[NonNegative, Unit("units of the matching cost per pixel")] = 20.0,
    truncation: Annotated[Positive, Unit("pixels")] = 4.0,
    edge_threshold: Annotated[NonNegative, Unit("grey levels")] = 15.0,
    edge_factor: Fraction01 = 0.1,
    taken_back: Fraction01 = 0.5,
    tolerance: Annotated[NonNegative, Unit("pixels")] = 1.0,
    hidden: Annotated[NonNegative, Unit("units of the matching cost")] = 24.0,
    hides: Annotated[NonNegative, Unit("units of the matching cost")] = 12.0,
    seed: NonNegativeInt = 0,
) -> Views:
    """TODO"""
    closed = 1e6 if domain is not None else np.inf
    settings = _Settings(
        candidates, kept, weight, truncation, edge_factor, edge_threshold, taken_back, (tolerance, hidden, hides), seed
    )
    sides = [_Side(volume, image, closed, settings) for volume, image in ((energy.volume, reference), (other.volume, match))]
    start = {"p1": p1, "p2": p2, "penalties": "edges", "edge_threshold": edge_threshold}
    maps = [_start(side.volume, side.image, sides[1 - i].image, start) for i, side in enumerate(sides)]
    for n in range(rounds):
        filled = [*_on_both(_filled, sides, maps, maps[::-1])]
        known = maps if n else filled
        maps = [*_on_both(_Side.round, sides, [n, n], [n == rounds - 1] * 2, filled, known[::-1])]
    return Views(*maps)


class _Settings(NamedTuple):
    """Parameters of `plane_paths` as a round needs them."""

    candidates: int
    kept: int
    weight: float
    truncation: float
    edge_factor: float
    edge_threshold: float
    taken_back: float
    terms: tuple[float, float, float]
    seed: int


def _on_both(work: Callable[..., Disparity], *arguments: Sequence[Any]) -> list[Disparity]:
    """What some work gives for both sides, each on a thread of its own; of each argument there are two."""
    found: list[Any] = [None, None]

    def run(start: int, stop: int) -> None:
        with threads(1):
            for i in range(start, stop):
                found[i] = work(*(one[i] for one in arguments))

    over_rows(run, 2, 1 << 30)
    return found


def _start(volume: CostVolume, image: Image, other: Image, parameters: dict[str, Any]) -> Disparity:
    """The map of semi-global matching over the whole levels, with a parabola."""
    search = volume.search
    every = max(1, round(1 / search.step))
    whole = Search(search.minimum, search.maximum, search.step * every, search.direction)
    costs = np.ascontiguousarray(volume.costs[..., ::every])
    found = semi_global(Energy(CostVolume(costs, whole, volume.outside)), image, other, **parameters)
    sums = found.volume.costs
    disparity = whole.disparities[found.labels]
    refined = disparity.copy()

    def run(start: int, stop: int) -> None:
        some = sums[start:stop].reshape(-1)
        parabola_kernel(
            disparity[start:stop],
            some,
            None,
            None,
            0,
            whole.levels,
            float(whole.minimum),
            float(whole.step),
            0.5,
            refined[start:stop],
        )

    if whole.levels > 2:
        over_rows(run, len(disparity), 20 * disparity.size)
    return refined


def _filled(side: _Side, disparity: Disparity, other: Disparity) -> Disparity:
    """A map in which all that the other one contradicts is replaced: by planes of segments, and from the background of the row."""
    search = side.volume.search
    apart = np.empty_like(disparity)
    left_right_kernel(disparity, other, search.direction, apart)
    checked = np.where(apart <= side.settings.terms[0], disparity, np.float32(np.nan))
    wanted = np.isnan(checked)
    if not wanted.any():
        return checked
    segments = segments_of(side.image, _SIGMA, 150.0, 60)
    values = plane_values(checked, wanted, segments, 1.0, 20, 0.5, _TRIALS, side.settings.seed)
    checked[wanted] = np.where((values >= search.minimum) & (values <= search.maximum), values, np.float32(np.nan))
    return np.nan_to_num(fill_rows(checked), copy=False, nan=search.minimum)


@dataclass
class _Side:
    """One side of the pair with its candidates."""

    volume: CostVolume
    image: Image
    closed: float
    settings: _Settings

    def __post_init__(self) -> None:
        if self.volume.costs.dtype == np.uint16:
            self.closed = 65535
        # The same for the reference and the match side of the exchanged pair.
        self.draws = np.random.default_rng((self.settings.seed, self.volume.search.direction > 0))
        self.colours = np.ascontiguousarray(self.image.reshape(*self.image.shape[:2], -1))
        self.planes: Any = None

    def round(self, n: int, last: bool, filled: Disparity, other: Disparity) -> Disparity:
        """Choose anew, given this side's filled map and the other side's map; the disparities chosen."""
        settings, search, (rows, columns) = self.settings, self.volume.search, filled.shape
        count = settings.candidates
        if self.planes is None:
            self.planes = spare_array((rows, columns, 3, count))
            self.costs, self.sums = spare_array((rows, columns, count)), spare_array((rows, columns, count))
        windows = [_WIDE] if n else [_WIDE, _NARROW]
        sources = np.stack([np.stack(local_planes(filled, self.image, w.radii, w.gate, _COLOUR_SCALE, w.ridge)) for w in windows])
        regions = _LATER[n % 2] if n else _FIRST
        kept = settings.kept if n else 0
        continued = [(0, *shift) for shift in _SHIFTS[: count - kept - len(regions)]]
        if not n:
            continued[-1] = (1, 0, 0)
        low, high = np.float32(search.minimum - _BEYOND), np.float32(search.maximum + _BEYOND)
        labels, tables = self._regions(regions, sources[0])
        write_candidates(kept, sources, np.array(continued), labels, tables, low, high, self.planes)
        terms = tuple(np.float32(term) for term in settings.terms)
        levels = np.float32(search.minimum), np.float32(1 / search.step)
        limits = np.float32(self.volume.outside), np.float32(self.closed)
        direction = np.float32(search.direction)
        plane_costs(self.volume.costs, levels, limits, other, direction, terms, self.planes, self.costs)
        steps = 4 if last else 2
        edges = image_edges(self.image, 4, settings.edge_threshold)[:steps]
        weight = settings.weight
        path_sums(self.planes, self.costs, edges, weight, settings.edge_factor * weight, settings.truncation, self.sums)
        chosen = np.empty_like(filled)
        back = np.float32(settings.taken_back * 2 * steps)
        choose(self.planes, self.sums, self.costs, back, settings.kept, (np.float32(_ALIKE[0]), np.float32(_ALIKE[1])), chosen)
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
                side = region.side
                begin = tuple(int(b) for b in self.draws.integers(0, side, 2))
                cells = -(-(rows + begin[0]) // side) * -(-(columns + begin[1]) // side)
                found = np.empty((cells, 5), np.float32)
                cell_planes(planes, self.colours, own, side, begin, region.tolerance, region.alike, keys, found)
            else:
                segments = segments_of(self.image, _SIGMA, region.scale, region.minimum)
                own[:] = segments
                order, begins = _pixels_of(segments)
                found = np.empty((len(begins) - 1, 5), np.float32)
                segment_planes(planes, order, begins, region.tolerance, keys, found)
            own += number
            number += len(found)
            tables.append(found)
        return labels, np.concatenate(tables)


def _pixels_of(segments: NDArray[np.int32]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The pixels of each segment, one segment after the other, and where each begins."""
    flat = segments.reshape(-1)
    sizes = np.bincount(flat)
    # Numbers of 16 bits are sorted several times faster.
    order = np.argsort(flat.astype(np.uint16) if len(sizes) <= 1 << 16 else flat, kind="stable")
    return order, np.append(0, np.cumsum(sizes))
