"""Figures on the front pages agree with stored counts, and no figure is without a check."""

import re
import tomllib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import failing_photographs
import page_tables
import photographs_page
import pytest
import record_pages
import yaml
from counts import FOLDER, QUIET_LOAD, read_counts, refuse_busy_machine
from scipy.stats import binomtest

from stereo_framework.evaluation.protocols import resolve
from stereo_framework.optimization._stopping import PERIOD
from stereo_framework.page.page import Statement
from stereo_framework.papers.paper import Outcome
from stereo_framework.papers.sign_tests import POWER
from stereo_framework.script import load
from stereo_framework.tables.paired_tests import FEWEST_SCENES_OF_DECISION, LEVEL
from stereo_framework.tables.tables import Table

ROOT = Path(__file__).parents[1]
PAGES = ("README.md", "docs/why.md", "docs/results.md", "docs/photographs.md")
OTHER_PAGES = ("docs/start.md", "docs/truth_free.md", "stereo_framework/cli/choose.py")
"""Pages with single claims of this file, whose other figures are not searched for."""

FRACTIONS = (
    "half", "third", "thirds", "quarter", "quarters", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth", "hundredth",
)  # fmt: skip
CARDINALS = (
    "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve", "thirteen", "fourteen",
    "fifteen", "sixteen", "twenty", "thirty", "fifty", "hundred", "hundreds", "thousand", "dozen", "twice",
)  # fmt: skip
ORDINALS = ("second", "fourth")
NOUNS_OF_ONE = "pixel|scene|cycle|thread|run|seed|core|minute|hour"
NUMBER = re.compile(
    rf"\b(?:\d+(?:[.,]\d+)*|{'|'.join((*FRACTIONS, *CARDINALS, *ORDINALS))}|one(?= (?:{NOUNS_OF_ONE})\b))\b",
    re.IGNORECASE,
)
"""Figures and words for numbers; "one" is a number only before a unit."""


@dataclass(frozen=True)
class Claim:
    """A sentence of a page, whose groups are figures, and the function that computes them."""

    page: str
    sentence: str
    figures: Callable[[], Sequence[str]]


@dataclass(frozen=True)
class PlainNumber:
    """A number that no run could change, with the reason why it needs no check."""

    page: str
    words: str
    reason: str


# --- Values from counts -------------------------------------------------------------------

PHOTOGRAPHS = "middlebury-v3/trainingQ/"
LARGE_PHOTOGRAPH = 600
"""Number of columns that all photographs but ArtL exceed."""


def scenes_of(table: str, start: str) -> dict[str, dict[str, float]]:
    """Return sizes, levels and offsets of rows of a table's scenes."""
    scenes = page_tables.entry("scenes", table)["scenes"]
    return {name: facts for name, facts in scenes.items() if name.startswith(start)}


def fraction_of_time(method: str, other: str) -> str:
    """Return the ratio of two methods' seconds on photographs as a word, such as "seventh"."""
    seconds = page_tables.seconds_of("photographs")
    denominator = round(seconds[other] / seconds[method])
    return {5: "fifth", 6: "sixth", 7: "seventh", 8: "eighth", 9: "ninth", 10: "tenth"}[denominator]


def photograph_sizes() -> Sequence[str]:
    """Return the sizes of the ten photographs and their numbers of levels."""
    scenes = scenes_of("photographs", PHOTOGRAPHS)
    large = [size for size in scenes.values() if size["columns"] > LARGE_PHOTOGRAPH]
    [small] = [name for name, size in scenes.items() if size["columns"] <= LARGE_PHOTOGRAPH]
    columns = [size["columns"] for size in large]
    rows = [size["rows"] for size in large]
    levels = [size["levels"] for size in scenes.values()]
    ends = [min(columns), max(columns), min(rows), max(rows)]
    return [
        word_of(len(scenes)).capitalize(),
        word_of(len(large)),
        *(str(end) for end in ends),
        small.rpartition("/")[2],
        f"{scenes[small]['columns']}x{scenes[small]['rows']}",
        str(min(levels)),
        str(max(levels)),
    ]


def road_sizes() -> Sequence[str]:
    """Return the number of roads, their size and levels, and the largest offset of rows."""
    roads = scenes_of("roads", "kitti2015/")
    [size] = {(facts["columns"], facts["rows"], facts["levels"]) for facts in roads.values()}
    offset = max(facts["row_offset"] for facts in roads.values())
    return [word_of(len(roads)).capitalize(), f"{size[0]}x{size[1]}", str(size[2]), f"{offset:.1f}"]


def size_of_piano() -> str:
    size = scenes_of("photographs", PHOTOGRAPHS)[f"{PHOTOGRAPHS}Piano"]
    return f"{size['columns']}x{size['rows']}"


def thresholds_of(table: str) -> Callable[[], Sequence[str]]:
    """Return a function that returns the thresholds in pixels of a table's columns."""
    headings = [column.heading for column in page_tables.RESULT_TABLES[table]]
    return lambda: re.findall(r"([\d.]+) px", " ".join(headings))


