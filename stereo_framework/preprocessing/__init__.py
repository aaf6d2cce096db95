"""Preprocessing stages: image to image, applied to both frames, or pair to pair."""

from stereo_framework.preprocessing.binomial_blur import binomial_blur
from stereo_framework.preprocessing.radiometric_field import radiometric_field
from stereo_framework.preprocessing.row_alignment import row_alignment

__all__ = ["binomial_blur", "radiometric_field", "row_alignment"]
