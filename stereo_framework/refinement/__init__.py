"""Refinement of disparity maps."""

from stereo_framework.refinement.parabola import parabola

__all__ = ["parabola"]
