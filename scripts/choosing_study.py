"""The study of choosing without truth (docs/notes/choosing.md): its leave-one-scene-out tables, and the numbers that the rule needs.

    STEREO_DATA=... python scripts/choosing_study.py --out DIR

keeps maps and all that is measured of them in DIR, so that a second call takes seconds.
"""

import argparse
from dataclasses import dataclass
from itertools import pairwise, product
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from stereo_framework import evaluate, load_scene, results, run
from stereo_framework.sweep.reference import reference
from stereo_framework.tables.words import setting_name

SCENES = [
    "middlebury2001/*",
    "middlebury2003/*",
    "middlebury2005/*",
    "middlebury2006/*",
    "middlebury-v3/trainingQ/*",
    "motorcycle/motorcycle",
    "kitti/training2012",
    "kitti2015/*",
]
SAME = [{"middlebury2005/Art", "middlebury-v3/trainingQ/ArtL"}, {"middlebury-v3/trainingQ/Motorcycle", "motorcycle/motorcycle"}]
"""Pairs of one scene: none of them is judged by what was learned from the other."""

TRUE = {"base": "taxonomy2002", "measures": ["bad_pixels"], "regions": ["nonocc"], "prediction": "none", "border": 0}
POWERS, NOMINAL, GAIN, BAD = (0.5, 0.75, 1.0), 0.9, 0.9, 3.0
Numbers = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Measured:
    """Of one scene's maps: true errors and distances to the reference, (maps,), and how far maps differ, (maps, maps), all in percent."""

    scene: str
    names: list[str]
    errors: Numbers
    distances: Numbers
    shares: dict[str, Numbers]

    def against(self, base: int) -> tuple[Numbers, Numbers, dict[str, Numbers]]:
        """What is to be known, what is seen, and how far the maps differ, of all other maps against one."""
        other = np.arange(len(self.names)) != base
        return (
            (self.errors - self.errors[base])[other],
            (self.distances - self.distances[base])[other],
            {k: s[base][other] for k, s in self.shares.items()},
        )


def main() -> None:
    """Compute maps, measure them, and print all tables as Markdown."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, required=True)
    out = parser.parse_args().out
    run("truth_free/candidates", scenes=SCENES, maps=True, out=out / "sweep")
