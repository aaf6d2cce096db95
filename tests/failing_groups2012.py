"""Measured data with which each claim of groups2012 must fail, by its name."""

FAILING: dict[str, tuple] = {}
