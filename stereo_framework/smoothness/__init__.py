"""Smoothness terms: what neighbouring pixels pay for different disparities."""

from stereo_framework.smoothness.linear import linear as linear
from stereo_framework.smoothness.potts import potts as potts
from stereo_framework.smoothness.truncated_linear import truncated_linear as truncated_linear
from stereo_framework.smoothness.truncated_quadratic import (
    truncated_quadratic as truncated_quadratic,
)

__all__ = sorted(name for name in globals() if not name.startswith("_"))
