"""The everyday way to a disparity map: two images go in, and disparities, depth and points come out."""

from stereo_framework.core.former_names import report_attributes_of_module
from stereo_framework.user_pair.match_result import MatchResult, PointCloud
from stereo_framework.user_pair.matching import match

__all__ = ["MatchResult", "PointCloud", "match"]

report_attributes_of_module(__name__)
