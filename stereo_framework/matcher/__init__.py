"""Whole matchers, which make disparities without a volume of ours."""

from stereo_framework.matcher.opencv_bm import opencv_bm
from stereo_framework.matcher.opencv_sgbm import opencv_sgbm
from stereo_framework.matcher.patch_match import patch_match

__all__ = ["opencv_bm", "opencv_sgbm", "patch_match"]
