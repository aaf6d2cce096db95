"""Cabezas, Trujillo & Florian: An evaluation methodology for stereo correspondence algorithms, VISAPP 2012: the A* groups."""

from stereo_framework.papers.groups2012 import tables
from stereo_framework.papers.groups2012.claims import CLAIMS
from stereo_framework.papers.paper import Item, paper

PAPER = paper(
    "groups2012",
    [
        Item(
            "table1",
            "Table 1: two methods whose order two measures (equations 16 and 17) give differently",
            tables.table1,
            quick=True,
        ),
        Item("table2", "Table 2: sizes of the groups", tables.table2, quick=True),
        Item("table3", "Table 3: a method of each group, sorted again (equations 11, 12, 18, 19)", tables.table3, quick=True),
        Item("table4", "Table 4: the first group, PatchMatch measured (equation 17)", tables.table4, quick=True),
        Item("tables5_to_7", "Tables 5 to 7: ranks and groups, two methods measured", tables.tables5_to_7, quick=True),
        Item("own_methods", "Our own methods and the public submissions, grouped in the same way", tables.own_methods),
    ],
    CLAIMS,
)
"""What ``reproduce groups2012`` runs."""
