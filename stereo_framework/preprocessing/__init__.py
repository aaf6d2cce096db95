"""Preprocessing stages: image to image, applied to both frames, or pair to pair."""

from stereo_framework.preprocessing.bilateral_subtraction import bilateral_subtraction
from stereo_framework.preprocessing.binomial_blur import binomial_blur
from stereo_framework.preprocessing.laplacian_of_gaussian import laplacian_of_gaussian
from stereo_framework.preprocessing.mean_subtraction import mean_subtraction
from stereo_framework.preprocessing.radiometric_change import radiometric_change
from stereo_framework.preprocessing.radiometric_field import radiometric_field
from stereo_framework.preprocessing.row_alignment import row_alignment

__all__ = [
    "bilateral_subtraction",
    "binomial_blur",
    "laplacian_of_gaussian",
    "mean_subtraction",
    "radiometric_change",
    "radiometric_field",
    "row_alignment",
]