def percentages_of_benchmark() -> Sequence[str]:
    """Return how many percentages the mean of Middlebury's second evaluation has."""
    scenes = scripted_scenes("comparison/middlebury_v2.yaml")
    [column] = page_tables.RESULT_TABLES["middlebury_v2"]
    return [word_of(len(scenes) * len(column.statistics))]


def scripted_scenes(script: str) -> list[str]:
    scenes: list[str] = yaml.safe_load((ROOT / "configs" / script).read_text())["scenes"]
    return scenes


def windows_of_pandora() -> Sequence[str]:
    """Return the size of census windows in benchmarks/pandora_sgm.py."""
    text = (ROOT / "benchmarks" / "pandora_sgm.py").read_text()
    [size] = re.findall(r'"matching_cost_method": "census", "window_size": (\d+)', text)
    return [f"{size}x{size}"]


def speed_of_opencv() -> Sequence[str]:
    """Return "a tenth" if both modes of StereoSGBM take less than that share of fine's time."""
    slowest = max(page_tables.peer_time(method)["seconds"] for method in ("hh", "sgbm"))
    ratio = slowest / page_tables.peer_time("fine")["seconds"]
    return ["a tenth" if ratio < 0.1 else f"{ratio:.2f}"]


def fewer_errors_than_peers() -> Sequence[str]:
    """Return "fewer errors" if fine and fast are before OpenCV and Pandora on both sets."""
    for kind, threshold in (("C", 1.0), ("roads", 3.0)):
        ours = [page_tables.peer_error(method, kind, threshold) for method in ("fine", "fast")]
        peers = [
            page_tables.peer_error(method, kind, threshold) for method in ("hh", "sgbm", "pandora")
        ]
        if max(ours) >= min(peers):
            return ["more errors"]
    return ["fewer errors"]


# --- Values of the study of photographs, from its tables and scripts ---------------------------


def photographs_text() -> str:
    return (ROOT / "docs" / "photographs.md").read_text(encoding="utf-8")


def study_cells(table: str) -> dict[str, dict[str, str]]:
    """Return the cells of a table of docs/photographs.md by method and column."""
    lines = [
        line
        for line in page_tables.block(photographs_text(), table).splitlines()
        if line.startswith("| ")
    ]
    header, _, *rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    return {row[0].removesuffix("\\*"): dict(zip(header, row, strict=True)) for row in rows}


def study_scenes() -> dict[str, int]:
    """Return how many scenes of each data set the study has."""
    scenes = yaml.safe_load((ROOT / "configs/photographs/scenes.yaml").read_text())["scenes"]
    folders = [scene.partition("/")[0] for scene in scenes]
    return {folder: folders.count(folder) for folder in dict.fromkeys(folders)}


def study_groups() -> Sequence[str]:
    groups = study_scenes()
    return [word_of(groups[folder]) for folder in ("middlebury-v3", "kitti2015", "middlebury-v2")]


def least_passing(scenes: int) -> int:
    """Return on how many scenes a method must have fewer errors to pass the sign test."""
    return next(n for n in range(scenes) if 2 * n > scenes and binomtest(n, scenes).pvalue < LEVEL)


def sign_tests() -> Sequence[str]:
    """Return the level of the sign test and how many scenes pass it."""
    groups = study_scenes()
    photographs = groups["middlebury-v3"]
    roads = groups["kitti2015"]
    passing_roads = next(
        n for n in range(roads + 1) if 2 * n > roads and binomtest(n, roads).pvalue < LEVEL
    )
    percent = f"{100 * LEVEL:g}"
    return [
        percent,
        word_of(least_passing(photographs)),
        word_of(photographs),
        word_of(passing_roads),
        word_of(roads),
    ]


def undecided_roads() -> Sequence[str]:
    roads = study_scenes()["kitti2015"]
    return [word_of(roads - 1), word_of(roads), f"{binomtest(roads - 1, roads).pvalue:.2f}"]


def thresholds_of_study() -> Sequence[str]:
    """Return the thresholds of photographs and of roads."""
    groups = failing_photographs.study.GROUPS
    return [str(groups[name].threshold) for name in ("photographs", "roads")]


def sentences_of_study() -> Sequence[str]:
    return [str(len(failing_photographs.PAPER.claims))]


def percentage_of_level() -> Sequence[str]:
    return [f"{100 * LEVEL:g}"]


def parameters_of(script: str, method: str) -> dict[str, object]:
    """Return the parameters of a method of the study, by stage and name."""
    setting = next(
        setting for setting in load(f"photographs/{script}").settings if setting.method == method
    )
    return parameters_of_setting(setting)


def parameters_of_setting(setting: object) -> dict[str, object]:
    parameters = {}
    for _, step in setting.pipeline.addressed_steps():
        for name, value in step.parameters.items():
            parameters[f"{step.stage.name}.{name}"] = value
    return parameters


def fixed_parameters() -> Sequence[str]:
    """Return the fixed parameters of the study that its page names."""
    size = parameters_of("aggregation", "support_weights")["support_weights.size"]
    study = parameters_of("aggregation", "cross_based")["cross_based.views"]
    built_in = parameters_of_setting(load("ad_census").only)["cross_based.views"]
    assert study == built_in
    words = {"both": "both views", "reference": "the reference view"}
    return [f"{size:g}", f"{size:g}", words[study]]


