"""Optimizers: from costs to one level per pixel."""

from stereo_framework.optimization.belief_propagation import (
    belief_propagation as belief_propagation,
)
from stereo_framework.optimization.dynamic_programming import (
    dynamic_programming as dynamic_programming,
)
from stereo_framework.optimization.graph_cut import graph_cut as graph_cut
from stereo_framework.optimization.graph_cut_occlusion import (
    graph_cut_occlusion as graph_cut_occlusion,
)
from stereo_framework.optimization.icm import icm as icm
from stereo_framework.optimization.maximum_likelihood_matching import (
    maximum_likelihood_matching as maximum_likelihood_matching,
)
from stereo_framework.optimization.more_global_matching import (
    more_global_matching as more_global_matching,
)
from stereo_framework.optimization.plane_paths import plane_paths as plane_paths
from stereo_framework.optimization.scanline_optimization import (
    scanline_optimization as scanline_optimization,
)
from stereo_framework.optimization.semi_global import semi_global as semi_global
from stereo_framework.optimization.simulated_annealing import (
    simulated_annealing as simulated_annealing,
)
from stereo_framework.optimization.stable_matching import stable_matching as stable_matching
from stereo_framework.optimization.stratified_matching import (
    stratified_matching as stratified_matching,
)
from stereo_framework.optimization.trw_s import trw_s as trw_s
from stereo_framework.optimization.winner_take_all import winner_take_all as winner_take_all

__all__ = sorted(name for name in globals() if not name.startswith("_"))
