"""Refinement of disparity maps."""

from stereo_framework.refinement.equiangular import equiangular
from stereo_framework.refinement.fill_occlusions import fill_occlusions
from stereo_framework.refinement.parabola import parabola

__all__ = ["equiangular", "fill_occlusions", "parabola"]
