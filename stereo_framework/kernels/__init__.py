"""Numerical functions that stages of several kinds share.

The modules of this package compute with plain arrays and numbers. They do not import
the classes of scenes, search ranges, cost volumes or stages.
"""
