"""Preprocessing stages: image to image, applied to both frames."""

from stereo_framework.preprocessing.binomial_blur import binomial_blur

__all__ = ["binomial_blur"]
