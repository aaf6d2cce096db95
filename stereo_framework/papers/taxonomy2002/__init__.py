"""Scharstein & Szeliski, A Taxonomy and Evaluation of Dense Two-Frame Stereo Correspondence Algorithms, IJCV 47(1-3), 2002."""

from stereo_framework.papers.paper import Item, paper
from stereo_framework.papers.taxonomy2002 import image_figures, sub_pixel, tables
from stereo_framework.papers.taxonomy2002.claims import CLAIMS
from stereo_framework.papers.taxonomy2002.experiments import experiment, figure12

PAPER = paper(
    "taxonomy2002",
    [
        Item("figure1", "Figure 1: slices of the disparity space", image_figures.figure1, quick=True),
        Item("figure4", "Figure 4: regions", image_figures.figure4, quick=True),
        Item("figure5", "Figure 5: forward-warped reference images", image_figures.figure5, quick=True),
        Item("figure6", "Figure 6: inverse-warped images", image_figures.figure6, quick=True),
        Item("figure7", "Figure 7: scenes and their true disparities", image_figures.figure7, quick=True),
        Item("experiment1", "Figure 8, Experiment 1: matching costs with a plain window", experiment("experiment1"), quick=True),
        Item(
            "experiment2", "Figure 9, Experiment 2: matching costs with a shiftable window", experiment("experiment2"), quick=True
        ),
        Item("experiment3", "Figure 10, Experiment 3: matching costs with global methods", experiment("experiment3")),
        Item("experiment4", "Figure 11, Experiment 4: aggregation (equation 2)", experiment("experiment4")),
        Item("figure12", "Figure 12: foreground fattening", figure12),
        Item("experiment5", "Figure 13, Experiment 5: weight of smoothness (equation 3)", experiment("experiment5")),
        Item(
            "experiment6",
            "Figure 14, Experiment 6: gradients (equations 6 and 7) and interval matching",
            experiment("experiment6"),
        ),
        Item("experiment7", "Figures 15 and 16, Experiment 7: sub-pixel disparities", sub_pixel.experiment7),
        Item("table4", "Table 4: parameters of the five methods", tables.table4, quick=True),
        Item("table5", "Table 5: the five methods among twenty (equation 9)", tables.table5, quick=True),
        Item("figure17", "Figures 17 and 18: disparity maps of the five methods", image_figures.figure17),
        Item("table6", "Table 6: fixed and best parameters", tables.table6),
        Item("table7", "Table 7: times", tables.table7),
    ],
    CLAIMS,
)
"""What ``reproduce taxonomy2002`` runs."""
