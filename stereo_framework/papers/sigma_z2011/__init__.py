"""Cabezas, Padilla & Trujillo: A measure for accuracy disparity maps evaluation, CIARP 2011: the Sigma-Z-Error."""

from stereo_framework.papers.paper import Item, Paper
from stereo_framework.papers.sigma_z2011 import tables

PAPER = Paper(
    "sigma_z2011",
    "I. Cabezas, V. Padilla and M. Trujillo: A Measure for Accuracy Disparity Maps Evaluation. CIARP 2011",
    "What can be measured with the ground truth alone; identities of that kind, and what follows from printed numbers, are checks of our own. The maps of "
    "Tables 3 to 5 and of Figure 2 are not to be had: their printed numbers stand here, and our own methods and two public submissions are ranked instead. "
    "How the views of Tables 1 and 2 were rendered is not told.",
    (
        Item("table1", "Table 1: maps one pixel off", tables.table1, quick=True),
        Item("table2", "Table 2: the Sigma-Z-Error of maps of cones", tables.table2, quick=True),
        Item("figure1", "Figure 1: a map one pixel off", tables.figure1, quick=True),
        Item("tables3_and_4", "Tables 3 and 4: printed errors of other authors' maps", tables.tables3_and_4, quick=True),
        Item("table5", "Table 5: ranks", tables.table5, quick=True),
        Item("own_methods", "Our own methods and the public submissions", tables.own_methods),
    ),
    tables.CLAIMS,
)
"""What ``reproduce sigma_z2011`` runs."""
