"""Comparing many methods by their scores: Middlebury ranks, Pareto groups, how far both depend on the choice of scenes and measures, and which measures say the same."""

from stereo_framework.tables.ranking.average_ranks import average_ranks, competition_ranks
from stereo_framework.tables.ranking.pareto import astar_groups, astar_verdict, dominance
from stereo_framework.tables.ranking.r_squared import r_squared
from stereo_framework.tables.ranking.ranking import Ranking, rank_methods
from stereo_framework.tables.ranking.scores import Column, Scores
from stereo_framework.tables.ranking.sensitivity import Bootstrap, LeftOut, bootstrap, leave_one_out

__all__ = [
    "Bootstrap",
    "Column",
    "LeftOut",
    "Ranking",
    "Scores",
    "astar_groups",
    "astar_verdict",
    "average_ranks",
    "bootstrap",
    "competition_ranks",
    "dominance",
    "leave_one_out",
    "r_squared",
    "rank_methods",
]
