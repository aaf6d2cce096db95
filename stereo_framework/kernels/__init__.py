"""Numerical functions that stages of several kinds share.

All modules of this package compute with plain arrays and numbers.
"""
