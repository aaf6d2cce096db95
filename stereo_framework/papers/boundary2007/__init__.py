"""Kostliva, Cech & Sara: Feasibility boundary in dense and semi-dense stereo matching, CVPR 2007."""

from stereo_framework.papers.boundary2007 import items
from stereo_framework.papers.boundary2007.claims import CLAIMS
from stereo_framework.papers.paper import paper

PAPER = paper("boundary2007", CLAIMS, items)
"""What ``reproduce boundary2007`` runs."""
