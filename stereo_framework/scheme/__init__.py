"""Schemes: what makes the pairs that a method is run on."""

__all__: list[str] = []
