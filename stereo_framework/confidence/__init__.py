"""Measures of how sure each pixel of a disparity map is."""

from stereo_framework.confidence.left_right_consistency import left_right_consistency

__all__ = ["left_right_consistency"]
