"""Whole matchers, which compute disparities without a cost volume of this package."""

from stereo_framework.matcher.command import command
from stereo_framework.matcher.maps import maps
from stereo_framework.matcher.onnx import onnx
from stereo_framework.matcher.opencv_bm import opencv_bm
from stereo_framework.matcher.opencv_sgbm import opencv_sgbm
from stereo_framework.matcher.patch_match import patch_match
from stereo_framework.matcher.python import python

__all__ = ["command", "maps", "onnx", "opencv_bm", "opencv_sgbm", "patch_match", "python"]
