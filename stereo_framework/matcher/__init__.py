"""Whole matchers, which make a disparity map without a cost volume."""

__all__: list[str] = []