def stopping_rule() -> Sequence[str]:
    """Return the percentage and the iterations at which the study's optimizers stop."""
    stages = {
        "expansion": "graph_cut",
        "trw_s": "trw_s",
        "belief_propagation": "belief_propagation",
        "icm": "icm",
    }
    rules = set()
    for method, stage in stages.items():
        parameters = parameters_of("optimizers", method)
        rules.add((parameters[f"{stage}.min_decrease"], parameters[f"{stage}.iterations"]))
    [(share, iterations)] = rules
    return [word_of(PERIOD), word_of(1), f"{100 * share:g}", f"{iterations:g}"]


def threshold_of_kitti() -> Sequence[str]:
    return [f"{resolve('kitti2012').thresholds[0]:g}"]


# --- Words ------------------------------------------------------------------------------------


def word_of(number: int) -> str:
    """Return the word of a number up to twelve."""
    return ("zero", "one", *CARDINALS)[number]


def recorded_sentences(page: str) -> list[str]:
    """Return the words of a page that are recorded in docs/counts/sentences.json."""
    return [
        entry["words"] for entry in read_counts("sentences")["sentences"] if entry["page"] == page
    ]


def choices(*names: str) -> Callable[[], Sequence[str]]:
    """Return a function that returns counts of the study of choosing."""
    return lambda: [str(page_tables.entry("method_choice", "choices")[name]) for name in names]


def kept_default_every_time() -> Sequence[str]:
    """Return the number of pairs if the default was chosen on all, and no map called better."""
    counts = page_tables.entry("method_choice", "choices")
    assert counts["pairs_with_the_default_chosen"] == counts["pairs"]
    assert counts["maps_called_better"] == 0
    return [str(counts["pairs"])]


def notebooks() -> Sequence[str]:
    return [word_of(len(list((ROOT / "docs" / "tutorials").glob("*.ipynb")))).capitalize()]


def python_version() -> Sequence[str]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    return [project["requires-python"].removeprefix(">=")]


def benchmarked_sets() -> Sequence[str]:
    """Return how many photographs and roads the benchmark of quality has."""
    text = (ROOT / "benchmarks" / "quality.py").read_text()
    [photographs] = re.findall(r"_PHOTOGRAPHS = \(([^)]*)\)", text)
    [roads] = re.findall(r'"roads": \[\s*f"kitti2015/000\{n\}_10" for n in \(([^)]*)\)', text)
    return [word_of(len(re.findall(r"[^\s,]+", names))) for names in (photographs, roads)]


