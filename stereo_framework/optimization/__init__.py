"""Optimizers: from costs to one level per pixel."""

from stereo_framework.optimization.belief_propagation import belief_propagation
from stereo_framework.optimization.dynamic_programming import dynamic_programming
from stereo_framework.optimization.graph_cut import graph_cut
from stereo_framework.optimization.graph_cut_occlusion import graph_cut_occlusion
from stereo_framework.optimization.icm import icm
from stereo_framework.optimization.maximum_likelihood_matching import maximum_likelihood_matching
from stereo_framework.optimization.more_global_matching import more_global_matching
from stereo_framework.optimization.plane_paths import plane_paths
from stereo_framework.optimization.scanline_optimization import scanline_optimization
from stereo_framework.optimization.semi_global import semi_global
from stereo_framework.optimization.simulated_annealing import simulated_annealing
from stereo_framework.optimization.stable_matching import stable_matching
from stereo_framework.optimization.stratified_matching import stratified_matching
from stereo_framework.optimization.trw_s import trw_s
from stereo_framework.optimization.winner_take_all import winner_take_all

__all__ = [
    "belief_propagation",
    "dynamic_programming",
    "graph_cut",
    "graph_cut_occlusion",
    "icm",
    "maximum_likelihood_matching",
    "more_global_matching",
    "plane_paths",
    "scanline_optimization",
    "semi_global",
    "simulated_annealing",
    "stable_matching",
    "stratified_matching",
    "trw_s",
    "winner_take_all",
]
