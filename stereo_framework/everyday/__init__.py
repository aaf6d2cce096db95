"""The everyday way to a map: two images in, disparities, depth and points out."""

from stereo_framework.everyday.matched import Matched, PointCloud
from stereo_framework.everyday.matching import match, match_scene

__all__ = ["Matched", "PointCloud", "match", "match_scene"]
