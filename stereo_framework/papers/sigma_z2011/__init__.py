"""Cabezas, Padilla & Trujillo: A measure for accuracy disparity maps evaluation, CIARP 2011: the Sigma-Z-Error."""

from stereo_framework.papers.paper import paper
from stereo_framework.papers.sigma_z2011 import tables
from stereo_framework.papers.sigma_z2011.claims import CLAIMS

PAPER = paper("sigma_z2011", CLAIMS, tables)
"""What ``reproduce sigma_z2011`` runs."""
