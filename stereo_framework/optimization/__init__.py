"""Optimizers: from costs to one level per pixel."""

from stereo_framework.optimization.winner_take_all import winner_take_all

__all__ = ["winner_take_all"]
