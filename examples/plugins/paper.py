"""A paper: its experiments run again, its printed numbers beside ours, and a sentence of it with a verdict."""

from stereo_framework.papers import add_paper
from stereo_framework.papers.claim import Claim
from stereo_framework.papers.comparison import Comparison
from stereo_framework.papers.paper import Item, Outcome, Paper

SCRIPT = {
    "name": "table1",
    "include": "window",
    "scenes": ["synthetic/planes"],
    "sweep": {"grid": {"aggregation.box.size": [3, 9]}},
}
PRINTED = {3: 8.25, 9: 9.34}
"""Bad pixels in percent by size of the window, as the paper's table has them."""


def larger_is_worse(errors):
    """Each case of the sentence: its figures, and whether it holds there. The item's data have the names of what it takes."""
    yield f"{errors[3]:.2f} % with 3 pixels, {errors[9]:.2f} % with 9", errors[9] > errors[3]


CLAIM = Claim(
    "larger_is_worse",
    "Larger windows have more bad pixels.",
    "section 5",
    "9 pixels have more than 3",
    item="table1",
    judge=larger_is_worse,
)


def table1(context):
    """Two windows on one scene."""
    results = context.run(SCRIPT)
    errors = {r.axes["aggregation.box.size"]: r.statistics["bad_pixels_nonocc"] for r in results}
    rows = [
        Comparison(
            f"{size} pixels", "bad", printed, errors[size], 0.005, 0.005, "rounding of the print"
        )
        for size, printed in PRINTED.items()
    ]
    return Outcome([], rows, {"errors": errors})


add_paper(
    Paper(
        "mine",
        "Nobody, 2026",
        repeated="one table",
        why="The window's border is another one here.",
        cannot="Its times cannot be judged.",
        items=(Item("table1", "Table 1: size of the window", table1, quick=True),),
        claims={CLAIM.name: CLAIM},
    )
)
