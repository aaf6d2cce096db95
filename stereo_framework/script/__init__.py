"""Parameter scripts."""
