"""Time the window kernels and semi-global matching beside their peers, in one run: ``python benchmarks/kernels.py [--large]``.

Peers: np.copyto of the volume for the differences, numpy for the costs that compare windows and for one pass of cross-based means, cv2.boxFilter
and cv2.erode of every level's slice for the window filters, cv2.blur for the guided filter, np.argmin for the winners; cv2.StereoSGBM for the paths of semi-global matching, MODE_HH for eight and the
faster of MODE_SGBM and MODE_HH4 for four. That computes its costs too, so that a census comes on top of ours; the goals for paths are those at 64
levels. A census and four paths stand beside MODE_SGBM_3WAY, which has three paths and keeps no volume. Medians stand beside cv2.medianBlur of maps without holes. Sizes: tsukuba, cones and, with ``--large``, 1400x1100 with 192 levels. The data are random: the kernels' times do not depend on them.
"""

import argparse
import time
from collections.abc import Callable, Iterator

import cv2
import numpy as np
from rich.console import Console
from rich.table import Table

from stereo_framework import CostVolume, SearchRange, threads
from stereo_framework.aggregation import box, cross_based, guided_filter, min_filter
from stereo_framework.aggregation.cross_based import arms_of
from stereo_framework.engine.strips import STRIP_ROWS
from stereo_framework.matching_cost import (
    absolute_difference,
    ad_census,
    census,
    gradient_difference,
    rank,
    squared_difference,
)
from stereo_framework.matching_cost._bit_strings import bit_strings
from stereo_framework.optimization import semi_global, winner_take_all
from stereo_framework.refinement import median

SIZES = {"tsukuba": (288, 384, 16), "cones": (375, 450, 64), "large": (1100, 1400, 192)}
WINDOW = 21
REQUIRED = {
    "AD": 2.5,
    "SD": 2.5,
    "box": 0.8,
    "min": 1.2,
    "8 paths": 0.8,
    "4 paths": 1.0,
    "census, 4 paths": 1.0,
    "median": 1.5,
}
WANTED = {"AD": 1.1, "SD": 1.1, "box": 0.4, "min": 0.85, "8 paths": 0.5}


def best(call: Callable[[], object], seconds: float = 1.0) -> float:
    """Shortest of the repetitions that fit into `seconds`, in ms; the first, which compiles, does not count."""
    call()
    times, start = [], time.perf_counter()
    while not times or time.perf_counter() - start < seconds:
        before = time.perf_counter()
        call()
        times.append(time.perf_counter() - before)
    return min(times) * 1e3


def images(rows: int, columns: int) -> np.ndarray:
    """Two images, uint8 (2, rows, columns, 3)."""
    return np.random.default_rng(0).integers(0, 256, (2, rows, columns, 3), dtype=np.uint8)


def darker(image: np.ndarray) -> Iterator[np.ndarray]:
    """For each pixel of a window of 9x7 but its centre, whether it is darker; bool (rows, columns)."""
    grey = image.sum(axis=2, dtype=np.int16)
    rows, columns = grey.shape
    wide = np.pad(grey, ((3, 3), (4, 4)), mode="edge")
    yield from (
        wide[y : y + rows, x : x + columns] < grey for y, x in np.ndindex(7, 9) if (y, x) != (3, 4)
    )


def numpy_strings(image: np.ndarray) -> np.ndarray:
    """Bit strings, uint64 (rows, columns)."""
    strings = np.zeros(image.shape[:2], np.uint64)
    for bit in darker(image):
        strings <<= np.uint64(1)
        strings |= bit
    return strings


def numpy_ranks(left: np.ndarray, right: np.ndarray, levels: int) -> np.ndarray:
    """Differences of ranks, uint8 (rows, columns, levels)."""
    ours, theirs = (sum(bit.view(np.int8) for bit in darker(image)) for image in (left, right))
    costs = np.full((*ours.shape, levels), 31, np.uint8)
    for d in range(levels):
        costs[:, d:, d] = np.abs(ours[:, d:] - theirs[:, : ours.shape[1] - d])
    return costs


def numpy_census(left: np.ndarray, right: np.ndarray, levels: int) -> np.ndarray:
    """Different bits, uint8 (rows, columns, levels)."""
    ours, theirs = numpy_strings(left), numpy_strings(right)
    costs = np.full((*ours.shape, levels), 31, np.uint8)
    for d in range(levels):
        costs[:, d:, d] = np.bitwise_count(ours[:, d:] ^ theirs[:, : ours.shape[1] - d])
    return costs


