"""Cabezas, Padilla & Trujillo: A measure for accuracy disparity maps evaluation, CIARP 2011: the Sigma-Z-Error."""

from stereo_framework.papers.paper import Item, paper
from stereo_framework.papers.sigma_z2011 import tables
from stereo_framework.papers.sigma_z2011.claims import CLAIMS

PAPER = paper(
    "sigma_z2011",
    [
        Item(
            "figure1_and_table1", "Figure 1 and Table 1: maps one pixel off (equation 1)", tables.figure1_and_table1, quick=True
        ),
        Item("table2", "Table 2: the Sigma-Z-Error (equations 2 to 4) of maps of cones", tables.table2, quick=True),
        Item("tables3_and_4", "Tables 3 and 4: errors of other authors' maps", tables.tables3_and_4, quick=True),
        Item("table5", "Table 5: ranks by two measures", tables.table5, quick=True),
    ],
    CLAIMS,
)
"""What ``reproduce sigma_z2011`` runs."""
