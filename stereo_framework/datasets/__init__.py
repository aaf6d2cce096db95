"""Scenes from data sets, from the user's own files, and generated ones."""

# These register their sets.
from stereo_framework.datasets import middlebury, pairs
from stereo_framework.datasets.download import fetch, public_sets
from stereo_framework.datasets.planes import Plane, ellipse, planes_scene, rectangle, slanted
from stereo_framework.datasets.registry import (
    data_roots,
    dataset,
    find_scenes,
    load_pair,
    load_scene,
    load_scenes,
    scene_fits,
    scene_names,
)
from stereo_framework.datasets.scene_file import pair_scene
from stereo_framework.datasets.textures import Texture

__all__ = [
    "Plane",
    "Texture",
    "data_roots",
    "dataset",
    "ellipse",
    "fetch",
    "find_scenes",
    "load_pair",
    "load_scene",
    "load_scenes",
    "pair_scene",
    "planes_scene",
    "public_sets",
    "rectangle",
    "scene_fits",
    "scene_names",
    "slanted",
]
