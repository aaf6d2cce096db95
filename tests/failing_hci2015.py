"""Measured data with which each claim of hci2015 must fail, by its name."""

FAILING: dict[str, tuple] = {}
