"""Cabezas, Padilla & Trujillo: A measure for accuracy disparity maps evaluation, CIARP 2011: the Sigma-Z-Error."""

from stereo_framework.papers.paper import Item, Paper
from stereo_framework.papers.sigma_z2011 import tables

PAPER = Paper(
    "sigma_z2011",
    "I. Cabezas, V. Padilla and M. Trujillo: A Measure for Accuracy Disparity Maps Evaluation. CIARP 2011",
    "What follows from the ground truth and from the printed numbers. Tables 3 and 4 and Figure 2 need other authors' maps, which are not to be had: our "
    "own methods and two public submissions are ranked instead. How the views of Table 1 were rendered is not told.",
    (
        Item("table1", "Table 1: maps one pixel off", tables.table1, quick=True),
        Item("table2", "Table 2: the Sigma-Z-Error of maps of cones", tables.table2, quick=True),
        Item("table5", "Table 5: ranks", tables.table5, quick=True),
        Item("own_methods", "Our own methods and the public submissions", tables.own_methods),
    ),
)
"""What ``reproduce sigma_z2011`` runs."""
