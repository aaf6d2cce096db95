"""Scharstein & Szeliski, A Taxonomy and Evaluation of Dense Two-Frame Stereo Correspondence Algorithms, IJCV 47(1-3), 2002."""

from stereo_framework.papers.paper import Item, Paper
from stereo_framework.papers.taxonomy2002 import (
    aggregation,
    image_figures,
    matching_costs,
    smoothness,
    sub_pixel,
    table4,
    table5,
    table6,
    table7,
)

_CLAIMING = (matching_costs, aggregation, smoothness, sub_pixel, table4, table5, image_figures)

PAPER = Paper(
    "taxonomy2002",
    "D. Scharstein and R. Szeliski: A Taxonomy and Evaluation of Dense Two-Frame Stereo Correspondence Algorithms. IJCV 47(1-3):7-42, 2002",
    "The experiments, tables and figures of the evaluation (sections 5 to 7), run again. Percentages are of non-occluded pixels with an error "
    "above one pixel unless a column says otherwise.",
    (
        Item("figure1", "Figure 1: slices of the disparity space", image_figures.figure1, quick=True),
        Item("figure4", "Figure 4: regions", image_figures.figure4, quick=True),
        Item("figure5", "Figure 5: forward-warped reference images", image_figures.figure5, quick=True),
        Item("figure6", "Figure 6: inverse-warped images", image_figures.figure6, quick=True),
        Item("figure7", "Figure 7: scenes and their true disparities", image_figures.figure7, quick=True),
        Item(
            "experiment1", "Experiment 1 (Figure 8): matching costs with a plain window", matching_costs.experiment1, quick=True
        ),
        Item(
            "experiment2",
            "Experiment 2 (Figure 9): matching costs with a shiftable window",
            matching_costs.experiment2,
            quick=True,
        ),
        Item("experiment3", "Experiment 3 (Figure 10): matching costs with global methods", matching_costs.experiment3),
        Item("experiment4", "Experiment 4 (Figure 11): aggregation", aggregation.experiment4),
        Item("figure12", "Figure 12: foreground fattening", aggregation.figure12),
        Item("experiment5", "Experiment 5 (Figure 13): weight of smoothness", smoothness.experiment5),
        Item("experiment6", "Experiment 6 (Figure 14): gradients and interval matching", smoothness.experiment6),
        Item("experiment7", "Experiment 7 (Figures 15 and 16): sub-pixel disparities", sub_pixel.experiment7),
        Item("table4", "Table 4: parameters", table4.table4, quick=True),
        Item("table5", "Table 5: the five methods among twenty", table5.table5, quick=True),
        Item("table6", "Table 6: fixed and best parameters", table6.table6),
        Item("table7", "Table 7: times", table7.table7),
        Item("figure17", "Figures 17 and 18: disparity maps of the five methods", image_figures.figure17),
    ),
    tuple(claim for module in _CLAIMING for claim in module.CLAIMS),
)
"""What ``reproduce taxonomy2002`` runs."""
