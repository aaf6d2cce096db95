"""Refinement of disparity maps."""

from stereo_framework.refinement.border_fill import border_fill as border_fill
from stereo_framework.refinement.confidence_filter import confidence_filter as confidence_filter
from stereo_framework.refinement.discontinuity_adjustment import (
    discontinuity_adjustment as discontinuity_adjustment,
)
from stereo_framework.refinement.equiangular import equiangular as equiangular
from stereo_framework.refinement.fill_occlusions import fill_occlusions as fill_occlusions
from stereo_framework.refinement.interpolate import interpolate as interpolate
from stereo_framework.refinement.iterated import iterated as iterated
from stereo_framework.refinement.left_right_check import left_right_check as left_right_check
from stereo_framework.refinement.left_right_check_fast import (
    left_right_check_fast as left_right_check_fast,
)
from stereo_framework.refinement.median import median as median
from stereo_framework.refinement.parabola import parabola as parabola
from stereo_framework.refinement.plane_smooth import plane_smooth as plane_smooth
from stereo_framework.refinement.region_voting import region_voting as region_voting
from stereo_framework.refinement.remove_speckles import remove_speckles as remove_speckles
from stereo_framework.refinement.segment_planes import segment_planes as segment_planes
from stereo_framework.refinement.weighted_median import weighted_median as weighted_median

__all__ = sorted(name for name in globals() if not name.startswith("_"))
