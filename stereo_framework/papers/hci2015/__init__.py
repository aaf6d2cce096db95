"""Honauer, Maier-Hein & Kondermann: The HCI Stereo Metrics, ICCV 2015."""

from stereo_framework.papers.hci2015 import pictures, scores
from stereo_framework.papers.hci2015.claims import CLAIMS
from stereo_framework.papers.paper import Item, paper

_EDGES = pictures.metrics("figure2", "Adirondack", ("D_fat", "D_thin", "D_fuz"), ("window", "so", "gc", "sgbm"))
_PLANES = pictures.metrics("figure4", "PlaytableP", ("P_bump", "P_off", "P_orient"), ("window", "window_subpixel", "gc", "sgbm"))
_DETAILS = pictures.metrics("figure5", "Pipes", ("F_por", "F_frag", "F_fat"), ("window", "ssd", "bp", "sgbm"))

PAPER = paper(
    "hci2015",
    [
        Item("figure1", "Figure 1: algorithms rank differently by each metric", scores.figure1, quick=True),
        Item("figure2", "Figure 2: fattening, thinning and fuzziness (equations 1 to 6), of our methods on Adirondack", _EDGES),
        Item("figure3", "Figure 3: the subsets", pictures.figure3, quick=True),
        Item("figure4", "Figure 4: planes (equations 7 to 9), of our methods on PlaytableP", _PLANES),
        Item("figure4_text", "Section 4.2: two algorithms on planes, published and ours", scores.figure4_text, quick=True),
        Item(
            "figure5", "Figure 5: fine structures (equations 10 to 13) on Pipes, published and ours", pictures.figure5, quick=True
        ),
        Item("figure5_pictures", "Figure 5: fine structures, pictures of our methods", _DETAILS, quick=True),
        Item("figure6", "Figure 6: thinning and fuzziness on Adirondack, published and ours", scores.figure6, quick=True),
        Item("charts", "Figures 7, 9 and 12: stacked bars, radar charts, histograms", scores.charts, quick=True),
        Item("figure10", "Figure 10: RMS against other measures on Jadeplant", scores.figure10),
        Item("figure11", "Figure 11: r² between measures", scores.figure11),
        Item("subset_errors", "Section 4.4: RMS on each metric's pixels", scores.subset_errors),
        Item("scores", "All scores", scores.scores, quick=True),
    ],
    CLAIMS,
)
"""What ``reproduce hci2015`` runs."""
