"""Aggregation: support for the costs of each cell from its neighbours."""

from stereo_framework.aggregation.box import box
from stereo_framework.aggregation.min_filter import min_filter

__all__ = ["box", "min_filter"]
