"""Schemes: what makes the pairs that a method is run on."""

from stereo_framework.scheme.coarse import coarse
from stereo_framework.scheme.pyramid import pyramid
from stereo_framework.scheme.tiles import tiles

__all__ = ["coarse", "pyramid", "tiles"]
