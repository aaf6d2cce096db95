"""Figures and statements of the methods' pages agree with the runs that computed them.

The figures stand in ``docs/counts`` (``scripts/method_counts.py`` and
``scripts/confidence_tables.py`` write them) and in ``tests/golden``, whose figures the tests of
the methods' pages measure again.
"""

import inspect
import json
import re
import statistics
from pathlib import Path
from statistics import mean

import confidence_tables
import pytest
import yaml

from stereo_framework import run
from stereo_framework.core.registration import stages
from stereo_framework.preprocessing import row_alignment
from stereo_framework.script import load

pytestmark = pytest.mark.docs

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
METHODS = DOCS / "methods"
SCENES = ("tsukuba", "venus", "teddy", "cones")
COUNTS = json.loads((DOCS / "counts" / "methods.json").read_text())
GOLDEN = yaml.safe_load((ROOT / "tests" / "golden" / "method_figures_expected.yaml").read_text())
NUMBER = r"(\d+(?:\.\d+)?)"


def text_of(page):
    """Return the text of a file of the repository with single spaces."""
    return re.sub(r"\s+(?:# )?", " ", (ROOT / page).read_text())


def figures_of(page, sentence):
    """Return the numbers of a sentence, whose places are marked by N, as they are printed."""
    pattern = re.escape(sentence).replace("N", NUMBER)
    matches = re.findall(pattern, text_of(page))
    assert len(matches) == 1, f"{page}: {len(matches)} sentences of the form: {sentence}"
    [groups] = matches
    return groups if isinstance(groups, tuple) else (groups,)


def rounded_like(printed, value):
    """Return a value as text, with as many decimals as a printed number."""
    decimals = len(printed.partition(".")[2])
    return f"{value:.{decimals}f}"


def assert_printed(page, sentence, *values):
    """Assert that a sentence prints these values, each rounded to the decimals of the print."""
    printed = figures_of(page, sentence)
    assert len(printed) == len(values)
    expected = tuple(rounded_like(text, value) for text, value in zip(printed, values, strict=True))
    assert printed == expected


def golden(page, setting, statistic=0):
    """Return a statistic of a setting in the golden figures, by scene."""
    cells = GOLDEN[page]["settings"][setting]
    return {
        scene: float(cell.split(" / ")[statistic])
        for scene, cell in zip(SCENES, cells, strict=True)
    }


def table_rows(page, first_cell):
    """Return the cells of the rows of a table that begin with a text."""
    lines = (ROOT / page).read_text().splitlines()
    return [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in lines
        if line.startswith(f"| {first_cell}")
    ]


def results_row(table, method):
    """Return the numbers of a method in a table of the page of results."""
    [block] = re.findall(
        rf"<!-- {table} -->\n(.*?)<!-- end -->", (DOCS / "results.md").read_text(), re.DOTALL
    )
    [row] = re.findall(rf"^\| `{method}` \| (.*) \|$", block, re.MULTILINE)
    return row.split(" | ")


# --- stable and stratified matching -----------------------------------------------------------------------------------


def test_errors_of_stable_matching_on_teddy_are_printed_with_metric_and_margins():
    counts = {
        method: COUNTS["margins"][method]["alpha 50, beta 0.1"]["teddy"]
        for method in ("csm", "stratified")
    }
    assert_printed(
        "docs/methods/stable_matching.md",
        "On teddy of Middlebury v2 `csm` with `alpha` 50 and `beta` 0.1 matches N % of the "
        "non-occluded pixels, of which N % are off by more than 1 pixel; of all its matches "
        "with truth N % are.",
        counts["csm"]["matched"],
        counts["csm"]["wrong_of_nonocc"],
        counts["csm"]["wrong_of_all"],
    )
    assert_printed(
        "docs/methods/stable_matching.md",
        "with the same margins matches N % of the non-occluded pixels, of which N % are off by more than 1 pixel.",
        counts["stratified"]["matched"],
        counts["stratified"]["wrong_of_nonocc"],
    )


@pytest.mark.parametrize("setting", COUNTS["margins"]["csm"])
def test_densities_of_stratified_and_stable_matching_are_printed_for_each_margin(setting):
    stratified, stable = (COUNTS["margins"][method][setting] for method in ("stratified", "csm"))
    cells = []
    for scene in SCENES:
        dense, sparse = stratified[scene]["matched"], stable[scene]["matched"]
        cells.append(f"{dense:.1f} / {sparse:.1f} ({dense / sparse:.1f})")
    first_cell = re.sub(r"[a-z]+ ", "", setting)
    assert table_rows("docs/methods/stratified_matching.md", first_cell) == [[first_cell, *cells]]


def test_stratified_matching_leaves_the_printed_share_unmatched_without_margins():
    unmatched = [
        100 - counts["matched"]
        for counts in COUNTS["margins"]["stratified"]["alpha 0, beta 0"].values()
    ]
    assert_printed(
        "docs/methods/stratified_matching.md",
        "on the scenes of Middlebury v2 N to N % of the non-occluded pixels stay unmatched with `alpha` and `beta` 0.",
        min(unmatched),
        max(unmatched),
    )


def test_stratified_matching_is_denser_at_the_default_margins_on_tsukuba_only():
    assert (
        "it is denser than stable matching on tsukuba and sparser on venus, teddy and cones"
        in text_of("docs/methods/stratified_matching.md")
    )
    stratified, stable = (
        COUNTS["margins"][method]["alpha 10, beta 0.05"] for method in ("stratified", "csm")
    )
    assert [
        scene for scene in SCENES if stratified[scene]["matched"] > stable[scene]["matched"]
    ] == ["tsukuba"]


