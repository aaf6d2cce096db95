"""Matching costs: two images to a disparity space image."""

from stereo_framework.matching_cost.absolute_difference import absolute_difference
from stereo_framework.matching_cost.ad_census import ad_census
from stereo_framework.matching_cost.census import census
from stereo_framework.matching_cost.gradient_difference import gradient_difference
from stereo_framework.matching_cost.mutual_information import mutual_information
from stereo_framework.matching_cost.normalized_cross_correlation import normalized_cross_correlation
from stereo_framework.matching_cost.rank import rank
from stereo_framework.matching_cost.squared_difference import squared_difference

__all__ = [
    "absolute_difference",
    "ad_census",
    "census",
    "gradient_difference",
    "mutual_information",
    "normalized_cross_correlation",
    "rank",
    "squared_difference",
]
