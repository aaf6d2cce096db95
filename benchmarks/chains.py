"""Time whole chains beside those of others on a grey pair, in one run: ``python benchmarks/chains.py [--scene SCENE] [--data DIR]``.

Peers: cv2.StereoSGBM (MODE_HH for eight paths; the faster of MODE_SGBM and MODE_HH4 for four; for the whole of `sgm` one run of MODE_HH that checks both views, cv2.filterSpeckles and
cv2.medianBlur) and, where the extra ``oracles`` is installed, Pandora on one thread: its cross-based
aggregation with our length and threshold, and its census with winners. Support arms are computed anew each time.

OpenCV is allowed as many threads as ours, but those modes use one: with two threads compare the processor times. MODE_SGBM_3WAY, three paths, does use them, and stands beside
four paths without a limit. Our costs are census bits of 9x7 pixels, OpenCV's Birchfield-Tomasi differences summed over 3x3.
"""

import argparse
import importlib.util
import time
from collections.abc import Callable
from pathlib import Path

import cv2
import numpy as np
from kernels import best
from rich.console import Console
from rich.table import Table

from stereo_framework import CostVolume, Pipeline, SearchRange, load_scene, step, threads
from stereo_framework.aggregation import cross_based
from stereo_framework.core.pair import Pair
from stereo_framework.matching_cost import census
from stereo_framework.optimization import semi_global, winner_take_all
from stereo_framework.script import load

LEVELS = 64
REQUIRED = {"8 paths": 0.8, "4 paths": 1.0, "sgm": 1.0, "cross_based": 0.2}
WANTED = {"8 paths": 0.5, "4 paths": 0.7, "sgm": 0.7, "cross_based": 0.1}
Call = Callable[[], object]


def timed(call: Call) -> tuple[float, float]:
    """The shortest repetition of a second's, and the least processor time of all threads together, in ms; the first, which compiles, does not count."""
    processor: list[float] = []

    def once() -> None:
        start = time.process_time()
        call()
        processor.append(1e3 * (time.process_time() - start))

    return best(once), min(processor[1:])


def ours(left: np.ndarray, right: np.ndarray) -> dict[str, Call]:
    """Our chains: from images to disparities, but for cross_based, which is one pass alone."""
    search = SearchRange(0, LEVELS - 1)
    pair = Pair(left, right, search)
    volume = CostVolume(census(left, right, search).costs.astype(np.float32), search, 31.0)
    whole = load("sgm").settings[0].pipeline
    eight, four = (Pipeline([step(census), step(semi_global, paths=paths)]) for paths in (8, 4))
    return {
        "8 paths": lambda: eight(pair),
        "4 paths": lambda: four(pair),
        "sgm": lambda: whole(pair),
        "cross_based": lambda: cross_based(volume, left, right, iterations=1),
        "census 9x9, winners": lambda: Pipeline([step(census, width=9, height=9), winner_take_all])(
            pair
        ),
    }


def sgbm(left: np.ndarray, right: np.ndarray, mode: int) -> Call:
    """One of StereoSGBM's modes."""
    made = cv2.StereoSGBM_create(0, LEVELS, 3, 72, 288, mode=mode)
    return lambda: made.compute(left, right)


def opencv(left: np.ndarray, right: np.ndarray) -> dict[str, Call]:
    """StereoSGBM's."""
    eight = sgbm(left, right, cv2.STEREO_SGBM_MODE_HH)
    # Its check takes the other view's winners from the same sums.
    checked = cv2.StereoSGBM_create(
        0, LEVELS, 3, 72, 288, disp12MaxDiff=1, mode=cv2.STEREO_SGBM_MODE_HH
    )

    def whole() -> None:
        found = checked.compute(left, right)
        cv2.filterSpeckles(found, -16, 100, 16)
        cv2.medianBlur(found, 3)

    four = [
        sgbm(left, right, mode) for mode in (cv2.STEREO_SGBM_MODE_SGBM, cv2.STEREO_SGBM_MODE_HH4)
    ]
    return {"8 paths": eight, "4 paths": min(four, key=lambda call: best(call, 0.2)), "sgm": whole}


def pandora(left: np.ndarray, right: np.ndarray) -> dict[str, Call]:
    """Pandora's, where it is installed."""
    if importlib.util.find_spec("pandora") is None:
        return {}
    import xarray as xr
    from pandora.aggregation import AbstractAggregation
    from pandora.matching_cost import AbstractMatchingCost

    def dataset(image: np.ndarray) -> xr.Dataset:
        rows, columns = image.shape
        found = xr.Dataset(
            {"im": (["row", "col"], image.astype(np.float32))},
            coords={"row": np.arange(rows), "col": np.arange(columns)},
        )
        found.attrs = {
            "no_data_img": -9999,
            "valid_pixels": 0,
            "no_data_mask": 1,
            "crs": None,
            "transform": None,
        }
        return found

    reference, match = dataset(left), dataset(right)
    cost = AbstractMatchingCost(matching_cost_method="census", window_size=9, subpix=1)
    ends = tuple(np.full(left.shape, end) for end in (1 - LEVELS, 0))

    def volume() -> xr.Dataset:
        return cost.compute_cost_volume(
            reference, match, cost.allocate_cost_volume(reference, ends)
        )

    costs = volume()
    regions = AbstractAggregation(aggregation_method="cbca", cbca_intensity=20.0, cbca_distance=34)
    # It works in place; what it works on does not change its time.
    return {
        "cross_based": lambda: regions.cost_volume_aggregation(reference, match, costs),
        "census 9x9, winners": lambda: np.nanargmin(
            np.nan_to_num(volume()["cost_volume"].data, nan=255), axis=2
        ),
    }


def main() -> None:
    """Print one table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--scene", default="cones")
    parser.add_argument("--data", type=Path)
    arguments = parser.parse_args()
    scene = load_scene(arguments.scene, data=arguments.data)
    left, right = (
        np.rint(image.astype(float).mean(axis=2)).astype(np.uint8)
        for image in (scene.reference, scene.match)
    )
    header = (
        "chain",
        "threads",
        "ours, ms",
        "processor",
        "peer, ms",
        "processor",
        "peer",
        "ratio",
        "processor",
        "required",
        "wanted",
    )
    table = Table(*header, title=scene.name)
    calls = ours(left, right)
    theirs = {
        "OpenCV": opencv(left, right),
        "OpenCV, 3 paths": {"4 paths": sgbm(left, right, cv2.STEREO_SGBM_MODE_SGBM_3WAY)},
        "Pandora": pandora(left, right),
    }
    for count in (1, 2):
        cv2.setNumThreads(count)
        for name, call in calls.items():
            with threads(count):
                own, own_processor = timed(call)
            for peer, chains in theirs.items():
                if name in chains:
                    other, processor = timed(chains[name])
                    limits = (
                        str(goals.get(name, "")) if "," not in peer else ""
                        for goals in (REQUIRED, WANTED)
                    )
                    ratios = f"{own / other:.2f}", f"{own_processor / processor:.2f}"
                    table.add_row(
                        name,
                        str(count),
                        *(f"{ms:.1f}" for ms in (own, own_processor, other, processor)),
                        peer,
                        *ratios,
                        *limits,
                    )
    Console(width=140).print(table)


if __name__ == "__main__":
    main()
