"""Kostliva, Cech & Sara: Feasibility boundary in dense and semi-dense stereo matching, CVPR 2007."""

from stereo_framework.papers.boundary2007 import conclusions, curves, tables
from stereo_framework.papers.paper import Item, Paper

PAPER = Paper(
    "boundary2007",
    "J. Kostliva, J. Cech and R. Sara: Feasibility Boundary in Dense and Semi-Dense Stereo Matching. CVPR 2007",
    "Five methods, each at all settings of the paper's grids, on its six scenes: error rate against sparsity rate, 0..1, lower is better. "
    "Published numbers stand beside ours without a verdict: the methods are other implementations of the same algorithms or, for SDM, another "
    "method in its manner; stripes and slits are scenes of our own; how wide the surroundings of occlusion boundaries are that do not count, "
    "the paper does not say (ours: two pixels). Graph cuts match by squared differences, as Kolmogorov & Zabih 2001 do.",
    (
        Item("curves", "Figures 5 to 8: ROC curves and feasibility boundaries", curves.curves, quick=True),
        Item("table1", "Table 1: efficiencies", tables.table1, quick=True),
        Item("table2", "Table 2: expected improvements", tables.table2, quick=True),
        Item("conclusions", "What the paper says", conclusions.conclusions),
    ),
    (*conclusions.CLAIMS, tables.IDENTITY),
)
"""What ``reproduce boundary2007`` runs."""