CLAIMS = (
    Claim("README.md", r"with Python ([\d.]+) or newer", python_version),
    Claim(
        "README.md",
        r'"ten photographs" contains the percentage of non-occluded pixels with an error of '
        r"more than (1) px in (\w+) photographs of Middlebury\. "
        r'The column "eight roads" contains the percentage of all pixels with an error of '
        r"more than (3) px in (\w+) road scenes of KITTI",
        lambda: ["1", benchmarked_sets()[0], "3", benchmarked_sets()[1]],
    ),
    Claim("README.md", r"the photograph Piano, (\w+) pixels", lambda: [size_of_piano()]),
    Claim("README.md", r"(\w+) \[notebooks\]", notebooks),
    Claim(
        "docs/start.md",
        r"In a study of (\d+) pairs, `choose` found no method that was better",
        kept_default_every_time,
    ),
    Claim(
        "docs/start.md",
        r"On photographs, the method `fast` takes a (\w+) of the time of the default method",
        lambda: [fraction_of_time("fast", "fine")],
    ),
    Claim(
        "docs/truth_free.md",
        r"On the (\d+) pairs of \[its study\]\S+ no method was called better",
        kept_default_every_time,
    ),
    Claim(
        "docs/truth_free.md",
        r"maps called worse are worse \| all (\d+); none was called better",
        choices("maps_rightly_called_worse"),
    ),
    Claim(
        "stereo_framework/cli/choose.py",
        r"On the (\d+) pairs of its study the command chose the default every time",
        kept_default_every_time,
    ),
    Claim("docs/why.md", r"takes less than (a \w+) of the time of `fine`", speed_of_opencv),
    Claim("docs/why.md", r"What you get here: (\w+ \w+) than both", fewer_errors_than_peers),
    Claim(
        "docs/why.md",
        r"non-occluded pixels of (\w+) photographs.* of (\w+) roads of KITTI 2015",
        benchmarked_sets,
    ),
    Claim(
        "docs/results.md",
        r"(\w+) photographs of Middlebury v3 trainingQ: (\w+) have (\d+) to (\d+) columns and (\d+) to (\d+) rows, "
        r"(\w+) has (\w+) pixels, and they have (\d+) to (\d+) levels",
        photograph_sizes,
    ),
    Claim(
        "docs/results.md",
        r"(\w+) pairs of KITTI 2015, (\w+) pixels with (\d+) levels: .* Rows of these pairs are off by up to ([\d.]+) pixels",
        road_sizes,
    ),
    Claim(
        "docs/results.md",
        r"Non-occluded pixels that are off by more than ([\d.]+), ([\d.]+) and ([\d.]+) pixels",
        thresholds_of("photographs"),
    ),
    Claim(
        "docs/results.md",
        r"non-occluded pixels off by more than ([\d.]+), ([\d.]+) and ([\d.]+) pixels",
        thresholds_of("kept"),
    ),
    Claim(
        "docs/results.md",
        r"pixels with truth off by more than ([\d.]+), ([\d.]+), ([\d.]+) and ([\d.]+) pixels",
        thresholds_of("roads"),
    ),
    Claim("docs/results.md", r"mean of (\w+) percentages", percentages_of_benchmark),
    Claim("docs/results.md", r"Pandora 1.9: census of (\w+), eight paths", windows_of_pandora),
    Claim(
        "docs/results.md",
        r"The authors' own maps of AD-census have ([\d.]+)",
        lambda: re.findall(
            r"\| published \| ([\d.]+) \|", (ROOT / "docs/methods/ad_census.md").read_text()
        ),
    ),
    Claim(
        "docs/photographs.md",
        r"on (\w+)\nphotographs of Middlebury's third evaluation, (\w+) road pairs of KITTI 2015, "
        r"the (\w+) scenes of Middlebury's second evaluation",
        study_groups,
    ),
    Claim(
        "docs/photographs.md",
        r"judged at (\d+) pixels, which is the threshold of KITTI",
        threshold_of_kitti,
    ),
    Claim(
        "docs/photographs.md",
        r"off by more than (\d+) pixel of the image as it is matched, "
        r"on roads by more than (\d+) pixels",
        thresholds_of_study,
    ),
    Claim(
        "docs/photographs.md",
        r"on roads the lowest error above (\d+) pixels",
        lambda: thresholds_of_study()[1:],
    ),
    Claim(
        "docs/photographs.md",
        r"that a false sentence is found to hold is at most (\d+) %",
        percentage_of_level,
    ),
    Claim("docs/photographs.md", r"is found not to hold is at most (\d+) %", percentage_of_level),
    Claim(
        "docs/photographs.md",
        r"with fewer than (\w+) scenes decides nothing",
        lambda: [word_of(FEWEST_SCENES_OF_DECISION)],
    ),
    Claim(
        "docs/photographs.md",
        r"significant with a probability of (\d+) %",
        lambda: [f"{100 * POWER:g}"],
    ),
    Claim("docs/photographs.md", r"The page judges (\d+) sentences", sentences_of_study),
    Claim(
        "docs/photographs.md",
        r"half pixels may have at most (\d+) % more error",
        lambda: [f"{100 * failing_photographs.study.ALLOWED_LOSS:g}"],
    ),
    Claim(
        "docs/photographs.md", r"The (\w+) pairs share their cameras", lambda: [study_groups()[1]]
    ),
    Claim("docs/photographs.md", r"ground truth of all (\w+) pairs", lambda: [study_groups()[1]]),
    Claim(
        "docs/photographs.md",
        r"`support_weights` has windows of (\d+)x(\d+) pixels and a grid of `gamma_c`\. "
        r"`cross_based` takes regions from ([\w ]+), as the built-in script `ad_census` does",
        fixed_parameters,
    ),
    Claim(
        "docs/photographs.md",
        r"stop when (\w+) iterations, or (\w+) cycle of `expansion`, lower the energy "
        r"by no more than (\d\.\d) %, and after (\d+) iterations at the latest",
        stopping_rule,
    ),
    Claim(
        "docs/photographs.md",
        r"two-sided sign test at (\d+) %, which (\w+) of (\w+) photographs pass, and (\w+) of (\w+) roads",
        sign_tests,
    ),
    Claim("docs/photographs.md", r"(\w+) of (\w+) roads have p = (\d\.\d+)", undecided_roads),
)