def test_error_rates_at_a_low_threshold_are_those_of_the_golden_figures():
    assert_printed(
        "docs/methods/stratified_matching.md",
        "are N, N, N and N, those of `csm` N, N, N and N.",
        *golden("stratified_matching", "min_similarity: 0.6, alpha: 10, beta: 0.05").values(),
        *golden("stable_matching", "alpha: 10, beta: 0.05").values(),
    )


@pytest.mark.parametrize(
    ("sentence", "method", "settings"),
    [
        (
            "these values match N to N % of the non-occluded pixels, N to N % of them wrongly, mostly",
            "csm",
            ["alpha 10, beta 0.05"],
        ),
        (
            "these values match N to N % of the non-occluded pixels, N to N % of them wrongly;",
            "stratified",
            ["alpha 10, beta 0.05"],
        ),
        (
            "keeps N to N % at the larger margins alpha 50, beta 0.1, N to N % of them wrongly",
            "stratified",
            ["alpha 50, beta 0.1"],
        ),
    ],
)
def test_comments_of_semi_dense_scripts_print_the_counted_ranges(sentence, method, settings):
    counts = [
        scene for setting in settings for scene in COUNTS["margins"][method][setting].values()
    ]
    matched = [scene["matched"] for scene in counts]
    wrong = [scene["wrong_of_nonocc"] for scene in counts]
    assert_printed(
        f"configs/methods/{method}.yaml",
        sentence,
        min(matched),
        max(matched),
        min(wrong),
        max(wrong),
    )


# --- scanline matching and correlation --------------------------------------------------------------------------------


def test_a_low_price_gives_a_sparser_map_with_more_errors_on_each_scene():
    assert (
        "a price of 20 gives a higher sparsity rate and a higher error rate (Kostliva et al. 2007) than a price of 300"
        in text_of("docs/methods/maximum_likelihood_matching.md")
    )
    for statistic in (0, 1):
        low, high = (
            golden("maximum_likelihood_matching", f"occlusion_cost: {cost}", statistic)
            for cost in (20, 300)
        )
        assert all(low[scene] > high[scene] for scene in SCENES)


def test_the_comment_of_cox_prints_the_counted_ranges():
    counts = COUNTS["prices"]["occlusion_cost 300"].values()
    matched = [scene["matched"] for scene in counts]
    wrong = [scene["wrong_of_nonocc"] for scene in counts]
    assert_printed(
        "configs/methods/cox.yaml",
        "a price of 300 matches N to N % of the non-occluded pixels, N to N % of them wrongly.",
        min(matched),
        max(matched),
        min(wrong),
        max(wrong),
    )


def test_error_rates_of_correlation_are_the_measured_ones():
    rates = COUNTS["correlation"]
    darker = "teddy, exposure 0.3"
    assert_printed(
        "docs/methods/normalized_cross_correlation.md",
        "of their winners are N and N. If all intensities of the match image are multiplied by 0.3 (`radiometric_change` with "
        "`exposure: 0.3`), they are N and N, and those of absolute differences in windows of 9 pixels (`window`) rise from N to N.",
        rates["moravec"]["teddy"],
        rates["standard"]["teddy"],
        rates["moravec"][darker],
        rates["standard"][darker],
        rates["window"]["teddy"],
        rates["window"][darker],
    )
    assert_printed(
        "docs/methods/normalized_cross_correlation.md",
        "have an error rate of N on tsukuba, Moravec's form one of N.",
        rates["window"]["tsukuba"],
        rates["moravec"]["tsukuba"],
    )


# --- optimizers -------------------------------------------------------------------------------------------------------


def test_energies_of_belief_propagation_lie_in_the_printed_ranges():
    energies = {
        setting: golden("belief_propagation", setting, 1)
        for setting in GOLDEN["belief_propagation"]["settings"]
    }
    best = energies["schedule: accelerated, iterations: 50, damping: 0.1"]
    above = [100 * (best[scene] / energies["graph_cut"][scene] - 1) for scene in SCENES]
    page = "docs/methods/belief_propagation.md"
    assert_printed(
        page,
        "end N to N % above those of `graph_cut` under the same energy.",
        min(above),
        max(above),
    )

    damped = energies["schedule: synchronous, iterations: 50, damping: 0.1"]
    undamped = energies["schedule: synchronous, iterations: 50, damping: 0"]
    ratios = [undamped[scene] / damped[scene] for scene in SCENES]
    sentence = "their energy is N to N times that of synchronous messages with `damping` 0.1."
    assert_printed(page, sentence, min(ratios), max(ratios))


def test_gaps_of_message_passing_and_of_graph_cuts_fit_their_energies():
    gaps = figures_of(
        "docs/methods/trw_s.md",
        "lies at most N, N, N and N % above the lowest energy (the `gap`); the maps of `graph_cut` lie at most N, N, N and N % above it.",
    )
    messages = golden("trw_s", "iterations: 200", 1)
    cuts = golden("belief_propagation", "graph_cut", 1)
    for gap, cut_gap, scene in zip(gaps[:4], gaps[4:], SCENES, strict=True):
        bound = messages[scene] / (1 + float(gap) / 100)
        # The printed gap has two digits, so the bound is known to half of its last digit.
        assert float(cut_gap) == pytest.approx(100 * (cuts[scene] / bound - 1), abs=0.0101)


