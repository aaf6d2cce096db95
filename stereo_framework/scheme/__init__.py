"""Schemes: what makes the pairs that a method is run on."""

from stereo_framework.scheme.coarse import coarse as coarse
from stereo_framework.scheme.pyramid import pyramid as pyramid
from stereo_framework.scheme.tiles import tiles as tiles

__all__ = sorted(name for name in globals() if not name.startswith("_"))
