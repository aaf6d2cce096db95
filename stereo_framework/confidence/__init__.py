"""Measures of how sure each pixel of a disparity map is."""

__all__: list[str] = []
