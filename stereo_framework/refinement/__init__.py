"""Refinement of disparity maps."""
