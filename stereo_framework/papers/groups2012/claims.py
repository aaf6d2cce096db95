"""The judges of the paper's sentences, by their names in ``paper.yaml``."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import numpy as np
from pandas import DataFrame, Series

from stereo_framework.papers.claim import Cases, most, tally
from stereo_framework.papers.own_methods import REGIONS


def seven_groups(groups: Series) -> Cases:
    yield f"{groups.nunique()} groups of {len(groups)} methods", groups.nunique() == 7


def top_ranked(ranks: Series, groups: Series) -> Cases:
    first = groups[ranks.sort_values(kind="stable").index[: len(ranks) // 3]]
    yield ", ".join(f"{name} group {group}" for name, group in first.items()), (first > 1).any()


def contradict(errors: Mapping[str, DataFrame]) -> Cases:
    """Takes the errors of two methods by measure."""
    for region, *both in zip(REGIONS, *(errors[measure].to_numpy().T for measure in ("BMP", "SZE")), strict=True):
        lead = [values.max() / values.min() - 1 for values in both]
        best = [errors["BMP"].index[np.argmin(values)] for values in both]
        told = ", ".join(f"{m} prefers {name} by {100 * by:.1f} %" for m, name, by in zip(errors, best, lead, strict=True))
        yield f"{region}: {told}", best[0] != best[1] and lead[1] > lead[0]


def segm_border(rows: DataFrame) -> Cases:
    best = rows.loc["GC+SegmBorder"] < rows.drop("GC+SegmBorder").min()
    yield f"lowest in {best.sum()} of {len(best)} columns", best.all()


def local_beside_global(first: Collection[str], local: Collection[str]) -> Cases:
    kinds = {"local": [n for n in first if n in local], "global": [n for n in first if n not in local]}
    yield "; ".join(f"{kind}: {', '.join(names) or 'none'}" for kind, names in kinds.items()), all(kinds.values())


def patch_match_teddy(rows: DataFrame) -> Cases:
    place = int(rows["teddy_nonocc"].rank(method="min")["PatchMatch"])
    yield f"place {place} of {len(rows)}", place > len(rows) / 3


def patch_match_venus(rows: DataFrame) -> Cases:
    for region in REGIONS:
        own, others = rows[f"venus_{region}"]["PatchMatch"], rows[f"venus_{region}"].drop("PatchMatch")
        worse = (others >= 1.1 * own).sum()
        yield f"{region}: {worse} of {len(others)} others are worse by a tenth", 2 * worse > len(others)


def ranks_are_distant(first_ranks: Collection[int]) -> Cases:
    found = sorted(first_ranks)
    apart = float(np.mean(np.diff(found))) if len(found) > 1 else 0.0
    yield f"ranks {', '.join(map(str, found))}: {apart:.1f} apart", apart >= 2


def most_in_group_two(groups: Series) -> Cases:
    return tally(groups == 2, "", most)


def no_single_winner(groups: Series) -> Cases:
    first = groups.index[groups == 1]
    yield f"{len(first)} of {len(groups)}: {', '.join(first)}", len(first) > 1