PLAIN_NUMBERS = (
    PlainNumber("README.md", "from two photographs", "the definition of stereo"),
    PlainNumber("README.md", "The second command installs", "the second of two commands"),
    PlainNumber("README.md", "two matching costs with three", "the grid of the first command"),
    PlainNumber("README.md", "an error of more than 1 pixel", "the threshold of the protocol"),
    PlainNumber("README.md", "two photographs", "the definition of stereo"),
    PlainNumber("README.md", "version 3 of Middlebury", "the name of a benchmark"),
    PlainNumber("README.md", "and -16 marks", "the marker that OpenCV documents"),
    PlainNumber("README.md", "on two cores", "the machine of the measurement"),
    PlainNumber(
        "docs/why.md", "are those of one seed", "the command has no other seed in its table"
    ),
    PlainNumber(
        "docs/results.md", "at a quarter of their size", "trainingQ is the data set of that size"
    ),
    PlainNumber("docs/results.md", "above 1 pixel, maps rounded", "the benchmark's threshold"),
    PlainNumber("docs/results.md", "## Middlebury, version 2", "the name of a benchmark"),
    PlainNumber("docs/results.md", "## Middlebury 2005 and 2006", "the names of two data sets"),
    PlainNumber(
        "docs/results.md", "Baby1 in a third of their size", "the data sets' smallest size"
    ),
    PlainNumber("docs/results.md", "the KITTI 2012 kit", "the name of a data set"),
    PlainNumber("docs/photographs.md", "# The questions of 2002", "the year of a paper"),
    PlainNumber(
        "docs/photographs.md",
        "on four small scenes of even light",
        "the scenes of the paper of 2002",
    ),
    PlainNumber("docs/photographs.md", "and those of 2002 beside them", "the year of a paper"),
    PlainNumber("docs/photographs.md", "At 1 pixel they measure", "the threshold beside KITTI's"),
    PlainNumber("docs/photographs.md", 'The column "roads, 1 px"', "the name of a column"),
    PlainNumber("docs/photographs.md", "shows the errors at 1 pixel", "the same threshold"),
    PlainNumber("docs/photographs.md", "one for each pair of methods", "each pair has one test"),
    PlainNumber(
        "docs/photographs.md", "The two probabilities are those for one sentence", "both rates"
    ),
    PlainNumber("docs/photographs.md", "two sets of pixels", "the list that follows"),
    PlainNumber("docs/photographs.md", "the protocol of 2002", "the year of a paper"),
    PlainNumber("docs/photographs.md", "off by no more than 1 pixel", "the definition of the set"),
    PlainNumber(
        "docs/photographs.md", "more error than quarter pixels", "the names of two settings"
    ),
    PlainNumber("docs/photographs.md", "half pixels may have", "the names of two settings"),
    PlainNumber("docs/photographs.md", "a few tenths of a pixel", "an order of magnitude"),
    PlainNumber(
        "docs/photographs.md",
        "are not eight independent cases",
        "the pairs that the sentence counts before",
    ),
    PlainNumber(
        "docs/photographs.md", "are those of 2002, with their section", "the year of a paper"
    ),
    *(
        PlainNumber("docs/photographs.md", f"## {number}. ", "the number of a section")
        for number in range(1, 7)
    ),
    PlainNumber(
        "docs/photographs.md", "All steps of two methods", "the methods sgm and fine of the table"
    ),
)


def searched_text(page: str) -> str:
    """Return a page with blanks for generated blocks, code, link targets and the papers.

    Positions stay as they are. The figures of README's section on papers are those of
    docs/papers.md, which other tests compare with counts.
    """
    text = (ROOT / page).read_text(encoding="utf-8")
    excluded = [
        r"<!-- (\w+) -->\n.*?\n<!-- end -->",
        r"^```.*?^```",
        r"`[^`\n]*`",
        r"\]\([^)\n]*\)",
        r"^## Reproduce a paper\n.*?(?=^## )",
    ]
    for expression in excluded:
        text = re.sub(
            expression, lambda match: " " * len(match[0]), text, flags=re.DOTALL | re.MULTILINE
        )
    return text


def covered_spans(page: str) -> list[tuple[int, int]]:
    """Return the parts of a page that claims, recorded sentences and plain numbers cover."""
    text = (ROOT / page).read_text(encoding="utf-8")
    expressions = [claim.sentence for claim in CLAIMS if claim.page == page]
    expressions += [re.escape(words) for words in recorded_sentences(page)]
    expressions += [re.escape(number.words) for number in PLAIN_NUMBERS if number.page == page]
    return [match.span() for expression in expressions for match in re.finditer(expression, text)]


def unchecked_numbers(page: str) -> list[str]:
    """Return the numbers of a page that nothing covers, with the words around them."""
    spans = covered_spans(page)
    text = searched_text(page)
    numbers = []
    for match in NUMBER.finditer(text):
        if not any(start <= match.start() and match.end() <= end for start, end in spans):
            numbers.append(" ".join(text[max(0, match.start() - 30) : match.end() + 30].split()))
    return numbers


@pytest.mark.parametrize("page", PAGES)
def test_every_number_of_a_front_page_is_a_checked_claim_or_has_a_reason(page):
    assert unchecked_numbers(page) == []


def test_a_new_number_on_a_page_needs_a_claim(monkeypatch, tmp_path):
    for page in PAGES:
        path = tmp_path / page
        path.parent.mkdir(parents=True, exist_ok=True)
        text = (ROOT / page).read_text(encoding="utf-8")
        path.write_text(
            text.replace("\n\n", "\n\nIt is four times as fast, in 98.7 % of the runs.\n\n", 1),
            encoding="utf-8",
        )
    monkeypatch.setitem(globals(), "ROOT", tmp_path)
    assert [len(unchecked_numbers(page)) for page in PAGES] == [2] * len(PAGES)


@pytest.mark.parametrize(
    "number", PLAIN_NUMBERS, ids=lambda number: f"{number.page}: {number.words[:40]}"
)
def test_every_number_without_a_check_stands_on_its_page(number):
    assert number.words in (ROOT / number.page).read_text(encoding="utf-8")
    assert number.reason


def test_every_recorded_sentence_stands_on_its_page():
    for entry in read_counts("sentences")["sentences"]:
        assert entry["words"] in (ROOT / entry["page"]).read_text(encoding="utf-8")


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: f"{claim.page}: {claim.sentence[:40]}")
def test_figures_of_sentences_equal_the_counts(claim):
    matches = list(re.finditer(claim.sentence, (ROOT / claim.page).read_text(encoding="utf-8")))
    assert len(matches) == 1
    assert list(matches[0].groups()) == list(claim.figures())


