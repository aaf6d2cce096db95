"""Refinement of disparity maps."""

from stereo_framework.refinement.border_fill import border_fill
from stereo_framework.refinement.confidence_filter import confidence_filter
from stereo_framework.refinement.discontinuity_adjustment import discontinuity_adjustment
from stereo_framework.refinement.equiangular import equiangular
from stereo_framework.refinement.fill_occlusions import fill_occlusions
from stereo_framework.refinement.interpolate import interpolate
from stereo_framework.refinement.left_right_check import left_right_check
from stereo_framework.refinement.left_right_check_fast import left_right_check_fast
from stereo_framework.refinement.median import median
from stereo_framework.refinement.parabola import parabola
from stereo_framework.refinement.plane_smooth import plane_smooth
from stereo_framework.refinement.region_voting import region_voting
from stereo_framework.refinement.remove_speckles import remove_speckles
from stereo_framework.refinement.segment_planes import segment_planes
from stereo_framework.refinement.weighted_median import weighted_median

__all__ = [
    "border_fill",
    "confidence_filter",
    "discontinuity_adjustment",
    "equiangular",
    "fill_occlusions",
    "interpolate",
    "left_right_check",
    "left_right_check_fast",
    "median",
    "parabola",
    "plane_smooth",
    "region_voting",
    "remove_speckles",
    "segment_planes",
    "weighted_median",
]
