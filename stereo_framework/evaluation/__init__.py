"""Measures of disparity maps."""