@pytest.mark.parametrize(("page", "name"), page_tables.generated_blocks(), ids="-".join)
def test_tables_and_sentences_are_generated_from_counts(page, name):
    shown = page_tables.block((ROOT / page).read_text(encoding="utf-8"), name)
    assert shown == page_tables.generated_blocks()[page, name]


def test_every_shipped_method_is_in_the_table_of_photographs_or_named_below_it():
    text = (ROOT / "docs/results.md").read_text(encoding="utf-8")
    [sentence] = re.findall(r"Not measured for their time: .*", text)
    named = set(re.findall(r"`(\w+)`", sentence))
    built_in = {path.stem for path in (ROOT / "configs" / "methods").glob("*.yaml")} - {
        "initial_map"
    }
    assert named == built_in - set(page_tables.result_values("photographs"))


def test_tables_of_two_benchmarks_have_the_same_errors_on_photographs():
    """benchmarks/quality.py and scripts/method_tables.py measure by different code."""
    for method in ("fine", "fast", "sgm", "sgbm", "pandora"):
        error = page_tables.result_values("photographs")[method][0]
        assert f"{page_tables.peer_error(method, 'C', 1.0):.1f}" == f"{error:.1f}"


def test_errors_of_single_photographs_decide_a_sentence_about_all(monkeypatch):
    def errors(fast_on_pipes):
        values = {
            scene: dict.fromkeys(("bad4_nonocc", "bad2_nonocc", "bad8_nonocc"), 1.0)
            for scene in ("Piano", "Pipes")
        }
        scenes = {f"{PHOTOGRAPHS}{scene}": statistics for scene, statistics in values.items()}
        scaled = {"fine": 1, "fast": 2, "sgm": 3, "sgbm": 4, "ad_census": 5, "cost_filter": 6}
        methods = {
            method: {
                scene: {name: scale * value for name, value in statistics.items()}
                for scene, statistics in scenes.items()
            }
            for method, scale in scaled.items()
        }
        methods["fast"][f"{PHOTOGRAPHS}Pipes"]["bad8_nonocc"] = fast_on_pipes
        methods["sgbm"][f"{PHOTOGRAPHS}Pipes"]["bad4_nonocc"] = 2.5
        return methods

    original = page_tables.entry

    def entry_with(methods):
        return lambda name, table: (
            {"errors": methods}
            if (name, table) == ("results", "photographs")
            else original(name, table)
        )

    monkeypatch.setattr(
        page_tables, "seconds_of", lambda name: {"fine": 4.0, "fast": 0.6, "sgm": 0.2, "sgbm": 0.1}
    )
    monkeypatch.setattr(page_tables, "entry", entry_with(errors(fast_on_pipes=2.0)))
    leaders, quick, _ = page_tables.order_sentences().splitlines()
    assert leaders.startswith(
        "- On every photograph, for each threshold, `fine` has the fewest errors"
    )
    assert (
        "`sgm` has the fewest errors above 1 pixel on Piano; `sgbm` has the fewest errors above 1 pixel on Pipes."
        in quick
    )
    monkeypatch.setattr(page_tables, "entry", entry_with(errors(fast_on_pipes=0.5)))
    assert page_tables.order_sentences().startswith(
        "- In 5 of 6 pairs of photograph and threshold `fine`"
    )


@pytest.mark.parametrize("name", sorted(path.stem for path in FOLDER.glob("*.json")))
def test_every_file_of_counts_names_its_command_and_commit(name):
    counts = read_counts(name)
    for stored in (counts, *counts.get("entries", {}).values()):
        assert stored["command"].startswith(("python ", "stereo-framework "))
        assert not re.search(r"(?<=\s)/", stored["command"])
        assert re.fullmatch(r"[0-9a-f]{40}\+?", stored["commit"])


@pytest.mark.parametrize(
    "name", ["quality", "quality_times", "results", "results_times", "scenes", "method_choice"]
)
def test_entries_have_the_load_of_the_machine_or_are_marked_as_recorded(name):
    for stored in read_counts(name)["entries"].values():
        if "recorded" in stored:
            assert "not measured again" in stored["recorded"]
        else:
            load = stored["machine"]["load_average_at_start"][0]
            assert load <= QUIET_LOAD or not name.endswith("_times")


def test_times_of_a_busy_machine_are_refused():
    with pytest.raises(
        SystemExit, match=r"^--times: the load average of the last minute is 2\.00; .*at most 0\.3;"
    ):
        refuse_busy_machine({"load_average_at_start": [2.0, 0.1, 0.1]})
    refuse_busy_machine({"load_average_at_start": [QUIET_LOAD, 3.0, 3.0]})


def test_an_entry_that_a_run_has_written_is_not_replaced_by_a_page(monkeypatch, tmp_path):
    monkeypatch.setattr(record_pages, "FOLDER", tmp_path)
    measured = {"entries": {"fine": {"command": "python measured.py"}}}
    replaced = []
    monkeypatch.setattr(record_pages, "read_counts", lambda name: measured)
    monkeypatch.setattr(
        record_pages, "add_counts", lambda name, command, entry, content: replaced.append(entry)
    )
    monkeypatch.setattr(record_pages, "oldest_commit", lambda page, value: "0" * 40)
    monkeypatch.setattr(
        record_pages, "_git", lambda *words: (ROOT / "docs/why.md").read_text(encoding="utf-8")
    )
    (tmp_path / "quality_times.json").write_text("{}")
    record_pages.record("quality_times", "docs/why.md", record_pages.peer_times)
    assert set(replaced) == set(page_tables.PEERS) - {"fine"}


