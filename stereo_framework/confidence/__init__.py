"""Measures of how sure each pixel of a disparity map is."""

from stereo_framework.confidence.ambiguity import ambiguity
from stereo_framework.confidence.attainable_likelihood import attainable_likelihood
from stereo_framework.confidence.curvature import curvature
from stereo_framework.confidence.distinctiveness import distinctiveness
from stereo_framework.confidence.entropy import entropy
from stereo_framework.confidence.learned import learned
from stereo_framework.confidence.left_right_consistency import left_right_consistency
from stereo_framework.confidence.left_right_difference import left_right_difference
from stereo_framework.confidence.matching_score import matching_score
from stereo_framework.confidence.maximum_likelihood import maximum_likelihood
from stereo_framework.confidence.peak_ratio import peak_ratio
from stereo_framework.confidence.peak_ratio_naive import peak_ratio_naive
from stereo_framework.confidence.winner_margin import winner_margin
from stereo_framework.confidence.winner_margin_naive import winner_margin_naive

__all__ = [
    "ambiguity",
    "attainable_likelihood",
    "curvature",
    "distinctiveness",
    "entropy",
    "learned",
    "left_right_consistency",
    "left_right_difference",
    "matching_score",
    "maximum_likelihood",
    "peak_ratio",
    "peak_ratio_naive",
    "winner_margin",
    "winner_margin_naive",
]
