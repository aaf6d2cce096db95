"""Measured data with which each claim of sigma_z2011 must fail, by its name."""

from dataclasses import replace

from stereo_framework.papers.published import published_table


def wrong(name, row, column, value):
    """A published table with another number in one place."""
    table = published_table("sigma_z2011", name)
    return replace(table, rows={**table.rows, row: {**table.rows[row], column: value}})


FAILING = {
    "one_pixel_off": (published_table("sigma_z2011", "table1"), {("venus", "BMP_all"): 0.0, ("venus", "MSE_all"): 1.001}),
    "psnr": (wrong("table1", "cones", "PSNR_rendered", 25.477),),
    "truth_against_itself": (published_table("sigma_z2011", "table2"), {("ground-truth", "SZE_all"): 0.001}),
    "printed_ranks": (wrong("table5", "RDP", "SZE_rank", 13),),
    # CoopRegion would have the lowest MSE, DoubleBP has the lowest SZE.
    "agrees_with_averages": (wrong("table4", "CoopRegion", "MSE", 0.474),),
    "different_ranks": ({"SZE": {"a": 1, "b": 2}, "BMP": {"a": 1, "b": 2}},),
}
