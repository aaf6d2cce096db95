"""HTML pages of runs and papers."""