def numpy_ad_census(left: np.ndarray, right: np.ndarray, levels: int) -> np.ndarray:
    """Both parts added, float32 (rows, columns, levels)."""
    bits = numpy_census(left, right, levels)
    costs = np.ones(bits.shape, np.float32)
    ours, theirs = left.astype(np.float32), right.astype(np.float32)
    for d in range(levels):
        difference = np.abs(ours[:, d:] - theirs[:, : ours.shape[1] - d]).sum(axis=2)
        costs[:, d:, d] = 2 - np.exp(-difference / 30) - np.exp(bits[:, d:, d] / np.float32(-30))
    return costs


def numpy_cross(left: np.ndarray, right: np.ndarray, costs: np.ndarray) -> np.ndarray:
    """One pass of means over cross-based regions of both views, float32 (rows, columns, levels); the arms are ours."""
    _, columns, levels = costs.shape
    ours, theirs = (arms_of(image, 34, 20.0, 17, 6.0).astype(np.int64) for image in (left, right))
    both = np.repeat(ours[..., None], levels, axis=3)
    for d in range(levels):
        both[:, :, d:, d] = np.minimum(both[:, :, d:, d], theirs[:, :, : columns - d])
    sums, counts = costs.astype(np.float64), np.ones(costs.shape)
    for axis, before, after in ((1, both[0], both[1]), (0, both[2], both[3])):
        at = np.arange(costs.shape[axis]).reshape([-1 if i == axis else 1 for i in range(3)])
        edge = [(1 if i == axis else 0, 0) for i in range(3)]
        for values in (sums, counts):
            running = np.pad(values.cumsum(axis=axis), edge)
            values[:] = np.take_along_axis(running, at + after + 1, axis) - np.take_along_axis(
                running, at - before, axis
            )
    return (sums / counts).astype(np.float32)


def cv2_guided(image: np.ndarray, slices: list[np.ndarray]) -> list[np.ndarray]:
    """He's guided filter of every slice with a colour guide, from means by cv2.blur."""
    guide = image.astype(np.float32) - 128

    def mean(values: np.ndarray) -> np.ndarray:
        return cv2.blur(values, (19, 19))

    middle = mean(guide)
    squares = mean(
        (guide[..., :, None] * guide[..., None, :]).reshape(*guide.shape[:2], 9)
    ).reshape(*guide.shape, 3)
    inverse = np.linalg.inv(
        squares
        - middle[..., :, None] * middle[..., None, :]
        + np.float32(1e-4 * 255**2) * np.eye(3, dtype=np.float32)
    )
    found = []
    for costs in slices:
        cost = mean(costs)
        slope = np.einsum(
            "yxij,yxj->yxi", inverse, mean(guide * costs[..., None]) - middle * cost[..., None]
        )
        found.append((mean(slope) * guide).sum(axis=2) + mean(cost - (slope * middle).sum(axis=2)))
    return found


def peers(costs: np.ndarray) -> dict[str, Callable[[], object]]:
    """What others offer for the same work, one thread each."""
    slices = [np.ascontiguousarray(costs[..., k]) for k in range(costs.shape[2])]
    outs = [np.empty_like(s) for s in slices]
    left, right = images(*costs.shape[:2])
    kernel, copy, whole = (
        np.ones((WINDOW, WINDOW), np.uint8),
        np.empty_like(costs),
        costs[..., 0].copy(),
    )

    def boxes() -> None:
        for source, out in zip(slices, outs, strict=True):
            cv2.boxFilter(source, -1, (WINDOW, WINDOW), dst=out, borderType=cv2.BORDER_REPLICATE)

    def erosions() -> None:
        for source, out in zip(slices, outs, strict=True):
            cv2.erode(source, kernel, dst=out)

    def copying() -> None:
        np.copyto(copy, costs)

    return {
        "AD": copying,
        "SD": copying,
        "AD interval": copying,
        "gradients": copying,
        "rank": lambda: numpy_ranks(left, right, costs.shape[2]),
        "census strings": lambda: (numpy_strings(left), numpy_strings(right)),
        "census": lambda: numpy_census(left, right, costs.shape[2]),
        "AD-census": lambda: numpy_ad_census(left, right, costs.shape[2]),
        "AD-census, 16 bits": lambda: numpy_ad_census(left, right, costs.shape[2]),
        "box": boxes,
        "min": erosions,
        "guided": lambda: cv2_guided(left, slices),
        "cross": lambda: numpy_cross(left, right, costs),
        "winners": lambda: costs.argmin(axis=2),
        "8 paths": sgbm(costs.shape, cv2.STEREO_SGBM_MODE_HH),
        "4 paths": min(
            (
                sgbm(costs.shape, mode)
                for mode in (cv2.STEREO_SGBM_MODE_SGBM, cv2.STEREO_SGBM_MODE_HH4)
            ),
            key=lambda call: best(call, 0.2),
        ),
        "census, 4 paths": sgbm(costs.shape, cv2.STEREO_SGBM_MODE_SGBM_3WAY),
        "median": lambda: cv2.medianBlur(whole, 3),
        "median, 1 % holes": lambda: cv2.medianBlur(whole, 3),
    }


