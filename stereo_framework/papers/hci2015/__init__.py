"""Honauer, Maier-Hein & Kondermann: The HCI Stereo Metrics, ICCV 2015."""

from stereo_framework.papers.hci2015 import pictures, scores
from stereo_framework.papers.hci2015.claims import CLAIMS
from stereo_framework.papers.paper import paper

PAPER = paper("hci2015", CLAIMS, pictures, scores)
"""What ``reproduce hci2015`` runs."""
