"""Kostliva, Cech & Sara: Feasibility boundary in dense and semi-dense stereo matching, CVPR 2007."""

from stereo_framework.papers.boundary2007 import items
from stereo_framework.papers.boundary2007.claims import CLAIMS
from stereo_framework.papers.paper import Item, paper

PAPER = paper(
    "boundary2007",
    [
        Item("curves", "Figures 5 to 7: ROC curves, feasibility boundaries, worst, best and mean case", items.curves, quick=True),
        Item("table1", "Table 1: efficiencies", items.table1, quick=True),
        Item("table2", "Table 2: expected improvements", items.table2, quick=True),
        Item("figure8", "Figure 8: maps of the best points with respect to each boundary", items.figure8),
        Item("costs", "What sections 5 and 6 say, and how much of it turns on costs that are not printed", items.costs),
    ],
    CLAIMS,
)
"""What ``reproduce boundary2007`` runs."""