def test_errors_grow_while_the_energy_falls_on_venus_and_teddy():
    assert (
        "On venus and teddy the error rate (Kostliva et al. 2007) grows from 10 to 50 and to 200 iterations"
        in text_of("docs/methods/trw_s.md")
    )
    for scene in ("venus", "teddy"):
        errors = [golden("trw_s", f"iterations: {count}")[scene] for count in (10, 50, 200)]
        energies = [golden("trw_s", f"iterations: {count}", 1)[scene] for count in (10, 50, 200)]
        assert errors == sorted(errors)
        assert len(set(errors)) == 3
        assert energies == sorted(energies, reverse=True)


def test_prices_of_graph_cuts_with_occlusions_have_the_printed_rates():
    cheap = golden("graph_cut_occlusion", "weight: 8, occlusion_cost: 5", 1)
    middle = golden("graph_cut_occlusion", "weight: 8, occlusion_cost: 10")
    assert_printed(
        "docs/methods/graph_cut_occlusion.md",
        "with an `occlusion_cost` of 5 the sparsity rate is N on cones, with 10 an error rate of N remains on teddy.",
        cheap["cones"],
        middle["teddy"],
    )


def test_only_two_methods_of_the_table_take_longer_than_graph_cuts_with_occlusions():
    page = "docs/methods/graph_cut_occlusion.md"
    assert "only `bayesian` and `sa` took longer on Middlebury v2" in text_of(page)
    [block] = re.findall(
        r"<!-- middlebury_v2 -->\n(.*?)<!-- end -->", (DOCS / "results.md").read_text(), re.DOTALL
    )
    seconds = {
        name: float(time)
        for name, time in re.findall(r"^\| `(\w+)` \| .* \| ([\d.]+) \|$", block, re.MULTILINE)
    }
    assert {name for name, time in seconds.items() if time > seconds["gco"]} == {"bayesian", "sa"}


# --- methods on Middlebury v2 -----------------------------------------------------------------------------------------


def test_the_table_of_ad_census_prints_the_measured_percentages():
    measured = COUNTS["ad_census"]["script"]
    cells = [" / ".join(f"{value:.2f}" for value in measured[scene].values()) for scene in SCENES]
    assert table_rows("docs/methods/ad_census.md", "the script") == [
        ["the script", f"{measured['average']:.2f}", *cells]
    ]
    page = "docs/methods/ad_census.md"
    assert_printed(page, "percentages below; the script gives N.", measured["average"])
    assert_printed(
        page,
        "(`views: both, iterations: 1`) the average is N;",
        COUNTS["ad_census"]["both views"]["average"],
    )
    assert_printed(
        page,
        "before the parabola as well, N.",
        COUNTS["ad_census"]["both views, finish"]["average"],
    )


def test_the_published_average_of_ad_census_is_the_mean_of_its_row():
    [[_, average, *cells]] = table_rows("docs/methods/ad_census.md", "published")
    values = [float(value) for cell in cells for value in cell.split(" / ")]
    assert len(values) == 12
    assert rounded_like(average, mean(values)) == average


def test_whole_numbers_keep_the_printed_share_of_the_winners_on_each_scene():
    [share] = figures_of(
        "docs/methods/ad_census.md", "stay the same in more than N % of the pixels of each scene"
    )
    assert min(COUNTS["equal_winners"].values()) > float(share)


def test_percentages_near_discontinuities_are_the_measured_ones():
    near_edges = {name: counts["means"]["disc"] for name, counts in COUNTS["methods_on_v2"].items()}
    assert_printed(
        "docs/methods/cost_filter.md",
        "the script has N % bad pixels, `gco`, which fills its holes too, N %, and the global optimizers `gc` and `bp`, which leave "
        "occlusions as they are, N and N %.",
        *(near_edges[name] for name in ("cost_filter", "gco", "gc", "bp")),
    )


def test_support_weights_are_compared_with_the_figures_of_their_sources():
    page = "docs/methods/support_weights.md"
    assert_printed(
        page,
        "with 5 error rates (Kostliva et al. 2007) on tsukuba, venus, teddy and cones rise from N, N, N and N to N, N, N and N.",
        *golden("support_weights", "gamma_c: 10").values(),
        *golden("support_weights", "gamma_c: 5").values(),
    )
    percentage, seconds = results_row("middlebury_v2", "support_weights")
    filter_percentage, filter_seconds = results_row("middlebury_v2", "cost_filter")
    sentence = "- Slow, since nothing can be summed ahead: N s on one thread"
    assert_printed(page, sentence, float(seconds))
    assert_printed(
        page, "with N % bad pixels in the mean of the twelve percentages.", float(percentage)
    )
    assert_printed(
        page,
        "with its guided filter, has N % in a thirtieth of the time.",
        float(filter_percentage),
    )
    assert round(float(seconds) / float(filter_seconds), -1) == 30


def test_patch_match_has_the_printed_averages():
    [row] = table_rows("docs/methods/patch_match.md", "bad pixels at 1 px")
    counts = COUNTS["patch_match"]
    assert row[2:] == [f"{counts['average']:.2f}", f"{counts['average, tsukuba rounded']:.2f}"]


