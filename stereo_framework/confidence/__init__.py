"""Measures of how sure each pixel of a disparity map is."""

from stereo_framework.confidence.ambiguity import ambiguity as ambiguity
from stereo_framework.confidence.attainable_likelihood import (
    attainable_likelihood as attainable_likelihood,
)
from stereo_framework.confidence.curvature import curvature as curvature
from stereo_framework.confidence.distinctiveness import distinctiveness as distinctiveness
from stereo_framework.confidence.entropy import entropy as entropy
from stereo_framework.confidence.learned import learned as learned
from stereo_framework.confidence.left_right_consistency import (
    left_right_consistency as left_right_consistency,
)
from stereo_framework.confidence.left_right_difference import (
    left_right_difference as left_right_difference,
)
from stereo_framework.confidence.matching_score import matching_score as matching_score
from stereo_framework.confidence.maximum_likelihood import maximum_likelihood as maximum_likelihood
from stereo_framework.confidence.peak_ratio import peak_ratio as peak_ratio
from stereo_framework.confidence.peak_ratio_naive import peak_ratio_naive as peak_ratio_naive
from stereo_framework.confidence.winner_margin import winner_margin as winner_margin
from stereo_framework.confidence.winner_margin_naive import (
    winner_margin_naive as winner_margin_naive,
)

__all__ = sorted(name for name in globals() if not name.startswith("_"))
