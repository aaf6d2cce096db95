"""Scenes from data sets, from the user's own files, and generated ones."""
