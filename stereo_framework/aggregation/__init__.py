"""Aggregation: support for the costs of each cell from its neighbours."""
