"""Write what other programs compute, for tests to compare with: ``python scripts/make_oracles.py --data DIR``.

Needs the extra ``oracles``, which nothing else does. DIR holds ``middlebury2001/tsukuba``. tests/golden/census.npz gets a grey crop of that
pair and Pandora's census costs of it.
"""

import argparse
from importlib.metadata import version
from pathlib import Path

import numpy as np
import xarray as xr
from pandora.matching_cost import AbstractMatchingCost
from PIL import Image

GOLDEN = Path(__file__).parents[1] / "tests" / "golden"
FRAMES = ("scene1.row3.col3.ppm", "scene1.row3.col4.ppm")
CROP = np.s_[100:140, 150:210]
"""Rows and columns that show the lamp and the surface that it occludes."""
LEVELS = 16
WINDOWS = (3, 5, 9, 13)
UNKNOWN = 255
"""Stands for cells whose windows do not lie within both images; costs reach 168."""


def dataset(image: np.ndarray) -> xr.Dataset:
    """An image as Pandora takes it."""
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


def census(left: np.ndarray, right: np.ndarray, size: int) -> np.ndarray:
    """Pandora's costs, uint8 (rows, columns, LEVELS)."""
    # Its bits mark pixels brighter than the centre, ours darker ones; and its disparities count to the right.
    reference, match = dataset(255.0 - left), dataset(255.0 - right)
    cost = AbstractMatchingCost(matching_cost_method="census", window_size=size, subpix=1)
    ends = tuple(np.full(left.shape, end) for end in (1 - LEVELS, 0))
    costs = cost.compute_cost_volume(reference, match, cost.allocate_cost_volume(reference, ends))
    values = costs["cost_volume"].data[..., ::-1]
    return np.where(np.isnan(values), UNKNOWN, values).astype(np.uint8)


def main() -> None:
    """Write the files."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    folder = parser.parse_args().data / "middlebury2001" / "tsukuba"
    left, right = (
        np.asarray(Image.open(folder / name)).astype(int).sum(axis=2)[CROP] // 3 for name in FRAMES
    )
    costs = {f"size{size}": census(left, right, size) for size in WINDOWS}
    images = {"left": left.astype(np.uint8), "right": right.astype(np.uint8)}
    np.savez_compressed(
        GOLDEN / "census.npz", **images, **costs, source=f"Pandora {version('pandora')}"
    )


if __name__ == "__main__":
    main()
