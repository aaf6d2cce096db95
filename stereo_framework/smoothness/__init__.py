"""Smoothness terms: what neighbouring pixels pay for different disparities."""

from stereo_framework.smoothness.linear import linear
from stereo_framework.smoothness.potts import potts
from stereo_framework.smoothness.truncated_linear import truncated_linear
from stereo_framework.smoothness.truncated_quadratic import truncated_quadratic

__all__ = ["linear", "potts", "truncated_linear", "truncated_quadratic"]
