"""Comparing many methods by their scores: Middlebury ranks, Pareto groups, how far both depend on the choice of scenes and measures, and which measures say the same."""

from stereo_framework.tables.ranking.average_ranks import average_ranks, competition_ranks
from stereo_framework.tables.ranking.pareto import astar_groups, astar_verdict
from stereo_framework.tables.ranking.r_squared import r_squared
from stereo_framework.tables.ranking.ranking import LEVELS, LeftOut, Ranking, column_name, leave_one_out, rank_methods

__all__ = [
    "LEVELS",
    "LeftOut",
    "Ranking",
    "astar_groups",
    "astar_verdict",
    "average_ranks",
    "column_name",
    "competition_ranks",
    "leave_one_out",
    "r_squared",
    "rank_methods",
]
