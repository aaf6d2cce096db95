"""Cabezas, Trujillo & Florian: An evaluation methodology for stereo correspondence algorithms, VISAPP 2012: the A* groups."""

from stereo_framework.papers.groups2012 import tables
from stereo_framework.papers.groups2012.claims import CLAIMS
from stereo_framework.papers.paper import paper

PAPER = paper("groups2012", CLAIMS, tables)
"""What ``reproduce groups2012`` runs."""
