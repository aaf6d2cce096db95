"""Small scenes of random rectangles."""

import numpy as np

from stereo_framework.core.scene import Search
from stereo_framework.datasets import Plane, Texture, planes_scene, rectangle, slanted


def random_planes(*, rows, columns, levels, seed=0, noise=2.0):
    random, top = np.random.default_rng(seed), levels - 1

    def texture():
        return Texture(tuple(random.uniform(20, 120, 3)), tuple(random.uniform(130, 235, 3)), period=random.uniform(14, 60))

    planes = [Plane(slanted(0.02 * top, per_column=0.08 * top / columns, per_row=0.08 * top / rows), texture())]
    for disparity in np.sort(random.uniform(0.25, 0.9, 10)) * top:
        x, y = random.uniform(0, 1, 2) * (columns, rows)
        width, height = random.uniform(0.03, 0.12, 2) * (columns, rows)
        planes.append(Plane(slanted(disparity), texture(), rectangle(x - width, y - height, x + width, y + height)))
    search = Search(0, top)
    return planes_scene(planes, rows=rows, columns=columns, positions=(0, 1), search=search, noise=noise, seed=seed)
