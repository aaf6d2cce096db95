"""Our own study: choosing among disparity maps of a pair without ground truth."""

from stereo_framework.papers.paper import Item, Paper
from stereo_framework.papers.truth_free.better import better
from stereo_framework.papers.truth_free.degraded import ANSWERED, DEGRADED, degraded
from stereo_framework.papers.truth_free.ranking import CLAIMS, ranking
from stereo_framework.papers.truth_free.tuning import TUNING, tuning

PAPER = Paper(
    "truth_free",
    "Choosing without ground truth, a study of this project",
    "which of many disparity maps of a pair is best, if nobody knows the truth?",
    "Their distance to a reference map of our own, where both of its views agree, is compared with their true errors.",
    "No published number or sentence is involved: all judgements here are checks of our own.",
    (
        Item("ranking", "Ranking maps", ranking, quick=True),
        Item("tuning", "Tuning a method", tuning),
        Item("degraded", "Pairs that something is wrong with", degraded),
        Item("better", "Maps that are better than the reference", better),
    ),
    {c.name: c for c in (*CLAIMS, TUNING, DEGRADED, ANSWERED)},
)
"""What ``reproduce truth_free`` runs."""
