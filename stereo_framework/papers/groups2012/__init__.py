"""Cabezas, Trujillo & Florian: An evaluation methodology for stereo correspondence algorithms, VISAPP 2012: the A* groups."""

from stereo_framework.papers.groups2012 import tables
from stereo_framework.papers.paper import Item, Paper

PAPER = Paper(
    "groups2012",
    "I. Cabezas, M. Trujillo and M. Florian: An Evaluation Methodology for Stereo Correspondence Algorithms. VISAPP 2012",
    "Measured are the maps of PatchMatch and ADCensus, which are public; our own methods stand in for the others, whose maps are not to be had. What follows from "
    "printed numbers alone is a check of our own, unless the paper says it.",
    (
        Item("table1", "Table 1: two measures, two orders", tables.table1, quick=True),
        Item("table2", "Table 2: sizes of the groups", tables.table2, quick=True),
        Item("table4", "Table 4: the Sigma-Z-Errors of PatchMatch", tables.table4, quick=True),
        Item("groups", "Tables 3 to 7: the groups", tables.groups, quick=True),
        Item("submissions", "Tables 5 and 7: the groups of PatchMatch and ADCensus", tables.submissions, quick=True),
        Item("own_methods", "Our own methods and the public submissions", tables.own_methods),
    ),
    tables.CLAIMS,
)
"""What ``reproduce groups2012`` runs."""
