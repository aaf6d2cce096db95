"""Whole matchers, which compute disparities without a cost volume of this package."""

from stereo_framework.matcher.command import command as command
from stereo_framework.matcher.maps import maps as maps
from stereo_framework.matcher.onnx import onnx as onnx
from stereo_framework.matcher.opencv_bm import opencv_bm as opencv_bm
from stereo_framework.matcher.opencv_sgbm import opencv_sgbm as opencv_sgbm
from stereo_framework.matcher.patch_match import patch_match as patch_match
from stereo_framework.matcher.python import python as python

__all__ = sorted(name for name in globals() if not name.startswith("_"))
