"""The everyday way to a disparity map: two images go in, and disparities, depth and points come out."""

from stereo_framework.own_pair.matched import Matched, PointCloud
from stereo_framework.own_pair.matching import match

__all__ = ["Matched", "PointCloud", "match"]
