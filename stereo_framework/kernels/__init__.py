"""Computations that several families of stages share.

The modules of this package work on arrays and numbers only. They do not import scenes,
search ranges, cost volumes or stages.
"""
