"""Whole matchers, which make disparities without a volume of ours."""

from stereo_framework.matcher.opencv_bm import opencv_bm
from stereo_framework.matcher.opencv_sgbm import opencv_sgbm

__all__ = ["opencv_bm", "opencv_sgbm"]
