"""Aggregation: support for the costs of each cell from its neighbours."""

from stereo_framework.aggregation.bayesian_diffusion import bayesian_diffusion
from stereo_framework.aggregation.binomial import binomial
from stereo_framework.aggregation.box import box
from stereo_framework.aggregation.cross_based import cross_based
from stereo_framework.aggregation.diffusion import diffusion
from stereo_framework.aggregation.guided_filter import guided_filter
from stereo_framework.aggregation.membrane_diffusion import membrane_diffusion
from stereo_framework.aggregation.min_filter import min_filter
from stereo_framework.aggregation.minimum_spanning_tree import minimum_spanning_tree
from stereo_framework.aggregation.support_weights import support_weights

__all__ = [
    "bayesian_diffusion",
    "binomial",
    "box",
    "cross_based",
    "diffusion",
    "guided_filter",
    "membrane_diffusion",
    "min_filter",
    "minimum_spanning_tree",
    "support_weights",
]
