"""Measured data with which each claim of boundary2007 must fail, by its name."""

FAILING: dict[str, tuple] = {}
