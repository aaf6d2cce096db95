"""Measures of legibility: the columns, the files, the words and the ceilings."""
