"""Optimizers: from costs to one level per pixel."""

from stereo_framework.optimization.dynamic_programming import dynamic_programming
from stereo_framework.optimization.scanline_optimization import scanline_optimization
from stereo_framework.optimization.winner_take_all import winner_take_all

__all__ = ["dynamic_programming", "scanline_optimization", "winner_take_all"]
