"""Matching costs: two images to a disparity space image."""