# --- The study of photographs -----------------------------------------------------------------


def test_the_sentence_about_grids_is_generated_from_tables_and_scripts():
    text = photographs_text()
    assert page_tables.block(text, "grid_ends") == photographs_page.sentence_of_ends(text)


def settings_page(*rows):
    """Return the page with these rows in the table of the settings of costs."""
    lines = ["| method | photographs | roads | 2002 |", "| --- | --- | --- | --- |", *rows]
    return page_tables.with_block(photographs_text(), "costs_settings", "\n".join(lines))


def test_a_setting_at_the_end_of_its_grid_is_named():
    inside = settings_page("| ad_census_paths | p1 0.8, p2 3.2 (10) | p1 0.8, p2 3.2 (8) | - |")
    assert "ad_census_paths" not in photographs_page.sentence_of_ends(inside)
    at_the_end = settings_page("| ad_census_paths | p1 6.4, p2 25.6 (10) | - | - |")
    sentence = photographs_page.sentence_of_ends(at_the_end)
    assert "`ad_census_paths` (p1 6.4, p2 25.6; photographs" in sentence


def test_ends_of_grids_are_named_for_photographs_and_roads():
    text = settings_page(
        "| census_window | size 31 (6); size 15 (4) | size 31 (8) | size 5 (4) |",
        "| rank_window | size 15 (6); size 31 (4) | size 5 (8) | size 31 (4) |",
        "| ad_field_window\\* | - | size 9 (8) | - |",
    )
    sentence = photographs_page.sentence_of_ends(text)
    assert "`census_window` (size 31; photographs and roads)" in sentence
    assert "`rank_window` (size 5; roads)" in sentence
    assert "ad_field" not in sentence


def test_values_that_are_no_numbers_and_single_values_have_no_ends(monkeypatch):
    grid = {"aggregation.box.size": [5.0, 9.0], "aggregation.box.weight": [3.0]}
    setting = "views both, size 5, weight 3"
    [end] = photographs_page._ends_of_method("m", "roads", setting, grid)
    assert (end.parameters, end.is_largest) == ("size 5", False)


@pytest.mark.parametrize(
    ("sides", "sentence"),
    [
        ((), "- No method has its most frequent setting on photographs or roads at an end of its"),
        ((True,), "are not part of the grid. At the largest value: `box` (size 9; roads)."),
        ((False,), "are not part of the grid. At the smallest value: `box` (size 9; roads)."),
    ],
)
def test_the_sentence_about_grids_names_only_ends_that_occur(monkeypatch, sides, sentence):
    ends = [photographs_page.GridEnd("box", "size 9", "roads", is_largest=side) for side in sides]
    monkeypatch.setattr(photographs_page, "grid_ends", lambda text: ends)
    assert sentence in photographs_page.sentence_of_ends("")


def test_two_parameters_of_one_name_are_told_apart():
    grid = {"matching_cost.size": [3.0, 5.0, 9.0], "aggregation.box.size": [5.0, 9.0, 15.0]}
    setting = "matching_cost.size 9, box.size 9"
    [end] = photographs_page._ends_of_method("m", "roads", setting, grid)
    assert end == photographs_page.GridEnd("m", "matching_cost.size 9", "roads", is_largest=True)
    assert photographs_page._ends_of_method("m", "roads", "size 9", grid) == []


def test_a_parameter_that_the_script_no_longer_sweeps_is_at_no_end():
    grid = {"box.size": [5.0, 9.0, 15.0]}
    ends = photographs_page._ends_of_method("box", "roads", "size 9, rate 2", grid)
    assert ends == []


@pytest.mark.parametrize("name", read_counts("photographs_tables")["tables"])
def test_tables_of_the_study_are_those_of_their_commit(name):
    recorded = read_counts("photographs_tables")["tables"][name]
    assert record_pages.digest_of_table(photographs_text(), name) == recorded["sha256"]


def _statement(holds, figures, **more):
    return Statement("“It is so.”", holds, figures, "section 1", **more)


def test_an_answer_shows_every_comparison_that_is_against_it_or_not_decided():
    cases = ["a 1", "a 2", "a 3"]
    figures = "; ".join(["not met: b", *(f"not decided: c {i}" for i in range(4)), *cases])
    notes = (
        "Rule: r.",
        "Earlier rule, replaced after its verdict was known: e; it held. Reason: n.",
    )
    lines = photographs_page.answer(_statement(False, figures, notes=notes)).splitlines()
    assert lines == [
        "- “It is so.” (2002, section 1): **does not hold** (8 comparisons).",
        "  - For it: a 1; a 2; 1 more of the kind.",
        "  - **Against it:** b.",
        *(f"  - **Not decided:** c {i}." for i in range(4)),
        "  - Earlier rule, replaced after its verdict was known: e; it held. Reason: n.",
    ]


