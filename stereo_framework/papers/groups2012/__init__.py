"""Cabezas, Trujillo & Florian: An evaluation methodology for stereo correspondence algorithms, VISAPP 2012: the A* groups."""

from stereo_framework.papers.groups2012 import tables
from stereo_framework.papers.paper import Item, Paper

PAPER = Paper(
    "groups2012",
    "I. Cabezas, M. Trujillo and M. Florian: An Evaluation Methodology for Stereo Correspondence Algorithms. VISAPP 2012",
    "What follows from the printed numbers, and from the maps of PatchMatch and ADCensus, which are public; our own methods stand in for the others, "
    "whose maps are not to be had.",
    (
        Item("table4", "Table 4: the Sigma-Z-Errors of PatchMatch", tables.table4, quick=True),
        Item("groups", "Tables 3 to 7: the groups", tables.groups, quick=True),
        Item("own_methods", "Our own methods and the public submissions", tables.own_methods),
    ),
)
"""What ``reproduce groups2012`` runs."""
