"""Measured data with which each claim of sigma_z2011 must fail, by its name."""

FAILING: dict[str, tuple] = {}
