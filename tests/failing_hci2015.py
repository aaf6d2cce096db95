"""Data on each side of every rule of hci2015, by the name of the sentence: with which it must hold, and with which it must not."""

import itertools

import made_results
from pandas import DataFrame

from stereo_framework.papers.comparison import published_table, raw_table
from stereo_framework.papers.hci2015.claims import COLUMNS, GEOMETRIC
from stereo_framework.papers.hci2015.items import FOLDER


def made(scene, method, **values):
    """A result with 0.5 in every column but those given by the paper's names."""
    statistics = {
        name: values.get(column.replace(".", ""), 0.5) for column, name in COLUMNS.items()
    }
    statistics["fraction_matched"] = values.get("matched", 1.0)
    return made_results.result(FOLDER + scene, {}, statistics, method=method)


def ranks_as(*orders):
    """Return the ranks of methods by metric.

    The existing metrics rank the methods in the first order, the HCI metrics in the
    last.
    """
    by = [{name: i + 1 for i, name in enumerate(order)} for order in orders]
    return DataFrame({c: by[-1] if c in GEOMETRIC else by[0] for c in COLUMNS})


def _first_in(count):
    """Method a is first by RMS, and in so many of the nine metrics."""
    first, second = {"a": 1, "b": 2}, {"a": 2, "b": 1}
    return DataFrame(
        {"RMS": first} | {c: first if i < count else second for i, c in enumerate(GEOMETRIC)}
    )


def _three(last):
    """SGBM, graph cuts and windows have one order in eight metrics, and another one perhaps in the last."""
    order = dict(zip(("sgbm", "gc", "window"), (1, 2, 3), strict=True))
    return DataFrame(
        dict.fromkeys(COLUMNS, order) | {GEOMETRIC[-1]: dict(zip(order, last, strict=True))}
    )


def _pairs(*values):
    """Two metrics of methods."""
    return DataFrame(values, columns=["F", "G"])


_OPPOSED = (
    # Of four pairs that both tell apart one is opposed, which is enough; of six one is not, nor where they are apart by less than a tenth.
    [
        _pairs((1, 1), (1, 3), (2, 2), (2, 4)),
        _pairs((0.1, 0.2), (0.2, 0.3), (0.3, 0.1), (0.4, 0.4)),
        _pairs((0.1, 0.3), (0.2, 0.2)),
        _pairs((0.0, 0.3), (0.2, 0.0)),
    ],
    [
        _pairs((0.1, 0.1), (0.2, 0.3), (0.3, 0.2), (0.4, 0.4)),
        _pairs((0.1, 0.2), (0.2, 0.3), (0.185, 0.4)),
    ],
)
_FIVE = DataFrame(published_table("hci2015", "figure5").rows)


def r2(value, **pairs):
    """r² of every two metrics, other ones where they are named, ``RMS_F_por``."""
    found = DataFrame(value, list(COLUMNS), list(COLUMNS))
    for a, b in itertools.permutations(COLUMNS, 2):
        if (own := pairs.get(f"{a}_{b}".replace(".", ""))) is not None:
            found.loc[a, b] = found.loc[b, a] = own
    return found


def _low(count, value=0.19):
    """r² of which so many of the 36 pairs of the nine metrics are this low."""
    return r2(
        0.9, **{f"{a}_{b}": value for a, b in list(itertools.combinations(GEOMETRIC, 2))[:count]}
    )


def _rms(count):
    """RMS has .49 with so many of the nine metrics and .51 with the others."""
    return r2(
        0.9, **{f"RMS_{name}": 0.49 if i < count else 0.51 for i, name in enumerate(GEOMETRIC)}
    )


def _similar(rms, porosity):
    return DataFrame(
        {"RMS": [100.0, 100.0 * (1 - rms), 300.0], "F_por": [1.0, 1 - porosity, 1.0]}, list("abc")
    )


def _weighted(fine):
    """Method a is better than b by .3 in six metrics, and worse by this much in the three of fine structures."""
    return DataFrame(
        {c: [0.7, 1.0] if c[0] != "F" else [1.0, 1 - fine] for c in GEOMETRIC}, list("ab")
    )


def _printed(**keys):
    """What the text prints, by the names of metrics."""
    return DataFrame(
        {column: raw_table("hci2015", "text_values")[key] for column, key in keys.items()}
    )


_TABLE = [("RMS", "D_fat"), ("RMS", "F_por"), ("Bad1.0", "Bad4.0")]

SIDES = {
    "rms_is_limited": ([_first_in(4)], [_first_in(5), ranks_as("abc", "abc")]),
    # Three places from the nearest of RMS, Bad1.0 and Bad4.0.
    "rankings_reveal": (
        [ranks_as("abcd", "dabc")],
        [
            ranks_as("abcd", "adbc"),
            ranks_as("abcd", "dabc").assign(**{"Bad4.0": [1, 3, 4, 2]}),
            ranks_as("abcd", "dabc").assign(P_off=[1, 2, 3, 4]),
        ],
    ),
    "rank_differently": ([_three((2, 1, 3))], [_three((1, 2, 3))]),
    "planes_apart": (
        [_printed(P_orient="Playtable_P_orient_deg", P_bump="Playtable_P_bump"), *_OPPOSED[0]],
        _OPPOSED[1],
    ),
    "order_changes": (
        [_printed(D_thin="Adirondack_D_thin", D_fuz="Adirondack_D_fuz"), *_OPPOSED[0]],
        _OPPOSED[1],
    ),
    "similar_rms": (
        [_FIVE, _similar(0.049, 0.251)],
        [_similar(0.051, 0.251), _similar(0.049, 0.249)],
    ),
    # Six times .3 against three times three times .2 or less: only with the higher weight the order changes.
    "weights_change_ranks": ([_weighted(0.21)], [_weighted(0.19), _weighted(0.61)]),
    "more_with_badpix": (
        [r2(0.3, RMS_Bad10=0.31, RMS_Bad40=0.31)],
        [r2(0.3, RMS_Bad10=0.29, RMS_Bad40=0.9), r2(0.3, RMS_Bad10=0.9, RMS_Bad40=0.29)],
    ),
    "little_with_rms": ([_rms(5)], [_rms(4)]),
    "very_low": (
        [(r2(0.19), _TABLE), (r2(0.19, RMS_D_fat=0.9), _TABLE)],
        [(r2(0.21), _TABLE), (r2(0.19, RMS_D_fat=0.9, Bad10_Bad40=0.9), _TABLE)],
    ),
    "uncorrelated": ([_low(19)], [_low(18), _low(36, 0.2)]),
    "correlated_pairs": (
        [r2(0.0, Bad10_Bad40=0.5, D_fat_F_fat=0.5)],
        [r2(0.0, Bad10_Bad40=0.49, D_fat_F_fat=0.9), r2(0.9, D_fat_F_fat=0.49)],
    ),
    "subset_rankings": (
        # In the mean, not in most.
        [DataFrame([(0.5, 0.9), (0.6, 0.5)]), DataFrame([(0.5, 0.9), (0.6, 0.5), (0.6, 0.5)])],
        [DataFrame([(0.5, 0.4)]), DataFrame([(0.5, 1.0), (0.5, 0.9)])],
    ),
}
