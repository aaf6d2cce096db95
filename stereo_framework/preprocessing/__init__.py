"""Preprocessing stages: image to image, applied to both frames, or pair to pair."""

from stereo_framework.preprocessing.bilateral_subtraction import (
    bilateral_subtraction as bilateral_subtraction,
)
from stereo_framework.preprocessing.binomial_blur import binomial_blur as binomial_blur
from stereo_framework.preprocessing.laplacian_of_gaussian import (
    laplacian_of_gaussian as laplacian_of_gaussian,
)
from stereo_framework.preprocessing.mean_subtraction import mean_subtraction as mean_subtraction
from stereo_framework.preprocessing.radiometric_change import (
    radiometric_change as radiometric_change,
)
from stereo_framework.preprocessing.radiometric_field import radiometric_field as radiometric_field
from stereo_framework.preprocessing.row_alignment import row_alignment as row_alignment

__all__ = sorted(name for name in globals() if not name.startswith("_"))