def test_the_choice_of_a_method_prints_the_figures_of_the_results():
    page = "docs/methods/README.md"
    photographs = {
        name: float(results_row("photographs", name)[0])
        for name in ("fine", "fast", "sgm", "sgbm", "bm")
    }
    seconds = {
        name: float(results_row("photographs", name)[-1])
        for name in (*photographs, "census", "window", "ssd")
    }
    assert_printed(page, "(../chain.md) | N %, in N s |", photographs["fine"], seconds["fine"])
    assert_printed(
        page, "a seventh of the time | [`fast`](../chain.md) | N % |", photographs["fast"]
    )
    assert round(seconds["fine"] / seconds["fast"]) == 7
    assert_printed(page, "| [`sgm`](sgm.md) | N % |", photographs["sgm"])
    assert seconds["sgm"] <= 0.25
    assert_printed(
        page,
        "`sgbm` (OpenCV) | N %; `bm` has N % in N s |",
        photographs["sgbm"],
        photographs["bm"],
        seconds["bm"],
    )
    simple = [float(results_row("photographs", name)[0]) for name in ("census", "window", "ssd")]
    assert_printed(page, "`window`, `ssd` | N, N, N %; 0.3 s at most |", *simple)
    assert max(seconds[name] for name in ("census", "window", "ssd")) <= 0.3
    old_scenes = [
        float(results_row("middlebury_v2", name)[0]) for name in ("cost_filter", "ad_census", "sgm")
    ]
    new_scenes = [
        float(results_row("photographs", name)[0]) for name in ("cost_filter", "ad_census")
    ]
    sentence = "N and N % in the mean of the twelve percentages of Middlebury v2, where `sgm` has N %; N and N % on photographs"
    assert_printed(page, sentence, *old_scenes, *new_scenes)


# --- the chain --------------------------------------------------------------------------------------------------------


def test_row_differences_of_the_sets_are_the_measured_ones():
    rows = {name: list(differences.values()) for name, differences in COUNTS["rows"].items()}
    assert_printed(
        "docs/chain.md",
        "is N to N px on the ten photographs (Pipes), N to N px on the eight pairs of KITTI 2015 and N px on the pair of KITTI 2012.",
        *(min(rows["photographs"]), max(rows["photographs"])),
        *(min(rows["kitti2015"]), max(rows["kitti2015"])),
        *rows["kitti2012"],
    )
    docstring = " ".join((row_alignment.__doc__ or "").split())
    roads = [*rows["kitti2015"], *rows["kitti2012"]]
    sentence = f"up to {max(rows['photographs']):.1f} px on ten photographs of Middlebury and up to {max(roads):.1f} px on roads of KITTI"
    assert sentence in docstring

    photographs = COUNTS["rows"]["photographs"]
    assert max(photographs, key=photographs.get) == "Pipes"
    assert [len(differences) for differences in rows.values()][:3] == [10, 8, 1]


def test_captions_of_the_chain_print_the_figures_of_their_pictures():
    captions = COUNTS["chain_captions"]
    page = "docs/chain.md"
    before, after, low, high = (
        abs(float(figure)) for figure in re.findall(r"-?\d+\.\d+", captions["rows"])
    )
    assert_printed(page, "(N to N rows over the whole image)", high, low)
    assert_printed(
        page, "errors of `sgm` as the pair is, N %, and with aligned rows, N %.", before, after
    )
    light = [float(figure) for figure in re.findall(r"\d+\.\d+", captions["light"])]
    assert_printed(
        page,
        "N and N grey levels in the median of the non-occluded pixels; errors of `fine` without and with it, N and N %.",
        *light,
    )
    planes = [float(figure) for figure in re.findall(r"\d+\.\d+", captions["planes"])]
    assert_printed(
        page,
        "paths over whole levels, N %; planes after one round, N; after all five, N; finished, N.",
        *planes,
    )


def test_gains_by_aligned_rows_are_those_of_the_note():
    rows = [table_rows("docs/notes/chain.md", name) for name in ("ten photographs", "eight roads")]
    errors = [[cell.split(" / ")[1] for cell in cells] for [[_, *cells]] in rows]
    printed = figures_of(
        "docs/chain.md",
        "on ten photographs non-occluded pixels off by more than 1 pixel fell from N to N % and "
        "from N to N %, on eight roads pixels with truth from N to N % and from N to N %.",
    )
    assert printed == (*errors[0], *errors[1])


def test_the_parts_that_reduce_errors_most_are_those_of_the_note():
    assert (
        "light and planes reduce errors most on five photographs (1 pixel), planes and rows on two roads (2 pixels)"
        in text_of("docs/chain.md")
    )
    names = (
        "rows",
        "light, and local weights",
        "planes",
        "the left-right term",
        "half levels",
        "the finish",
    )
    ablation = {name: table_rows("docs/notes/chain.md", f"{name} |")[0] for name in names}
    for column, largest in ((2, {"light, and local weights", "planes"}), (3, {"planes", "rows"})):
        by_error = sorted(names, key=lambda name, column=column: float(ablation[name][column]))
        assert set(by_error[-2:]) == largest


# --- without ground truth ---------------------------------------------------------------------------------------------


def test_the_truth_of_teddy_gives_the_printed_differences():
    differences = COUNTS["choose_on_teddy"]
    assert_printed(
        "docs/truth_free.md",
        "With the truth of teddy the four have N, N, N and N points more wrong non-occluded pixels (1 pixel) than `fine`.",
        *(differences[name] for name in ("fast", "sgm", "census", "window")),
    )


