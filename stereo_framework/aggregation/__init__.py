"""Aggregation: support for the costs of each cell from its neighbours."""

from stereo_framework.aggregation.bayesian_diffusion import bayesian_diffusion as bayesian_diffusion
from stereo_framework.aggregation.binomial import binomial as binomial
from stereo_framework.aggregation.box import box as box
from stereo_framework.aggregation.cross_based import cross_based as cross_based
from stereo_framework.aggregation.cross_scale import cross_scale as cross_scale
from stereo_framework.aggregation.diffusion import diffusion as diffusion
from stereo_framework.aggregation.guided_filter import guided_filter as guided_filter
from stereo_framework.aggregation.membrane_diffusion import membrane_diffusion as membrane_diffusion
from stereo_framework.aggregation.min_filter import min_filter as min_filter
from stereo_framework.aggregation.minimum_spanning_tree import (
    minimum_spanning_tree as minimum_spanning_tree,
)
from stereo_framework.aggregation.segment_tree import segment_tree as segment_tree
from stereo_framework.aggregation.support_weights import support_weights as support_weights

__all__ = sorted(name for name in globals() if not name.startswith("_"))
