"""Measured data with which each claim of taxonomy2002 must fail, by its name."""

FAILING: dict[str, tuple] = {}