@pytest.mark.parametrize(
    ("sentence", "of_the_study"),
    [
        (
            "hold the true difference | N % of the cases; on single pairs N to N %",
            ["89", "35", "100"],
        ),
        ("are called worse | N % |", ["99"]),
        ("pairs told apart; rightly | N %; N % |", ["60", "99.8"]),
        ("intervals held in N % of the cases, though N to N % of the maps", ["59", "99", "100"]),
        ("intervals held in N % of the cases on roads.", ["53"]),
        ("To tune `fine`: N of N pairs became worse.", ["19", "30"]),
    ],
)
def test_the_page_without_truth_prints_the_figures_of_the_study(sentence, of_the_study):
    assert list(figures_of("docs/truth_free.md", sentence)) == of_the_study
    study = text_of("docs/notes/method_choice.md")
    assert all(re.search(rf"(?<![\d.]){number}(?:\.\d)?(?!\d)", study) for number in of_the_study)


# --- performance ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["sgm", "fine"])
def test_errors_in_tiles_are_the_measured_ones(method):
    measured = json.loads((DOCS / "counts" / "tiles.json").read_text())["photographs"][method]
    sentence = f"`{method}` has N % as a whole, N % in tiles of 512 pixels and N % in tiles of 256"
    assert_printed(
        "docs/performance.md",
        sentence,
        *(measured[key] for key in ("whole", "tiles of 512", "tiles of 256")),
    )


def test_estimated_ranges_of_real_pairs_are_the_measured_ones():
    estimates = json.loads((DOCS / "counts" / "ranges.json").read_text())["estimated"]
    slits = estimates.pop("synthetic/slits")
    tsukuba = estimates.pop("middlebury2001/tsukuba")
    covered = [estimate["covered"] for estimate in (tsukuba, *estimates.values())]
    widths = [estimate["width"] for estimate in estimates.values()]
    [pairs, least] = figures_of(
        "docs/howto/images.md",
        "On each of the N real pairs of [the study without truth](../notes/method_choice.md) the estimate covers at least N %",
    )
    assert int(pairs) == len(covered)
    assert min(covered) >= float(least)
    sentence = "Its width is N to N times that of the true disparities, on *tsukuba* N times. On `synthetic/slits` it covers N %"
    assert_printed(
        "docs/howto/images.md",
        sentence,
        min(widths),
        max(widths),
        tsukuba["width"],
        slits["covered"],
    )


# --- confidence -------------------------------------------------------------------------------------------------------

LEARNED = yaml.safe_load(confidence_tables.LEARNED.read_text())


def confidence_table():
    """Return the areas of the page's large table by measure and method, and the mean ranks."""
    text = (DOCS / "confidence.md").read_text()
    header = re.search(r"^\| area over optimal area \| (.*) \| mean rank \|$", text, re.MULTILINE)[
        1
    ]
    methods = header.replace("`", "").split(" | ")
    rows = re.findall(r"^\| `(\w+)`(?:\\\*)? \| ([\d.]+(?: \| [\d.]+){6}) \|$", text, re.MULTILINE)
    return {
        name: dict(zip([*methods, "rank"], map(float, cells.split(" | ")), strict=True))
        for name, cells in rows
    }


def test_measures_learned_from_scenes_of_the_table_are_marked():
    text = (DOCS / "confidence.md").read_text()
    table_scenes = set(load("confidence/measures").scenes)
    learned_scenes = set(LEARNED["left_out"])
    assert len(table_scenes) == 19
    assert len(table_scenes & learned_scenes) == 14
    [marked] = re.findall(r"^\| (\S+) \| 2\.53 \|", text, re.MULTILINE)
    assert marked == confidence_tables.MARKS["learned"]
    assert "were learned on fourteen of these nineteen scenes" in text


def test_areas_with_each_scene_left_out_are_printed_beside_the_table():
    text = (DOCS / "confidence.md").read_text()
    rows = [f"| {name} | {area} |" for name, area in confidence_tables.left_out_rows(LEARNED)]
    assert (
        "| area over optimal area, 14 scenes | `census_sgm` |\n| --- | --- |\n"
        + "\n".join(rows)
        + "\n"
        in text
    )
    areas = LEARNED["mean_auc_over_optimal"]
    ratios = [scene["auc_learned"] / scene["auc_optimal"] for scene in LEARNED["left_out"].values()]
    assert mean(ratios) == pytest.approx(areas["learned"], abs=5e-4)
    gain = 100 * (1 - areas["learned"] / areas["ambiguity"])
    sentence = "its area is N times the optimal one in the mean, against N for `ambiguity`, the best single measure there: a gain of N %."
    assert_printed("docs/confidence.md", sentence, areas["learned"], areas["ambiguity"], gain)
    assert min(areas, key=areas.get) == "learned"
    assert sorted(areas, key=areas.get)[1] == "ambiguity"
    better = [
        scene["auc_learned"] < scene["auc_best_single"] for scene in LEARNED["left_out"].values()
    ]
    assert sum(better) == 10


def test_areas_on_scenes_that_were_not_learned_from_are_the_measured_ones():
    counts = json.loads((DOCS / "counts" / "confidence.json").read_text())["not learned from"]
    assert not set(counts["scenes"]) & set(LEARNED["left_out"])
    names = [scene.rpartition("/")[2] for scene in counts["scenes"]]
    assert f"({', '.join(names)}; ArtL" in text_of("docs/confidence.md")
    learned, likelihood = counts["measures"]["learned"], counts["measures"]["maximum_likelihood"]
    assert_printed(
        "docs/confidence.md",
        "`learned` has N, N, N, N, N and N in the columns of the table above and a mean rank of N, `maximum_likelihood` N, N, N, N, N "
        "and N and a mean rank of N.",
        *learned.values(),
        *likelihood.values(),
    )


