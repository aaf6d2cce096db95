"""The built-in scenes, which need no data: ``synthetic/planes``, ``synthetic/slanted``, ``synthetic/occlusions``, ``synthetic/stripes``,
``synthetic/slits``, ``synthetic/large``.

The first five have 320x240 pixels, in colour, and seven frames: reference and match, three between them, and one half a baseline beyond each. The last one
has two frames of 1400x1100 pixels; names such as ``synthetic/large-2900x1900x280`` mean the same scene in any size and with any number of levels.
"""

import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from stereo_framework.core.errors import ParameterError
from stereo_framework.core.package_files import package_yaml
from stereo_framework.core.scene import Scene, SearchRange
from stereo_framework.datasets.planes import (
    Outline,
    Plane,
    ellipse,
    planes_scene,
    rectangle,
    slanted,
)
from stereo_framework.datasets.textures import Texture

ROWS, COLUMNS = 240, 320
SMALL = tuple(
    f"synthetic/{name}" for name in ("planes", "slanted", "occlusions", "stripes", "slits")
)
"""The scenes of ``built_in_scenes.yaml``."""

LARGE = "synthetic/large"
_SIZED = re.compile(rf"{LARGE}-([0-9]{{1,5}})x([0-9]{{1,5}})x([0-9]{{1,4}})")


def scene_names() -> tuple[str, ...]:
    """Full names of the built-in scenes, the large one in its usual size."""
    return *SMALL, LARGE


def is_built_in(name: str) -> bool:
    """Whether `load` knows a name: one of `scene_names`, or the large scene in another size."""
    return name in scene_names() or _SIZED.fullmatch(name) is not None


def load(name: str) -> Scene:
    """Load a built-in scene, which is rendered on first use.

    Raises
    ------
    ParameterError
        A large scene is too small or has too few levels.
    """
    if name == LARGE:
        return town(rows=1100, columns=1400, levels=192, name=name)
    if sized := _SIZED.fullmatch(name):
        columns, rows, levels = map(int, sized.groups())
        return town(rows=rows, columns=columns, levels=levels, name=name)
    entry = package_yaml("datasets/built_in_scenes.yaml")[name]
    planes, search = (
        [_plane(**plane) for plane in entry.pop("planes")],
        SearchRange(*entry.pop("search")),
    )
    return planes_scene(planes, rows=ROWS, columns=COLUMNS, search=search, name=name, **entry)


def _plane(
    plane: Mapping[str, Any],
    texture: Mapping[str, Any],
    corners: Sequence[Sequence[float]] = (),
    **shape: Sequence[Any],
) -> Plane:
    pairs = {name: tuple(value) for name, value in texture.items() if isinstance(value, list)}
    outline = tuple((x, y) for x, y in corners)
    for name, arguments in shape.items():
        outline = _SHAPES[name](*arguments)
    return Plane(slanted(**plane), Texture(**{**texture, **pairs}), outline)


def _hills(top: float, height: float, length: float, phase: float) -> Outline:
    """A wavy skyline over the whole width and, for the outer cameras, beyond it."""
    x = range(-60, 401, 4)
    skyline = [(float(c), top - height * math.sin(2 * math.pi * c / length + phase)) for c in x]
    return (*skyline, (400.0, 200.0), (-60.0, 200.0))


def _balloon(x: float, top: float) -> Outline:
    """A hot-air balloon: a circle at the top, tapering below."""
    arc = [math.radians(-200 + a) for a in range(0, 221, 10)]
    return (
        *((x + 30 * math.cos(a), top + 30 + 30 * math.sin(a)) for a in arc),
        (x + 8, top + 69),
        (x - 8, top + 69),
    )


def _fence(top: float, pickets: int) -> Outline:
    """Pointed boards on a rail, as one outline."""
    points: list[tuple[float, float]] = []
    for i in range(pickets):
        left = 46.3 + 17 * i
        points += [
            (left, top + 19),
            (left, top + 5),
            (left + 4.2, top),
            (left + 8.4, top + 5),
            (left + 8.4, top + 19),
        ]
    return (*points, (points[-1][0], 260.0), (46.3, 260.0))


def _boards(count: int) -> Outline:
    """Boards with slits of growing width between them. They have one outline, so that they share a texture, and are connected above the image."""
    points: list[tuple[float, float]] = [(400, -40), (-60, -40), (-60, 260)]
    for i in range(count):
        left, right = 38.3 + 46 * i, 41.3 + 48 * i
        points += [(left, 260), (left, -20), (right, -20), (right, 260)]
    return (*points, (400, 260))


_SHAPES: dict[str, Callable[..., Outline]] = {
    "rectangle": rectangle,
    "ellipse": ellipse,
    "hills": _hills,
    "balloon": _balloon,
    "fence": _fence,
    "boards": _boards,
}


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
            f"a town of {columns}x{rows} pixels and {levels} levels; allowed: 60x60 and larger, 16 levels and more"
        )
    rng = np.random.default_rng(seed)
    top, block = levels - 1, min(rows, columns) / 6
    start, rise = _GROUND[0] * top, _GROUND[1] * top / rows

    def texture(grey: float, period: float) -> Texture:
        dark = np.clip(grey + rng.uniform(-40, 40, 3), 15, 140)
        return Texture(
            tuple(dark),
            tuple(dark + rng.uniform(50, 110)),
            "clouds",
            period=period,
            grain=rng.uniform(8, 16),
        )

    planes = [Plane(slanted(start, per_column=0.02 * top / columns, per_row=rise), texture(70, 45))]
    for y in np.arange(block / 2, rows, block):
        for x in np.arange(block / 2, columns, block):
            ground = start + rise * y
            height = rng.uniform(0.12, 0.45) * top
            width, depth = rng.uniform(0.35, 0.7, 2) * block
            left, right, front, back = x - width / 2, x + width / 2, y + depth / 2, y - depth / 2
            roof = texture(rng.uniform(50, 110), rng.uniform(8, 25))
            if rng.random() < 0.4:
                planes.append(
                    Plane(slanted(ground + height), roof, rectangle(left, back, right, front))
                )
            else:
                # The ridge runs along the row y; both sides fall by a tenth of the range.
                fall = 0.1 * top / (depth / 2)
                for outline, slope in (
                    ((left, back, right, y), fall),
                    ((left, y, right, front), -fall),
                ):
                    planes.append(
                        Plane(
                            slanted(ground + height + 0.1 * top, (x, y), per_row=slope),
                            roof,
                            rectangle(*outline),
                        )
                    )
            size, crown = rng.uniform(0.08, 0.16) * block, ground + rng.uniform(0.04, 0.12) * top
            planes.append(
                Plane(
                    slanted(crown),
                    texture(50, 6),
                    ellipse(x + 0.45 * block, y + rng.uniform(-0.4, 0.4) * block, size, size),
                )
            )
    return planes_scene(
        planes,
        rows=rows,
        columns=columns,
        positions=(0, 1),
        search=SearchRange(0, top),
        noise=2,
        seed=seed,
        name=name,
    )
