"""Module whose import prepares a process for forks that run small sweeps.

The import loads the package and the compiled kernels, and it draws the scenes.
"""

import functools

import stereo_framework
import stereo_framework.cli.main
from stereo_framework.datasets import built_in_scenes

SCENES = ["synthetic/large-60x60x16", "synthetic/large-64x60x16"]
"""The scenes of the sweeps. They are the smallest scenes of the package."""

METHOD = {
    "matching_cost": "absolute_difference",
    "aggregation": ["box"],
    "optimization": "winner_take_all",
}
"""A method that compiles few kernels."""

built_in_scenes.load = functools.cache(built_in_scenes.load)
stereo_framework.run({"scenes": SCENES} | METHOD, workers=1)