def test_statements_on_measures_of_confidence_follow_from_the_table():
    table = confidence_table()
    assert len(table) == 14
    worthless = {
        "census_window": 11.00,
        "census_sgm": 13.41,
        "sad_window": 6.60,
        "sad_sgm": 7.46,
        "ncc_window": 7.31,
        "ncc_sgm": 9.77,
    }
    single = {name: areas for name, areas in table.items() if name != "learned"}
    far_from_best = set()
    for column in worthless:
        best = min(areas[column] for areas in single.values())
        if table["maximum_likelihood"][column] > 1.05 * best:
            far_from_best.add(column)
    assert far_from_best == {"census_sgm", "sad_window", "ncc_window"}

    better = {
        name
        for name, areas in single.items()
        if areas["sad_window"] < table["maximum_likelihood"]["sad_window"]
    }
    named = {
        "left_right_difference",
        "attainable_likelihood",
        "peak_ratio_naive",
        "winner_margin_naive",
        "curvature",
    }
    assert better == named

    distinctiveness = table["distinctiveness"]
    worse_than_nothing = {
        column for column, area in worthless.items() if distinctiveness[column] > area
    }
    assert worse_than_nothing == {"census_window", "census_sgm", "sad_sgm", "ncc_sgm"}


@pytest.mark.slow
def test_absolute_differences_fail_where_exposures_differ(data):
    script = yaml.safe_load((ROOT / "configs" / "confidence" / "measures.yaml").read_text())
    methods = {name: script["methods"][name] for name in ("sad_window", "sad_sgm")}
    shares = []
    for scene in ("Adirondack", "ArtL"):
        content = {"methods": methods, "evaluation": script["evaluation"]}
        results = run(content, scenes=f"middlebury-v3/trainingQ/{scene}", data=data, maps=False)
        shares += [result.statistics["bad_pixels_all"] for result in results]
    sentence = "with absolute differences N and N % of the pixels of Adirondack and N and N % of those of ArtL are wrong (`sad_window`, `sad_sgm`)."
    assert_printed("docs/confidence.md", sentence, *shares)


def mean_of_bad_pixels(script, data, *overrides):
    """Return the percentage of non-occluded bad pixels in the mean of Middlebury v2."""
    scenes = [f"middlebury-v2/{scene}" for scene in SCENES]
    results = run(script, scenes=scenes, data=data, maps=False, overrides=overrides)
    return statistics.mean(result.statistics["bad_pixels_nonocc"] for result in results)


@pytest.mark.slow
def test_gradients_of_the_cost_filter_are_compared_with_the_program_of_its_authors(data):
    page = "docs/methods/cost_filter.md"
    sentence = "(above 1 pixel), with the mean of the channels N %."
    mean_of_channels = mean_of_bad_pixels("cost_filter", data, "matching_cost.grey_conversion=mean")
    assert_printed(page, sentence, mean_of_channels)
    sentence = "The script has N % non-occluded bad pixels"
    assert_printed(page, sentence, mean_of_bad_pixels("cost_filter", data))

    # A gradient of twice the size is cut at half the size and has twice the weight.
    weight = 0.11
    gradient_weight = 2 * 0.89
    alpha = gradient_weight / (weight + gradient_weight)
    overrides = [f"matching_cost.alpha={alpha}", "matching_cost.gradient_truncation=1"]
    not_halved = mean_of_bad_pixels("cost_filter", data, *overrides)
    assert_printed(page, "With gradients that are not halved the script has N %.", not_halved)


@pytest.mark.slow
def test_the_median_filter_before_the_tree_is_compared(data):
    script = {
        "matching_cost": {"use": "gradient_difference", "alpha": 0.89},
        "aggregation": ["minimum_spanning_tree"],
        "optimization": "winner_take_all",
    }
    smooth = mean_of_bad_pixels(script, data, "aggregation.minimum_spanning_tree.median_size=3")
    assert_printed(
        "docs/methods/README.md",
        "with the paper's sigma, N, the tree has N % non-occluded bad pixels with the filter "
        "and N % without it",
        25.5,
        smooth,
        mean_of_bad_pixels(script, data),
    )


PUBLISHED_ERRORS = {
    "`box` with `size: 7`": (9.98, 7.80),
    "`guided_filter`": (5.77, 5.38),
    "`segment_tree`": (7.02, 5.74),
}
"""Percentages of bad pixels of the authors' maps, with one size and with several sizes."""


