"""Path sums by libSGM, which the tests of `semi_global` compare with: ``python scripts/make_sgm_oracle.py DATA``.

Needs libsgm (``pip install libsgm``, Apache-2.0) and the scene tsukuba in the folder DATA. Writes tests/golden/semi_global.npz: costs uint8 (rows, columns,
levels), which are absolute differences of a piece of the scene, and the sums of eight and of four paths with constant penalties.
"""

import argparse
from pathlib import Path

import numpy as np
from c_libsgm import sgm_api  # type: ignore[import-not-found]

from stereo_framework import SearchRange, load_scene
from stereo_framework.matching_cost import absolute_difference

OUT = Path(__file__).parents[1] / "tests" / "golden" / "semi_global.npz"
ROWS, COLUMNS, SEARCH = slice(130, 154), slice(150, 184), SearchRange(0, 12)
STEPS = ((0, 1), (1, 0), (1, 1), (1, -1), (0, -1), (-1, 0), (-1, -1), (-1, 1))
"""Steps in rows and columns by which libSGM's paths reach a pixel, in its order."""

PENALTIES = {8: (9, 50), 4: (4, 20)}


def sums(costs: np.ndarray, paths: int, p1: float, p2: float) -> np.ndarray:
    """Sums of eight paths, or of the four along rows and columns."""
    rows, columns = costs.shape[:2]
    far = (rows, columns)
    # A path that always comes from outside adds only the pixel's own costs, which are subtracted again.
    steps = [step if paths == 8 or 0 in step else far for step in STEPS]
    # libSGM leaves out penalties where a cost has the value for invalid cells; no cost has this value.
    small, large = (np.full((rows, columns, 8), p, np.float32) for p in (p1, p2))
    segments = np.zeros((rows, columns), np.float32)
    found = sgm_api(
        costs.astype(np.float32),
        small,
        large,
        np.array(steps, np.int32),
        -1.0,
        segments,
        False,
        False,
    )["cv"]
    return np.asarray(found) - (8 - paths) * costs.astype(np.float32)


def main() -> None:
    """Write the file."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", type=Path)
    scene = load_scene("tsukuba", data=parser.parse_args().data)
    left, right = (
        image[ROWS, COLUMNS].mean(axis=2).astype(np.uint8)
        for image in (scene.reference, scene.match)
    )
    costs = absolute_difference(left, right, SEARCH, truncation=60).costs.astype(np.uint8)
    arrays = {"costs": costs}
    for paths, (p1, p2) in PENALTIES.items():
        found = sums(costs, paths, p1, p2)
        assert (found == found.astype(np.uint16)).all()
        arrays[f"sums{paths}"], arrays[f"penalties{paths}"] = (
            found.astype(np.uint16),
            np.array([p1, p2], np.uint8),
        )
    OUT.parent.mkdir(exist_ok=True)
    np.savez_compressed(OUT, **arrays)


if __name__ == "__main__":
    main()
