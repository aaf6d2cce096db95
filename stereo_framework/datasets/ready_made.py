"""The built-in scenes, which need no data: ``synthetic/planes``, ``synthetic/slanted``, ``synthetic/occlusions``, ``synthetic/stripes``,
``synthetic/slits``, ``synthetic/large``.

The first five have 320x240 pixels, in colour, and seven frames: reference and match, three between them, and one half a baseline beyond each. The last one
has two frames of 1400x1100 pixels; names such as ``synthetic/large-2900x1900x280`` mean the same scene in any size and with any number of levels.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from stereo_framework.core.scene import Scene, Search
from stereo_framework.core.shipped import shipped_yaml
from stereo_framework.datasets.planes import Outline, Plane, ellipse, rectangle, slanted
from stereo_framework.datasets.synthetic import planes_scene
from stereo_framework.datasets.textures import Texture
from stereo_framework.datasets.town import town

ROWS, COLUMNS = 240, 320
SMALL = tuple(f"synthetic/{name}" for name in ("planes", "slanted", "occlusions", "stripes", "slits"))
"""The scenes of ``ready_made.yaml``."""

LARGE = "synthetic/large"
_SIZED = re.compile(rf"{LARGE}-(\d{{1,5}})x(\d{{1,5}})x(\d{{1,4}})")


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
    entry = shipped_yaml("datasets/ready_made.yaml")[name]
    planes, search = [_plane(**plane) for plane in entry.pop("planes")], Search(*entry.pop("search"))
    return planes_scene(planes, rows=ROWS, columns=COLUMNS, search=search, name=name, **entry)


def _plane(
    plane: Mapping[str, Any], texture: Mapping[str, Any], corners: Sequence[Sequence[float]] = (), **shape: Sequence[Any]
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
    return (*((x + 30 * math.cos(a), top + 30 + 30 * math.sin(a)) for a in arc), (x + 8, top + 69), (x - 8, top + 69))


def _fence(top: float, pickets: int) -> Outline:
    """Pointed boards on a rail, as one outline."""
    points: list[tuple[float, float]] = []
    for i in range(pickets):
        left = 46.3 + 17 * i
        points += [(left, top + 19), (left, top + 5), (left + 4.2, top), (left + 8.4, top + 5), (left + 8.4, top + 19)]
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
