"""What Figures 2, 4 and 5 and their text say about kinds of faults, checked on our own methods."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from stereo_framework.papers.hci2015.runs import COLUMNS, dense, on, results
from stereo_framework.papers.paper import Context, Outcome, checked
from stereo_framework.papers.published import raw_table
from stereo_framework.report.page import Cell, Statement, Table, Text
from stereo_framework.sweep import Result

_MARGIN = 0.1
"""By how much of the larger one two scores must differ at least to be told apart."""

_UNCHECKED = (
    "Not checked, since the maps of the thirteen algorithms and the authors' extraction of subsets are not to be had: every single score, the ranks that the "
    "charts of Figures 6 to 10 show, what is said of single algorithms, and the histograms of Figure 12. What is said of faults and of their measures can be "
    "tested with any methods; ours are weaker than those of 2015, and compare colours directly, so that different exposures and plain walls mislead them."
)


def orderings(context: Context) -> Outcome:
    """Which faults go together, and which kinds of methods have them."""
    found = dense(results(context))
    statements = [
        _opposed(found, "Adirondack", "D_thin", "D_fuz", "text on Figure 2: LDSM thins less than SNCC and is fuzzier"),
        _opposed(
            found,
            "PlaytableP",
            "P_bump",
            "P_orient",
            "Figure 4: TSGO is smoother than LPS and its planes are turned further away",
        ),
        _opposed(found, "Pipes", "F_por", "F_fat", "Figure 5: Cens5 loses nothing and fattens, LCU the reverse"),
        _opposed(found, "Pipes", "RMS", "F_por", "Figure 5: BSM has a lower RMS than Cens5 and is more porous"),
        _kinds(
            found,
            ("Adirondack", "Pipes", "Jadeplant"),
            "D_fat",
            ("window", "ssd", "bayesian"),
            ("dp", "so", "bp", "gc", "gco"),
            "Methods that add costs up over windows fatten the foreground more than those that weigh the costs of single pixels (means of both kinds)",
        ),
        _kinds(
            found,
            ("Adirondack", "Pipes", "Jadeplant", "PlaytableP"),
            "D_fuz",
            ("so",),
            ("gc",),
            "Scanline optimization, which smooths along rows alone, is fuzzier at edges than graph cuts on the same costs",
        ),
        _kinds(
            found,
            ("Pipes", "Jadeplant", "PlaytableP"),
            "F_por",
            ("ssd",),
            ("window",),
            "Large windows (ssd, 21x21) lose more of fine structures than small ones (window, 9x9), although they may shift",
        ),
        _flat_pieces(found),
        _fractions(found),
    ]
    return Outcome([Text(_UNCHECKED), _text_values()], statements=statements)


def _opposed(found: Sequence[Result], scene: str, first: str, second: str, source: str) -> Statement:
    """Some method is clearly better than another in one measure and clearly worse in the other."""
    of = {name: (r.statistics[COLUMNS[first]], r.statistics[COLUMNS[second]]) for name, r in on(found, scene).items()}
    # How far two methods are apart in the measure that tells them apart less.
    apart = {
        (a, b): min(1 - of[a][0] / of[b][0], 1 - of[b][1] / of[a][1])
        for a in of
        for b in of
        if of[a][0] < of[b][0] and of[b][1] < of[a][1]
    }
    pairs = [pair for pair, gap in apart.items() if gap >= _MARGIN]
    told = [f"{len(pairs)} of {len(of) * (len(of) - 1) // 2} pairs of methods"]
    if pairs:
        a, b = max(pairs, key=apart.__getitem__)
        told.append(f"{a} has {first} {of[a][0]:.3g}, {second} {of[a][1]:.3g}; {b} has {of[b][0]:.3g}, {of[b][1]:.3g}")
    text = f"{scene}: a method can be clearly better than another in {first} and clearly worse in {second} ({source})"
    return checked(text, [("; ".join(told), bool(pairs))] if of else [])


def _kinds(
    found: Sequence[Result], scenes: Sequence[str], column: str, more: Sequence[str], less: Sequence[str], text: str
) -> Statement:
    """One kind of methods has a larger mean score than the other, on every scene."""
    cases = []
    for scene in scenes:
        means = [_mean(on(found, scene), kind, COLUMNS[column]) for kind in (more, less)]
        if means[0] is not None and means[1] is not None:
            cases.append((f"{scene}: {column} {means[0]:.3g} against {means[1]:.3g}", means[0] > means[1]))
    return checked(text, cases)


def _mean(of: Mapping[str, Result], methods: Sequence[str], statistic: str) -> float | None:
    """The mean over those methods; None where one is missing."""
    if any(name not in of for name in methods):
        return None
    return sum(of[name].statistics[statistic] for name in methods) / len(methods)


def _flat_pieces(found: Sequence[Result]) -> Statement:
    """Potts models against windows on planes."""
    cases = []
    for scene in ("PlaytableP", "Adirondack", "Pipes"):
        of = on(found, scene)
        if {"gc", "window"} <= of.keys():
            bump, turn = (of["gc"].statistics[COLUMNS[c]] / of["window"].statistics[COLUMNS[c]] for c in ("P_bump", "P_orient"))
            cases.append((f"{scene}: P_bump {bump:.2f} and P_orient {turn:.2f} times the window's", bump < turn < 1))
    return checked(
        "Graph cuts, whose surfaces are pieces of a single disparity, improve on windows more in bumpiness than in orientation (Figure 4: a surface may be "
        "smooth and wrongly turned)",
        cases,
    )


def _fractions(found: Sequence[Result]) -> Statement:
    """Fractional disparities change planes and leave edges alone."""
    cases = []
    for scene in ("PlaytableP", "Adirondack", "Pipes"):
        of = on(found, scene)
        for name in ("window", "ssd"):
            if not {name, f"{name}_subpixel"} <= of.keys():
                continue
            whole, fine = (of[key].statistics for key in (name, f"{name}_subpixel"))
            planes = [fine[COLUMNS[c]] / whole[COLUMNS[c]] for c in ("P_bump", "P_off", "P_orient")]
            edges = max(abs(fine[COLUMNS[c]] - whole[COLUMNS[c]]) for c in ("D_fat", "D_thin"))
            told = f"{scene}, {name}: planes {', '.join(f'{ratio:.2f}' for ratio in planes)} times, edges by {edges:.3f}"
            cases.append((told, max(planes) < 1 and edges < 0.01))
    text = (
        "The measures tell faults apart: fractional disparities make all three measures of planes better and change those of edges, D_fat and D_thin, by less "
        "than 0.01"
    )
    return checked(text, cases)


def _text_values() -> Table:
    table = raw_table("hci2015", "text_values")
    rows = [
        [Cell(key), Cell(", ".join(f"{method} {value:g}" for method, value in values.items()))]
        for key, values in table.items()
        if isinstance(values, dict)
    ]
    return Table("Numbers of the paper's text, of which the claims are taken", ["image and measure", "published"], rows)
