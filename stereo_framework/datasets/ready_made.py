"""The built-in scenes, which need no data: ``synthetic/planes``, ``synthetic/slanted``, ``synthetic/occlusions``, ``synthetic/stripes``,
``synthetic/slits``, ``synthetic/large``.

The first five have 320x240 pixels, in colour, and seven frames: reference and match, three between them, and one half a baseline beyond each. The last one
has two frames of 1400x1100 pixels; names such as ``synthetic/large-2900x1900x280`` mean the same scene in any size and with any number of levels.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from stereo_framework.core.scene import Scene, Search
from stereo_framework.core.shipped import shipped_yaml
from stereo_framework.datasets.planes import Outline, Plane, ellipse, rectangle, slanted
from stereo_framework.datasets.synthetic import planes_scene
from stereo_framework.datasets.textures import Texture
from stereo_framework.datasets.town import town

ROWS, COLUMNS = 240, 320

LARGE = "synthetic/large"
_SIZED = re.compile(rf"{LARGE}-(\d{{1,5}})x(\d{{1,5}})x(\d{{1,4}})")


def scene_names() -> tuple[str, ...]:
    """Full names of the built-in scenes, the large one in its usual size."""
    return *_SCENES, LARGE


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
    planes, search, noise, seed = _SCENES[name]
    return planes_scene(planes(), rows=ROWS, columns=COLUMNS, search=search, noise=noise, seed=seed, name=name)


def _listed(name: str) -> list[Plane]:
    """The planes that ``ready_made.yaml`` lists for a scene."""
    return [_plane(**entry) for entry in shipped_yaml("datasets/ready_made.yaml")[name]]


def _plane(
    plane: dict[str, Any], texture: dict[str, Any], corners: Sequence[Sequence[float]] = (), **shape: Sequence[Any]
) -> Plane:
    colours = {name: tuple(texture[name]) for name in ("dark", "light")}
    outline = tuple((x, y) for x, y in corners)
    for name, arguments in shape.items():
        outline = _SHAPES[name](*arguments)
    return Plane(slanted(**plane), Texture(**(texture | colours)), outline)


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


_SHAPES: dict[str, Callable[..., Outline]] = {
    "rectangle": rectangle,
    "ellipse": ellipse,
    "hills": _hills,
    "balloon": _balloon,
    "fence": _fence,
}


def _bars() -> list[Plane]:
    """Thin bars far in front of a wall with textureless panels."""
    wall = slanted(4, per_column=0.01)
    plain = Texture((0, 0, 0), (168, 176, 184), "flat", grain=0)
    bars = [
        Plane(
            slanted(22 + 0.8 * i),
            Texture((60 + 12 * i, 50, 40), (220, 190 - 9 * i, 120), "stripes", 12, angle=70, bend=0.3),
            rectangle(34.3 + 38.2 * i, 12 + 4 * i, 34.3 + 38.2 * i + 3 + 1.6 * i, 236 - 6 * i),
        )
        for i in range(7)
    ]
    return [
        Plane(wall, Texture((60, 80, 100), (190, 200, 190), "clouds", 20)),
        Plane(wall, plain, rectangle(50.2, 30.3, 128.6, 108.4)),
        Plane(wall, plain, ellipse(236.4, 160.3, 104, 84)),
        Plane(slanted(12.5), Texture((110, 40, 50), (236, 150, 120), "checks", 18, angle=30), ellipse(160.4, 120.2, 62, 70)),
        *bars,
        Plane(slanted(28.6), Texture((40, 40, 44), (150, 150, 160), "clouds", 10), rectangle(-50, 196.3, 400, 205.6)),
    ]


def _fading(period: float) -> Texture:
    """Random texture whose contrast falls from the first row to a twentieth in the last row."""
    return Texture((52, 50, 48), (206, 204, 198), "clouds", period, grain=14, fades=(0, 252))


def _thin_stripes() -> list[Plane]:
    """Five thin stripes in front of a slanted plane: half-occlusions at every contrast (after Kostliva, Cech & Sara 2007)."""
    stripes = [
        Plane(slanted(18 + 0.6 * i), _fading(9), rectangle(42.4 + 56 * i, -20, 42.4 + 56 * i + 5 + 2 * i, 260)) for i in range(5)
    ]
    return [Plane(slanted(6, per_column=0.016, per_row=0.012), _fading(11)), *stripes]


def _narrow_slits() -> list[Plane]:
    """A plane behind another with slits no wider than the disparities differ (after Kostliva, Cech & Sara 2007).

    What one camera sees through a slit is hidden from the other.
    """
    near, far = 22.0, 8.0
    # One outline for all boards, so that they share a texture; the boards are connected above the image.
    points: list[tuple[float, float]] = [(400, -40), (-60, -40), (-60, 260)]
    for i in range(6):
        left, right = 38.3 + 46 * i, 41.3 + 48 * i
        points += [(left, 260), (left, -20), (right, -20), (right, 260)]
    points.append((400, 260))
    return [Plane(slanted(far), _fading(11)), Plane(slanted(near), _fading(9), tuple(points))]


_SCENES: dict[str, tuple[Callable[[], list[Plane]], Search, float, int]] = {
    "synthetic/planes": (partial(_listed, "synthetic/planes"), Search(0, 31), 2.0, 1),
    "synthetic/slanted": (partial(_listed, "synthetic/slanted"), Search(0, 23), 1.0, 2),
    "synthetic/occlusions": (_bars, Search(0, 31), 1.5, 3),
    "synthetic/stripes": (_thin_stripes, Search(0, 31), 2.0, 4),
    "synthetic/slits": (_narrow_slits, Search(0, 31), 2.0, 5),
}