@pytest.mark.slow
def test_cross_scale_aggregation_gains_as_much_as_the_maps_of_its_authors(data):
    scenes = [f"middlebury-v2/{scene}" for scene in SCENES]
    scenes += [f"middlebury2005/{scene}" for scene in ("Art", "Moebius")]
    scenes += [f"middlebury2006/{scene}" for scene in ("Aloe", "Baby1")]
    # The program does not halve gradients. For halved gradients g, its cost
    # 0.11 min(c, 7) + 0.89 min(2 g, 2) is 1.89 times this cost.
    cost = {"alpha": 1.78 / 1.89, "truncation": 7, "gradient_truncation": 1}
    filters = {
        "`box` with `size: 7`": {"use": "box", "size": 7},
        "`guided_filter`": {"use": "guided_filter"},
        "`segment_tree`": {"use": "segment_tree"},
    }
    for name, inner in filters.items():
        errors = []
        for aggregation in (inner, {"use": "cross_scale", "inner": inner}):
            script = {
                "matching_cost": {"use": "gradient_difference", **cost},
                "aggregation": [aggregation],
                "optimization": "winner_take_all",
                "search": {"minimum": 1},
            }
            results = run(script, scenes=scenes, data=data, maps=False)
            errors.append(statistics.mean(r.statistics["bad_pixels_nonocc"] for r in results))
        single_size, several_sizes = errors
        published_single_size, published_several_sizes = PUBLISHED_ERRORS[name]
        gain = single_size - several_sizes
        published_gain = published_single_size - published_several_sizes
        assert abs(gain - published_gain) <= 0.3
        assert_printed(
            "docs/notes/programs.md",
            f"| {name} | N | N | N | N |",
            single_size,
            several_sizes,
            published_single_size,
            published_several_sizes,
        )


@pytest.mark.slow
def test_the_segment_tree_is_compared_with_the_spanning_tree_of_the_smoothed_image(data):
    page = "docs/methods/README.md"
    script = {
        "matching_cost": {"use": "gradient_difference", "alpha": 0.89},
        "optimization": "winner_take_all",
    }
    segments = script | {"aggregation": ["segment_tree"]}
    spanning = script | {"aggregation": [{"use": "minimum_spanning_tree", "median_size": 3}]}
    assert_printed(
        page,
        "the segment tree has N % non-occluded bad pixels and the minimum spanning tree of the "
        "smoothed image has N %",
        mean_of_bad_pixels(segments, data),
        mean_of_bad_pixels(spanning, data),
    )

    refinement = {"refinement": [{"use": "median", "size": 7}]}
    assert_printed(
        page,
        "as the program does, the segment tree has N % and the minimum spanning tree has N %",
        mean_of_bad_pixels(segments | refinement, data),
        mean_of_bad_pixels(spanning | refinement, data),
    )


# --- departures -------------------------------------------------------------------------------------------------------

HEADING = "## Departures from the papers"
DEPARTURE = re.compile(
    r"Departures:|\bours\b(?!, unpublished)|\b[Hh]ere\b|is followed|[Tt]he paper's (?:threshold|normalization)"
)
"""Words with which the notes of a stage state a departure from its source."""
SCRIPT_OF_PAGE = {
    "belief_propagation": "bp",
    "graph_cut_occlusion": "gco",
    "maximum_likelihood_matching": "cox",
    "normalized_cross_correlation": None,
    "stable_matching": "csm",
    "stratified_matching": "stratified",
    "trw_s": None,
}
"""The script whose stages a page describes, if its name is not that of the page."""
PAGES = sorted(path.stem for path in METHODS.glob("*.md") if path.stem != "README")


def departing_stages():
    """Return the names of our stages whose notes state a departure from a paper."""
    names = set()
    for stage in stages():
        _, _, notes = (inspect.getdoc(stage.function) or "").partition("Notes\n-----\n")
        if stage.function.__module__.startswith("stereo_framework.") and DEPARTURE.search(notes):
            names.add(stage.name)
    return names


def stages_of_page(page):
    """Return the names of the stages that a method's page describes."""
    script = SCRIPT_OF_PAGE.get(page, page)
    if script is None:
        return {page}
    return {bound.stage.name for _, bound in load(script).only.pipeline.stages()}


def listed_departures(page):
    """Return the names of the stages with an entry under a page's heading of departures."""
    parts = (METHODS / f"{page}.md").read_text().split(f"\n{HEADING}\n")
    assert len(parts) == 2, f"{page}: expected one heading of departures"
    section = parts[1].split("\n## ")[0]
    entries = re.findall(r"^- ((?:`\w+`(?:, )?)+):", section, re.MULTILINE)
    return {name for entry in entries for name in re.findall(r"\w+", entry)}


@pytest.mark.parametrize("page", PAGES)
def test_the_page_of_a_method_lists_the_departures_of_its_stages(page):
    used = stages_of_page(page)
    listed = listed_departures(page)
    assert used & departing_stages() <= listed
    assert listed <= used | {"stable_matching"}


def test_departures_of_stages_without_a_page_stand_in_the_index():
    on_pages = {name for page in PAGES for name in stages_of_page(page)}
    listed = listed_departures("README")
    # These stages are ours: no paper describes them.
    own_stages = {
        "plane_paths",
        "border_fill",
        "plane_smooth",
        "row_alignment",
        "radiometric_field",
    }
    assert departing_stages() - on_pages - own_stages <= listed
    assert not listed & on_pages


@pytest.mark.parametrize(
    ("page", "departure"),
    [
        ("docs/methods/sgm.md", "the script has 8 paths, where the paper recommends 16"),
        (
            "docs/methods/sgm.md",
            "`p2` of the script is constant, while the paper's falls with the difference of intensities",
        ),
        ("docs/methods/ad_census.md", "an arm may have no pixel at all where colours differ"),
        (
            "docs/methods/ad_census.md",
            "the images are not smoothed by a median before arms are measured",
        ),
        (
            "docs/methods/cost_filter.md",
            "they were not compared with the parameters that the paper prints",
        ),
        (
            "docs/methods/README.md",
            "the program smooths it by a median filter of 3x3 pixels before the tree is built",
        ),
        (
            "docs/methods/README.md",
            "take the place of the measurement model of Scharstein & Szeliski 1998",
        ),
    ],
)
def test_departures_that_only_the_code_showed_stand_on_their_page(page, departure):
    assert text_of(page).count(departure) == 1


