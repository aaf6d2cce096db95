"""Matching costs: two images to a disparity space image."""

from stereo_framework.matching_cost.absolute_difference import absolute_difference
from stereo_framework.matching_cost.normalized_cross_correlation import normalized_cross_correlation
from stereo_framework.matching_cost.squared_difference import squared_difference

__all__ = ["absolute_difference", "normalized_cross_correlation", "squared_difference"]
