"""The experiments of Scharstein & Szeliski 2002 asked again: of today's stages, on photographs and roads beside the scenes of 2002."""

from stereo_framework.papers.paper import paper
from stereo_framework.papers.photographs import items
from stereo_framework.papers.photographs.claims import CLAIMS

PAPER = paper("photographs", CLAIMS, items)
"""What ``reproduce photographs`` runs."""