def test_values_that_the_pages_print_are_those_of_the_scripts():
    penalties = load("sgm").only.pipeline
    settings = {bound.stage.name: bound.parameters for _, bound in penalties.stages()}
    assert settings["semi_global"]["paths"] == 8
    assert settings["semi_global"].get("penalties", "constant") == "constant"
    costs = {
        bound.stage.name: bound.parameters
        for _, bound in load("cost_filter").only.pipeline.stages()
    }
    gradient = costs["gradient_difference"]
    assert_printed(
        "docs/methods/cost_filter.md",
        "`gradient_difference` truncates colours at N and gradients at N grey levels and gives the latter a share of N.",
        gradient["truncation"],
        gradient["gradient_truncation"],
        gradient["alpha"],
    )


# --- more than two images ------------------------------------------------------------

MORE_IMAGES = "docs/howto/more_images.md"
WINDOW = {"aggregation": [{"use": "box", "size": 5}], "optimization": "winner_take_all"}
PATHS = {"optimization": "semi_global", "refinement": ["parabola"]}
SMALL_PENALTIES = {**PATHS, "optimization": {"use": "semi_global", "p1": 5, "p2": 30}}


def bad_pixels(data, scene, cost, stages, region="all"):
    """Return the percentage of bad pixels of a method on a scene of Middlebury 2001."""
    script = {"matching_cost": cost, **stages}
    [result] = run(script, scenes=f"middlebury2001/{scene}", data=data, maps=False)
    return result.statistics[f"bad_pixels_{region}"]


@pytest.mark.slow
def test_nine_images_have_few_bad_pixels(data):
    cost = {"use": "multi_baseline", "max_cost": 20}
    assert bad_pixels(data, "venus", cost, WINDOW) <= 16.7
    assert bad_pixels(data, "sawtooth", cost, WINDOW) <= 6.2


@pytest.mark.slow
def test_errors_of_two_images_and_of_census_costs_are_printed(data):
    sentence = (
        "`absolute_difference` has N % of all pixels of *venus* and N % of all pixels of "
        "*sawtooth* wrong."
    )
    scenes = ("venus", "sawtooth")
    two = [bad_pixels(data, scene, "absolute_difference", WINDOW) for scene in scenes]
    assert_printed(MORE_IMAGES, sentence, *two)
    census_cost = {"use": "multi_baseline", "inner": "census"}
    census = [bad_pixels(data, scene, census_cost, WINDOW) for scene in scenes]
    sentence = (
        "the same script has N % of all pixels of *venus* and N % of all pixels of "
        "*sawtooth* wrong."
    )
    assert_printed(MORE_IMAGES, sentence, *census)


@pytest.mark.slow
def test_errors_of_semi_global_matching_with_nine_images_are_printed(data):
    nine_images = {"use": "multi_baseline", "max_cost": 20}
    truncated = {"use": "absolute_difference", "truncation": 20}
    costs = (nine_images, "absolute_difference", truncated)
    nine, two, two_truncated = [
        bad_pixels(data, "sawtooth", cost, PATHS, "discont") for cost in costs
    ]
    sentence = "N % (`bad_pixels_discont`) instead of N % with two images."
    assert_printed(MORE_IMAGES, sentence, nine, two)
    sentence = (
        "With two images and costs that are truncated at 20, N % of the pixels at these "
        "discontinuities are wrong."
    )
    assert_printed(MORE_IMAGES, sentence, two_truncated)
    assert_printed(
        MORE_IMAGES,
        "With two images, `absolute_difference` and these penalties, N % of all pixels of *venus* "
        "and N % of all pixels of *sawtooth* are wrong.",
        bad_pixels(data, "venus", "absolute_difference", SMALL_PENALTIES),
        bad_pixels(data, "sawtooth", "absolute_difference", SMALL_PENALTIES),
    )


@pytest.mark.slow
def test_errors_of_the_better_half_of_the_images_are_printed(data):
    errors = {}
    for truncation in (20, None):
        for selection in ("all", "best_half"):
            cost = {"use": "multi_baseline", "max_cost": truncation, "selection": selection}
            cells = []
            for scene in ("venus", "sawtooth", "tsukuba"):
                percentages = [
                    bad_pixels(data, scene, cost, WINDOW, region) for region in ("all", "occ")
                ]
                errors[truncation, selection, scene] = percentages
                cells.append(" / ".join(f"{percentage:.1f}" for percentage in percentages))
            first_cell = f"{truncation or 'none'}, `{selection}`"
            assert table_rows(MORE_IMAGES, first_cell) == [[first_cell, *cells]]

    worse_scenes = []
    for truncation, selection, scene in errors:
        if selection == "all":
            all_images = errors[truncation, "all", scene]
            best_half = errors[truncation, "best_half", scene]
            assert best_half[1] < all_images[1]
            if best_half[0] > all_images[0]:
                worse_scenes.append((truncation, scene))
    sentence = "`best_half` is worse in four of the six comparisons"
    assert sentence in text_of(MORE_IMAGES)
    assert worse_scenes == [(20, "venus"), (20, "sawtooth"), (20, "tsukuba"), (None, "venus")]