def sgbm(shape: tuple[int, ...], mode: int) -> Callable[[], object]:
    """OpenCV's matcher on a random grey pair."""
    rows, columns, levels = shape
    left, right = np.random.default_rng(0).integers(0, 256, (2, rows, columns), dtype=np.uint8)
    matcher = cv2.StereoSGBM_create(0, levels, 3, 72, 288, mode=mode)
    return lambda: matcher.compute(left, right)


def stages(shape: tuple[int, int, int]) -> dict[str, Callable[[], object]]:
    """Our stages on random data."""
    rows, columns, levels = shape
    left, right = images(rows, columns)
    search = SearchRange(0, levels - 1)
    volume = CostVolume(
        np.random.default_rng(1).integers(0, 256, shape).astype(np.float32), search, 255.0
    )
    whole = volume.costs[..., 0].copy()
    holes = np.where(np.random.default_rng(3).random(whole.shape) < 0.01, np.float32(np.nan), whole)
    # Of the range of a census of 9x7.
    bits = CostVolume(np.random.default_rng(2).integers(0, 63, shape, dtype=np.uint8), search, 31.0)
    return {
        "AD": lambda: absolute_difference(left, right, search),
        "SD": lambda: squared_difference(left, right, search),
        "AD interval": lambda: absolute_difference(left, right, search, birchfield_tomasi=True),
        "gradients": lambda: gradient_difference(left, right, search),
        "rank": lambda: rank(left, right, search),
        "census strings": lambda: bit_strings(left, right, search, 9, 7, "plain", "mean", "linear"),
        "census": lambda: census(left, right, search),
        "AD-census": lambda: ad_census(left, right, search),
        "AD-census, 16 bits": lambda: ad_census(left, right, search, quantization_steps=4000),
        "box": lambda: box(volume, size=WINDOW),
        "min": lambda: min_filter(volume, size=WINDOW),
        "guided": lambda: guided_filter(volume, left),
        "cross": lambda: cross_based(volume, left, right, iterations=1),
        "winners": lambda: winner_take_all(volume),
        "8 paths": lambda: semi_global(bits, left, right),
        "4 paths": lambda: semi_global(bits, left, right, paths=4),
        "census, 4 paths": lambda: semi_global(census(left, right, search), left, right, paths=4),
        "median": lambda: median(whole),
        "median, 1 % holes": lambda: median(holes),
    }


def main() -> None:
    """Print one table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--large",
        action="store_true",
        help="the 1400x1100 pair too, in strips as the pipeline runs it",
    )
    arguments = parser.parse_args()
    cv2.setNumThreads(1)
    table = Table(
        "size",
        "stage",
        "1 thread, ms",
        "2 threads, ms",
        "peer, ms",
        "ratio",
        "required",
        "wanted",
        title="Kernels",
    )
    for name, shape in SIZES.items():
        if name == "large":
            if not arguments.large:
                continue
            shape = (STRIP_ROWS, *shape[1:])
            name = f"large, {STRIP_ROWS} rows"
        others = peers(np.random.default_rng(1).integers(0, 256, shape).astype(np.float32))
        for stage, call in stages(shape).items():
            with threads(1):
                ours = best(call)
            with threads(2):
                two = best(call)
            peer = best(others[stage])
            table.add_row(
                name,
                stage,
                f"{ours:.2f}",
                f"{two:.2f}",
                f"{peer:.2f}",
                f"{ours / peer:.2f}",
                str(REQUIRED.get(stage, "")),
                str(WANTED.get(stage, "")),
            )
    Console(width=110).print(table)


if __name__ == "__main__":
    main()
