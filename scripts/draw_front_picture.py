"""Draw README's picture: a photograph, its disparity map and its points seen from the side: ``python scripts/draw_front_picture.py [--data DIR]``.

All three come from `match` as it is on the pair ``motorcycle``.
"""

import argparse
from pathlib import Path

import numpy as np
from matplotlib import colormaps
from numpy.typing import NDArray
from PIL import Image

from stereo_framework import load_scene, match
from stereo_framework.core.scene import Scene

PICTURE = Path(__file__).parents[1] / "docs" / "images" / "front.jpg"
TURN, TILT, HEIGHT, SPLAT = 30, -14, 560, 5
"""Viewing angles to the side and from above in degrees, rows of the picture, and the size of a point in pixels."""
BACKGROUND = (18, 20, 28)


def from_the_side(
    points: NDArray[np.float32], colours: NDArray[np.uint8], rows: int, columns: int
) -> NDArray[np.uint8]:
    """Points as seen by a camera that has moved around their centre.

    Parameters
    ----------
    points : ndarray, float32, (n, 3)
        x to the right, y down, z away.
    colours : ndarray, uint8, (n, 3)
    rows, columns : int
        Of the picture.
    """
    near, far = np.percentile(points[:, 2], [2, 93])
    kept = (points[:, 2] > near * 0.9) & (points[:, 2] <= far)
    points, colours = points[kept].astype(np.float64), colours[kept]
    middle = np.median(points, axis=0)
    turn, tilt = np.radians([TURN, TILT])
    around = np.array(
        [[np.cos(turn), 0, -np.sin(turn)], [0, 1, 0], [np.sin(turn), 0, np.cos(turn)]]
    )
    above = np.array([[1, 0, 0], [0, np.cos(tilt), np.sin(tilt)], [0, -np.sin(tilt), np.cos(tilt)]])
    x, y, z = above @ around @ (points - middle).T
    z += middle[2]
    x, y = x / z, y / z
    left, right, top, bottom = *np.percentile(x, [0.5, 99.5]), *np.percentile(y, [0.5, 99.5])
    scale = min(columns / (right - left), rows / (bottom - top))
    column = np.rint((x - (left + right) / 2) * scale + columns / 2).astype(int)
    row = np.rint((y - (top + bottom) / 2) * scale + rows / 2).astype(int)
    picture = np.full((rows, columns, 3), BACKGROUND, np.uint8)
    order = np.argsort(-z)  # the nearest last
    for dy, dx in np.ndindex(SPLAT, SPLAT):
        r, c = row[order] + dy, column[order] + dx
        seen = (r >= 0) & (r < rows) & (c >= 0) & (c < columns)
        picture[r[seen], c[seen]] = colours[order][seen]
    return picture


def draw(scene: Scene) -> NDArray[np.uint8]:
    """The photograph above its map, and the points beside them, uint8 (HEIGHT, columns, 3)."""
    assert scene.search is not None, "scenes of the data sets have a range"
    found = match(
        scene.reference,
        scene.match,
        (scene.search.minimum, scene.search.maximum),
        calibration=scene.calibration,
    )
    low, high = np.nanpercentile(found.disparity, [1, 99])
    shares = np.clip((found.disparity - low) / (high - low), 0, 1)
    disparity = np.rint(colormaps["viridis"](np.nan_to_num(shares))[..., :3] * 255).astype(np.uint8)
    small = round(HEIGHT / 2 * scene.reference.shape[1] / scene.reference.shape[0]), HEIGHT // 2
    left = [
        np.asarray(Image.fromarray(part).resize(small, Image.Resampling.LANCZOS))
        for part in (scene.reference, disparity)
    ]
    # Drawn at twice the size and reduced, so that edges are not jagged.
    points = Image.fromarray(from_the_side(*found.points(), rows=2 * HEIGHT, columns=4 * small[0]))
    return np.hstack(
        [
            np.vstack(left),
            np.asarray(points.resize((2 * small[0], HEIGHT), Image.Resampling.LANCZOS)),
        ]
    )


def main() -> None:
    """Match and draw."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path)
    Image.fromarray(draw(load_scene("motorcycle", data=parser.parse_args().data))).save(
        PICTURE, quality=88, optimize=True
    )


if __name__ == "__main__":
    main()
