"""Small changes of the source code that tests must notice: ``scripts/mutants.py``."""
