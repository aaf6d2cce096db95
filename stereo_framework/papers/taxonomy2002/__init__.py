"""Scharstein & Szeliski, A Taxonomy and Evaluation of Dense Two-Frame Stereo Correspondence Algorithms, IJCV 47(1-3), 2002."""

from stereo_framework.papers.paper import paper
from stereo_framework.papers.taxonomy2002 import experiments, image_figures, sub_pixel, tables
from stereo_framework.papers.taxonomy2002.claims import CLAIMS

PAPER = paper("taxonomy2002", CLAIMS, experiments, image_figures, sub_pixel, tables)
"""What ``reproduce taxonomy2002`` runs."""
