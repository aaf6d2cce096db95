"""Data on each side of every rule of sigma_z2011, by the name of the sentence: with which it must hold, and with which it must not."""

from pandas import DataFrame

from stereo_framework.papers.comparison import published_table

_ROWS = {i: published_table("sigma_z2011", f"table{i}").frame for i in range(1, 6)}


def _wrong(number, row, column, value):
    """A printed table with another number in one place."""
    rows = _ROWS[number].copy()
    rows.loc[row, column] = value
    return rows


def _off(**changes):
    return DataFrame({"venus": {"BMP_all": 0.0, "MSE_all": 1.0, "MAPE_all": 4.0} | changes}).T


_ORDER, _BEST = list(range(1, 11)), [True] * 2 + [False] * 8
# Ranks that are positively correlated with a probability of .049 by chance, and of 0.054.
_JUST, _HARDLY = [1, 5, 4, 6, 2, 9, 10, 3, 7, 8], [8, 1, 2, 5, 6, 3, 4, 9, 7, 10]


UNDECIDED = {
    "ranks_differ": [({"SZE": _ORDER, "BMP": _HARDLY}, {"SZE": _BEST, "BMP": _BEST[::-1]})],
}
"""Data with which a rule decides nothing, because a test is not significant."""

SIDES = {
    "perfect_but_wrong": ([_off()], [_off(BMP_all=0.001), _off(MSE_all=0.0), _off(MAPE_all=0.0)]),
    "bmp_against_views": (
        [_ROWS[2]],
        [
            _wrong(2, "artefacts", "BMP_disc", 0.001),
            _wrong(2, "inaccurate", "PSNR", 29.95),
            _wrong(2, "artefacts", "MSSIM", 0.904),
        ],
    ),
    # 9 % of BMP against 8 % of one of the others.
    "bmp_alike": (
        [_ROWS[3]],
        [_ROWS[3].assign(MAPE=[2.0, 2.1, 2.16]), _ROWS[3].assign(SZE=[500, 510, 540])],
    ),
    "consistent": (
        [_ROWS[4]],
        [
            # CoopRegion would have the lowest MSE, DoubleBP has the lowest SZE.
            _wrong(4, "CoopRegion", "MSE", 0.474),
            _wrong(4, "CoopRegion", "MAE", 0.222),
            _wrong(4, "OutlierConf", "MAPE", 4.559),
            _ROWS[4].assign(BMP=range(4)),
        ],
    ),
    "views_alike": ([_ROWS[4]], [_wrong(4, "OutlierConf", "MSSIM", 1.06)]),
    "ranks_differ": (
        [({"SZE": _ORDER, "BMP": _ORDER[::-1]}, {"SZE": _BEST, "BMP": _BEST[::-1]})],
        [
            ({"SZE": _ORDER, "BMP": _JUST}, {"SZE": _BEST, "BMP": _BEST[::-1]}),
            ({"SZE": _ORDER, "BMP": _ORDER[::-1]}, {"SZE": _BEST, "BMP": _BEST}),
        ],
    ),
    "smaller_astar": (
        [{"SZE": [True, False, False], "BMP": [True, True, False]}],
        [{"SZE": [True, False], "BMP": [False, True]}],
    ),
}
