"""Refinement of disparity maps."""

from stereo_framework.refinement.fill_occlusions import fill_occlusions
from stereo_framework.refinement.parabola import parabola

__all__ = ["fill_occlusions", "parabola"]