def test_an_undecided_sentence_is_not_called_against_it():
    statement = _statement(None, "not decided: c; a", undecided=True)
    lines = photographs_page.answer(statement).splitlines()
    assert lines[0].endswith("**not decided** (2 comparisons).")
    assert lines[1:] == ["  - For it: a.", "  - **Not decided:** c."]


def test_the_tested_part_of_an_answer_is_bold():
    statement = _statement(True, "a", tested_parts=("is so",))
    answer = photographs_page.answer(statement)
    assert (
        answer.splitlines()[0] == "- “It **is so**.” (2002, section 1): **holds** (1 comparison)."
    )


def test_a_run_writes_tables_settings_and_digests(monkeypatch, tmp_path):
    header = ["method", "photographs", "roads", "roads, 1 px"]
    table = Table(header, [["census_paths", 16.8, 9.1, 36.7]], 1)
    settings = Table(
        ["method", "photographs"], [["census_paths", "p1 20, p2 80 (10)"]], 2, "", ["How."]
    )
    fixed = Table(["method", "photographs"], [], 2, "", ["Nothing was chosen."])
    outcomes = {
        "costs": Outcome([table, settings]),
        "methods": Outcome([table, fixed]),
    }
    text = photographs_page.with_outcomes(photographs_text(), outcomes)
    assert "| census_paths | 16.80 | 9.10 | 36.70 |" in page_tables.block(text, "costs")
    block = page_tables.block(text, "costs_settings")
    assert block.startswith("Settings: How.\n\n| method | photographs |")
    assert "| census_paths | p1 20, p2 80 (10) |" in block
    assert page_tables.block(text, "methods_settings") == "Settings: Nothing was chosen."
    recorded = {"commit": "fedcba98" * 5, "sha256": "0" * 64}
    tables = {"costs": recorded, "light": recorded, "aggregation": recorded}
    before = {"recorded": "recorded from the page", "tables": tables}
    content = photographs_page.tables_after_run(text, outcomes, before, "0123456789abcdef")
    digest = record_pages.digest_of_table(text, "costs")
    assert content["tables"]["costs"]["sha256"] == digest
    assert content["tables"]["light"] == before["tables"]["light"]
    # Tables that no run has written keep the note that they were recorded.
    assert content["recorded"] == before["recorded"]
    sentence = photographs_page.sentence_of_runs(content["tables"])
    assert "table `costs`, with its settings and verdicts, was written at commit `01234567`." in (
        sentence
    )
    assert "The tables and verdicts of `light`, `aggregation`" in sentence
    everything = dict.fromkeys(before["tables"], Outcome([table, settings]))
    text = photographs_page.with_outcomes(photographs_text(), everything)
    content = photographs_page.tables_after_run(text, everything, before, "0123456789abcdef")
    assert "recorded" not in content
    assert "earlier rules" not in photographs_page.sentence_of_runs(content["tables"])


def test_the_page_names_the_tables_that_were_measured_with_earlier_rules():
    tables = read_counts("photographs_tables")["tables"]
    sentence = photographs_page.sentence_of_runs(tables)
    assert page_tables.block(photographs_text(), "measured") == sentence


def test_digests_that_a_run_has_written_are_not_recorded_again(monkeypatch):
    written = []
    monkeypatch.setattr(record_pages, "write_counts", lambda *counts: written.append(counts))
    monkeypatch.setattr(record_pages, "read_counts", lambda name: {"tables": {}})
    record_pages.record_tables_of_study()
    assert written == []


def test_marks_of_comparisons_agree_with_their_p_values():
    marked = re.findall(
        r"\*\*(Against it|Not decided|against it|not significant):\*\* "
        r"[^;\n]*?p = ([\d.e-]+?)(?=[;, ]|\.?\n)",
        photographs_text(),
    )
    assert len(marked) > 10
    for mark, chance in marked:
        if mark.lower() == "against it":
            assert float(chance) < LEVEL
        if mark == "not significant":
            assert float(chance) >= LEVEL


def test_figures_of_answers_equal_the_tables_of_the_study():
    """Answers quote means of two methods in a group; the tables show the same means."""
    compared = 0
    for table in ("costs", "aggregation", "optimizers", "sub_pixel", "post_processing", "methods"):
        answers = page_tables.block(photographs_text(), table)
        cases = re.findall(
            r"(\w+) and (\w+), (photographs|roads): "
            r"([\d.]+) (?:%|px) and ([\d.]+) (?:%|px), (?:fewer|within)",
            answers,
        )
        for method, other, group, error, other_error in cases:
            cells = study_cells(table)
            # The table of RMS errors has two columns for a group.
            columns = [name for name in cells[method] if name.partition(":")[0] == group]
            errors = [[cells[name][column] for name in (method, other)] for column in columns]
            assert [error, other_error] in errors
            compared += 1
    assert compared > 20


def test_the_page_states_the_measured_time_of_semi_global_matching_and_graph_cuts():
    cells = study_cells("optimizers")
    column = "seconds, photographs"
    ratio = float(cells["expansion"][column]) / float(cells["semi_global_8"][column])
    assert f"in 1/{ratio:.0f} of the time" in photographs_text()
