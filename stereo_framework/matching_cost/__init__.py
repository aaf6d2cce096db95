"""Matching costs: two images to a disparity space image."""

from stereo_framework.matching_cost.absolute_difference import (
    absolute_difference as absolute_difference,
)
from stereo_framework.matching_cost.ad_census import ad_census as ad_census
from stereo_framework.matching_cost.census import census as census
from stereo_framework.matching_cost.gradient_difference import (
    gradient_difference as gradient_difference,
)
from stereo_framework.matching_cost.multi_baseline import multi_baseline as multi_baseline
from stereo_framework.matching_cost.mutual_information import (
    mutual_information as mutual_information,
)
from stereo_framework.matching_cost.normalized_cross_correlation import (
    normalized_cross_correlation as normalized_cross_correlation,
)
from stereo_framework.matching_cost.rank import rank as rank
from stereo_framework.matching_cost.squared_difference import (
    squared_difference as squared_difference,
)

__all__ = sorted(name for name in globals() if not name.startswith("_"))
