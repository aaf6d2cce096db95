"""The everyday way to a disparity map: two images go in, and disparities, depth and points come out."""

from stereo_framework.everyday.matched import Matched, PointCloud
from stereo_framework.everyday.matching import match, match_scene

__all__ = ["Matched", "PointCloud", "match", "match_scene"]
