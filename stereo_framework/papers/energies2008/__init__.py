"""Szeliski et al.: A comparative study of energy minimization methods for Markov random fields, ECCV 2006 and PAMI 2008: the stereo problems."""

from stereo_framework.papers.energies2008 import items
from stereo_framework.papers.energies2008.claims import CLAIMS
from stereo_framework.papers.paper import paper

PAPER = paper("energies2008", CLAIMS, items)
"""What ``reproduce energies2008`` runs."""
