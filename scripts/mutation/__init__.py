"""Small changes of the source code that the tests must notice; see ``scripts/mutants.py``."""
