"""A town seen from above, in any size: slanted ground, buildings with flat and gabled roofs, trees, and the ground they hide."""

from __future__ import annotations

import numpy as np

from stereo_framework.core.errors import ParameterError
from stereo_framework.core.scene import Scene, Search
from stereo_framework.datasets.planes import Plane, ellipse, rectangle, slanted
from stereo_framework.datasets.synthetic import planes_scene
from stereo_framework.datasets.textures import Texture

_GROUND = (0.06, 0.3)
"""Disparity of the ground at the first row and its rise to the last one, shares of the largest disparity."""


def town(*, rows: int, columns: int, levels: int, seed: int = 6, name: str = "town") -> Scene:
    """Make a town of random buildings and trees, for methods that must cope with large images.

    Parameters
    ----------
    rows, columns : int
        Image size in pixels; at least 60.
    levels : int
        The search range is 0..levels-1, and the truth stays within it; at least 16.
    seed : int
        The same seed gives the same town.
    name : str

    Returns
    -------
    Scene
        A scene of two frames, as made by `planes_scene`.

    Raises
    ------
    ParameterError
        The image is too small, or there are too few levels.
    """
    if min(rows, columns) < 60 or levels < 16:
        raise ParameterError(
            f"a town of {columns}x{rows} pixels and {levels} levels; legal: 60x60 and larger, 16 levels and more"
        )
    rng = np.random.default_rng(seed)
    top, block = levels - 1, min(rows, columns) / 6
    start, rise = _GROUND[0] * top, _GROUND[1] * top / rows

    def texture(grey: float, period: float) -> Texture:
        dark = np.clip(grey + rng.uniform(-40, 40, 3), 15, 140)
        return Texture(tuple(dark), tuple(dark + rng.uniform(50, 110)), "clouds", period=period, grain=rng.uniform(8, 16))

    planes = [Plane(slanted(start, per_column=0.02 * top / columns, per_row=rise), texture(70, 45))]
    for y in np.arange(block / 2, rows, block):
        for x in np.arange(block / 2, columns, block):
            ground = start + rise * y
            height = rng.uniform(0.12, 0.45) * top
            width, depth = rng.uniform(0.35, 0.7, 2) * block
            left, right, front, back = x - width / 2, x + width / 2, y + depth / 2, y - depth / 2
            roof = texture(rng.uniform(50, 110), rng.uniform(8, 25))
            if rng.random() < 0.4:
                planes.append(Plane(slanted(ground + height), roof, rectangle(left, back, right, front)))
            else:
                # The ridge runs along the row y; both sides fall by a tenth of the range.
                fall = 0.1 * top / (depth / 2)
                for outline, slope in (((left, back, right, y), fall), ((left, y, right, front), -fall)):
                    planes.append(Plane(slanted(ground + height + 0.1 * top, (x, y), per_row=slope), roof, rectangle(*outline)))
            size, crown = rng.uniform(0.08, 0.16) * block, ground + rng.uniform(0.04, 0.12) * top
            planes.append(
                Plane(slanted(crown), texture(50, 6), ellipse(x + 0.45 * block, y + rng.uniform(-0.4, 0.4) * block, size, size))
            )
    return planes_scene(
        planes, rows=rows, columns=columns, positions=(0, 1), search=Search(0, top), noise=2, seed=seed, name=name
    )
