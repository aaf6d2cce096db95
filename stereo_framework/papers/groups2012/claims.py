"""The judges of the paper's sentences, by their names in ``paper.yaml``."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import numpy as np

from stereo_framework.papers.claim import Cases
from stereo_framework.papers.own_methods import REGIONS, Rows


def seven_groups(groups: Mapping[str, int]) -> Cases:
    count = len(set(groups.values()))
    yield f"{count} groups of {len(groups)} methods", count == 7


def top_ranked(ranks: Mapping[str, int], groups: Mapping[str, int]) -> Cases:
    first = sorted(ranks, key=ranks.__getitem__)[: len(ranks) // 3]
    yield ", ".join(f"{name} group {groups[name]}" for name in first), any(groups[name] > 1 for name in first)


def contradict(errors: Mapping[str, Mapping[str, Sequence[float]]]) -> Cases:
    for i, region in enumerate(REGIONS):
        found = {measure: sorted((values[i], name) for name, values in methods.items()) for measure, methods in errors.items()}
        lead = {measure: pair[1][0] / pair[0][0] - 1 for measure, pair in found.items()}
        told = ", ".join(f"{measure} prefers {pair[0][1]} by {100 * lead[measure]:.1f} %" for measure, pair in found.items())
        yield f"{region}: {told}", found["BMP"][0][1] != found["SZE"][0][1] and lead["SZE"] > lead["BMP"]


def segm_border(rows: Rows) -> Cases:
    own = rows["GC+SegmBorder"]
    best = [c for c in own if own[c] < min(row[c] for name, row in rows.items() if name != "GC+SegmBorder")]
    yield f"lowest in {len(best)} of {len(own)} columns", len(best) == len(own)


def local_beside_global(first: Collection[str], local: Collection[str]) -> Cases:
    kinds = {"local": [n for n in first if n in local], "global": [n for n in first if n not in local]}
    yield "; ".join(f"{kind}: {', '.join(names) or 'none'}" for kind, names in kinds.items()), all(kinds.values())


def patch_match_teddy(rows: Rows) -> Cases:
    place = 1 + sum(row["teddy_nonocc"] < rows["PatchMatch"]["teddy_nonocc"] for row in rows.values())
    yield f"place {place} of {len(rows)}", place > len(rows) / 3


def patch_match_venus(rows: Rows) -> Cases:
    for region in REGIONS:
        others = [row[f"venus_{region}"] for name, row in rows.items() if name != "PatchMatch"]
        worse = sum(other >= 1.1 * rows["PatchMatch"][f"venus_{region}"] for other in others)
        yield f"{region}: {worse} of {len(others)} others are worse by a tenth", 2 * worse > len(others)


def ranks_are_distant(first_ranks: Collection[int]) -> Cases:
    found = sorted(first_ranks)
    apart = float(np.mean(np.diff(found))) if len(found) > 1 else 0.0
    yield f"ranks {', '.join(map(str, found))}: {apart:.1f} apart", apart >= 2


def most_in_group_two(groups: Mapping[str, int]) -> Cases:
    second = sum(group == 2 for group in groups.values())
    yield f"{second} of {len(groups)}", 2 * second > len(groups)


def no_single_winner(groups: Mapping[str, int]) -> Cases:
    first = [name for name, group in groups.items() if group == 1]
    yield f"{len(first)} of {len(groups)}: {', '.join(first)}", len(first) > 1
