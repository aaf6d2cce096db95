"""The built-in scenes, which need no data: ``synthetic/planes``, ``synthetic/slanted``, ``synthetic/occlusions``, ``synthetic/stripes``,
``synthetic/slits``.

All are 320x240 in colour with seven frames: reference and match, three between them, and one half a baseline beyond each.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from stereo_framework.datasets.planes import Outline, Plane, ellipse, rectangle, slanted
from stereo_framework.datasets.synthetic import planes_scene
from stereo_framework.datasets.textures import Texture
from stereo_framework.scene import Scene, Search

ROWS, COLUMNS = 240, 320


def scene_names() -> tuple[str, ...]:
    """Full names of the built-in scenes."""
    return tuple(_SCENES)


def load(name: str) -> Scene:
    """One of `scene_names`; rendered on first use."""
    planes, search, noise, seed = _SCENES[name]
    return planes_scene(planes(), rows=ROWS, columns=COLUMNS, search=search, noise=noise, seed=seed, name=name)


def _paper_theatre() -> list[Plane]:
    """Cut-outs on a meadow: every kind of surface at a glance, flat and slanted, fine, coarse, striped and textureless."""
    wood = Texture((125, 78, 42), (176, 124, 74), "stripes", 9, angle=90, bend=0.3, grain=9)
    leaves = Texture((22, 74, 38), (104, 160, 62), "clouds", 9, grain=14)
    front = slanted(15, (82, 180), per_column=0.035)  # the house stands at an angle
    kite = slanted(13, (192, 52), per_column=0.11, per_row=-0.06)
    return [
        Plane(slanted(3, per_column=0.008), Texture((118, 164, 214), (226, 234, 240), "clouds", 52, grain=5)),
        Plane(slanted(4.5), Texture((0, 0, 0), (250, 214, 92), "flat", grain=0), ellipse(150.3, 40.2, 46, 46)),
        Plane(slanted(7), Texture((70, 104, 112), (132, 160, 140), "clouds", 22, grain=9), _hills(118, 17, 150, 0.4)),
        Plane(slanted(9.5), Texture((52, 100, 70), (120, 154, 84), "clouds", 16, grain=10), _hills(141, 10, 105, 2.6)),
        Plane(
            slanted(9, (0, 150), per_row=0.185),
            Texture((84, 132, 50), (160, 182, 84), "clouds", 13, grain=13),
            rectangle(-60, 149.6, 400, 260),
        ),
        Plane(front, Texture((150, 62, 48), (206, 122, 92), "stripes", 7, angle=90, grain=9), rectangle(40.3, 128, 124.6, 188)),
        Plane(front, Texture((0, 0, 0), (238, 226, 196), "flat", grain=0), rectangle(51.2, 142, 69.7, 162)),
        Plane(front, Texture((52, 44, 52), (84, 68, 64), "stripes", 6, grain=5), rectangle(86.2, 147, 105.7, 188.5)),
        Plane(
            front, Texture((58, 52, 66), (116, 98, 108), "checks", 9, angle=45, grain=8), ((30.2, 130), (82.4, 92), (134.7, 130))
        ),
        Plane(slanted(18), wood, rectangle(222.3, 148, 232.8, 208)),
        Plane(slanted(18.5), leaves, ellipse(228.2, 122.1, 66, 74)),
        Plane(slanted(20), wood, rectangle(275.2, 174, 283.9, 221)),
        Plane(slanted(20.4), leaves, ellipse(279.1, 157.3, 44, 50)),
        Plane(
            kite,
            Texture((206, 62, 96), (246, 206, 96), "checks", 24, angle=45, grain=9),
            ((172, 47), (197, 22), (218, 58), (186, 84)),
        ),
        Plane(slanted(26.5), Texture((196, 44, 44), (246, 232, 210), "stripes", 17, grain=9), _balloon(276.2, 18)),
        Plane(slanted(26.2), Texture((118, 82, 46), (190, 148, 94), "checks", 5, grain=6), rectangle(268.4, 88.5, 284.1, 101)),
        Plane(
            slanted(27.3), Texture((186, 170, 146), (236, 228, 212), "stripes", 26, angle=60, bend=0.3, grain=11), _fence(206, 8)
        ),
    ]


def _hills(top: float, height: float, length: float, phase: float) -> Outline:
    """A wavy skyline over the whole width, and beyond it for the outer cameras."""
    x = range(-60, 401, 4)
    skyline = [(float(c), top - height * math.sin(2 * math.pi * c / length + phase)) for c in x]
    return (*skyline, (400.0, 200.0), (-60.0, 200.0))


def _balloon(x: float, top: float) -> Outline:
    """A hot-air balloon: a circle above, tapered below."""
    arc = [math.radians(-200 + a) for a in range(0, 221, 10)]
    return (*((x + 30 * math.cos(a), top + 30 + 30 * math.sin(a)) for a in arc), (x + 8, top + 69), (x - 8, top + 69))


def _fence(top: float, pickets: int) -> Outline:
    """Pointed boards on a rail, as one outline."""
    points: list[tuple[float, float]] = []
    for i in range(pickets):
        left = 46.3 + 17 * i
        points += [(left, top + 19), (left, top + 5), (left + 4.2, top), (left + 8.4, top + 5), (left + 8.4, top + 19)]
    return (*points, (points[-1][0], 260.0), (46.3, 260.0))


def _sub_pixel() -> list[Plane]:
    """Slanted panels whose disparities pass through all fractions of a pixel, everywhere textured."""
    return [
        Plane(slanted(4, per_column=0.03, per_row=0.004), Texture((70, 86, 120), (196, 206, 214), "clouds", 24)),
        Plane(
            slanted(12.3, (70, 70), per_column=-0.06),
            Texture((120, 60, 50), (230, 180, 130), "clouds", 14),
            rectangle(25.4, 24.6, 121.7, 114.5),
        ),
        Plane(
            slanted(16.2, (235, 75), per_row=0.07),
            Texture((40, 90, 70), (170, 210, 140), "clouds", 18),
            ellipse(235.3, 75.2, 110, 96),
        ),
        Plane(
            slanted(16.8, (160, 180), per_column=0.04, per_row=-0.03),
            Texture((90, 60, 110), (220, 190, 220), "clouds", 12),
            ((60.3, 150.2), (255.6, 138.4), (268.1, 214.7), (48.9, 222.3)),
        ),
    ]


def _bars() -> list[Plane]:
    """Thin bars far before a wall with textureless panels."""
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
    """Random texture whose contrast falls from the first row on, to a twentieth in the last one."""
    return Texture((52, 50, 48), (206, 204, 198), "clouds", period, grain=14, fades=(0, 252))


def _thin_stripes() -> list[Plane]:
    """Five thin stripes before a slanted plane: half-occlusions at every contrast (after Kostliva, Cech & Sara 2007)."""
    stripes = [
        Plane(slanted(18 + 0.6 * i), _fading(9), rectangle(42.4 + 56 * i, -20, 42.4 + 56 * i + 5 + 2 * i, 260)) for i in range(5)
    ]
    return [Plane(slanted(6, per_column=0.016, per_row=0.012), _fading(11)), *stripes]


def _narrow_slits() -> list[Plane]:
    """A plane behind another with slits no wider than the disparities differ (after Kostliva, Cech & Sara 2007).

    What one camera sees through a slit is hidden from the other.
    """
    near, far = 22.0, 8.0
    # One outline for all boards, so that they share their texture; they hang together above the image.
    points: list[tuple[float, float]] = [(400, -40), (-60, -40), (-60, 260)]
    for i in range(6):
        left, right = 38.3 + 46 * i, 41.3 + 48 * i
        points += [(left, 260), (left, -20), (right, -20), (right, 260)]
    points.append((400, 260))
    return [Plane(slanted(far), _fading(11)), Plane(slanted(near), _fading(9), tuple(points))]


_SCENES: dict[str, tuple[Callable[[], list[Plane]], Search, float, int]] = {
    "synthetic/planes": (_paper_theatre, Search(0, 31), 2.0, 1),
    "synthetic/slanted": (_sub_pixel, Search(0, 23), 1.0, 2),
    "synthetic/occlusions": (_bars, Search(0, 31), 1.5, 3),
    "synthetic/stripes": (_thin_stripes, Search(0, 31), 2.0, 4),
    "synthetic/slits": (_narrow_slits, Search(0, 31), 2.0, 5),
}
