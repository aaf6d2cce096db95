"""Honauer, Maier-Hein & Kondermann: The HCI Stereo Metrics, ICCV 2015."""

from stereo_framework.papers.hci2015 import charts, figure5, figure11, figures1_to_5, orderings, rankings, scores, subset_errors
from stereo_framework.papers.paper import Item, Paper

PAPER = Paper(
    "hci2015",
    "K. Honauer, L. Maier-Hein and D. Kondermann: The HCI Stereo Metrics: Geometry-Aware Performance Analysis of Stereo Algorithms. ICCV 2015",
    "The paper's figures with our methods and OpenCV's SGBM in place of its thirteen algorithms, whose maps are not to be had, on those of its images that are there, "
    "in a quarter of the size. Published numbers stand beside ours without a verdict: they are of other algorithms. What the paper says of measures is asked of our methods; what it says "
    "of single algorithms cannot be. Expectations of our own are checks and told apart.",
    (
        Item("figure1", "Figure 1: the same RMS, other faults", figures1_to_5.figure1),
        Item("figure3", "Figure 3: the subsets", figures1_to_5.figure3, quick=True),
        Item("figure2", "Figure 2: edges", figures1_to_5.figure2),
        Item("figure4", "Figure 4: planes", figures1_to_5.figure4),
        Item("figure5", "Figure 5: fine structures, published and ours", figure5.figure5, quick=True),
        Item("figure5_pictures", "Figure 5: fine structures, pictures", figures1_to_5.figure5_pictures, quick=True),
        Item("orderings", "Figures 2, 4 and 5: numbers of the text, and kinds of faults", orderings.orderings, quick=True),
        Item("scores", "All scores", scores.scores, quick=True),
        Item("figure6", "Figure 6: rankings", rankings.figure6, quick=True),
        Item("charts", "Figures 7 and 9 to 12: charts for choosing", charts.charts, quick=True),
        Item("figure11", "Figure 11: measures that say the same", figure11.figure11),
        Item("subset_errors", "Section 4.4: RMS on each metric's pixels", subset_errors.subset_errors),
    ),
    (*orderings.CLAIMS, *rankings.CLAIMS, *figure11.CLAIMS, figure5.LOWEST_RMS),
)
"""What ``reproduce hci2015`` runs."""
