"""Optimizers: from costs to one level per pixel."""
