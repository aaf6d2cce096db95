"""What Figures 2, 4 and 5 and their text say about kinds of faults, checked on our own methods."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from stereo_framework.page.page import Cell, PageTable, Statement, Text
from stereo_framework.papers.hci2015.runs import COLUMNS, dense, on, results
from stereo_framework.papers.paper import Context, Outcome, checked
from stereo_framework.papers.published import raw_table
from stereo_framework.sweep import Result

_PLANAR = ("PlaytableP", "Adirondack", "Pipes")
"""Images on which planes are looked at, the paper's own first."""

_TEXT = (
    ("Adirondack_D_thin", "Adirondack", "D_thin"),
    ("Adirondack_D_fuz", "Adirondack", "D_fuz"),
    ("Playtable_P_bump", "PlaytableP", "P_bump"),
    ("Playtable_P_orient_deg", "PlaytableP", "P_orient"),
)
"""Published numbers, image and measure. The paper's list of images says PlaytableP, the figure Playtable."""

_MARGIN = 0.1
"""By how much of the larger one two scores must differ at least to be told apart."""

_UNCHECKED = (
    "Not checked, since the maps of the thirteen algorithms and the authors' extraction of subsets are not to be had: every single score, the ranks that the "
    "charts of Figures 6 to 10 show, what is said of single algorithms, and the histograms of Figure 12. What is said of faults and of their measures can be "
    "tested with any methods. Ours are weaker than those of 2015: all but SGBM, csm and stratified compare colours as they are, and the same surface differs by 6 to 9 grey "
    "levels between the two images of Adirondack and Playroom, by 10 to 28 in ArtL."
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
    return Outcome([Text(_UNCHECKED), _text_values(found)], statements=statements)


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
    for scene in _PLANAR:
        if ratios := _times(on(found, scene), "gc", "window", ("P_bump", "P_orient")):
            bump, turn = ratios
            cases.append((f"{scene}: P_bump {bump:.2f} and P_orient {turn:.2f} times the window's", bump < turn < 1))
    text = (
        "Graph cuts, whose surfaces are pieces of a single disparity, improve on windows more in bumpiness than in orientation (Figure 4: a surface may be "
        "smooth and wrongly turned)"
    )
    return checked(text, cases)


def _fractions(found: Sequence[Result]) -> Statement:
    """Fractional disparities change planes and leave edges alone."""
    cases = []
    for scene in _PLANAR:
        of = on(found, scene)
        for name in ("window", "ssd"):
            fine = f"{name}_subpixel"
            if ratios := _times(of, fine, name, ("P_bump", "P_off", "P_orient")):
                edges = max(abs(of[fine].statistics[COLUMNS[c]] - of[name].statistics[COLUMNS[c]]) for c in ("D_fat", "D_thin"))
                told = f"{scene}, {name}: planes {', '.join(f'{ratio:.3f}' for ratio in ratios)} times, edges by {edges:.3f}"
                cases.append((told, max(ratios) < 1 and edges < 0.01))
    text = (
        "The measures tell faults apart: fractional disparities make all three measures of planes better and change those of edges, D_fat and D_thin, by less "
        "than 0.01"
    )
    return checked(text, cases)


def _times(of: Mapping[str, Result], method: str, base: str, columns: Sequence[str]) -> list[float]:
    """Scores as multiples of those of another method; empty where one is missing or there is nothing to improve on."""
    if not {method, base} <= of.keys() or not all(of[base].statistics[COLUMNS[c]] > 0 for c in columns):
        return []
    return [of[method].statistics[COLUMNS[c]] / of[base].statistics[COLUMNS[c]] for c in columns]


def _text_values(found: Sequence[Result]) -> PageTable:
    published = raw_table("hci2015", "text_values")
    rows = []
    for key, scene, column in _TEXT:
        ours = sorted((r.statistics[COLUMNS[column]], name) for name, r in on(found, scene).items())
        told = f"{ours[0][0]:.2f} ({ours[0][1]}) to {ours[-1][0]:.2f} ({ours[-1][1]})" if ours else "-"
        rows.append(
            [Cell(scene), Cell(column), Cell(", ".join(f"{name} {v:.2f}" for name, v in published[key].items())), Cell(told)]
        )
    note = (
        "Ours: the best and the worst of the dense methods, in pixels of a quarter of the size. Thinning and the measures of planes are of the published size. Fuzziness is "
        "about ten times it: the paper's distances seem to have another unit, such as widths of the band, 7 pixels here."
    )
    return PageTable(
        "Numbers of the paper's text, of which the claims are taken", ["image", "measure", "published", "ours"], rows, note
    )
