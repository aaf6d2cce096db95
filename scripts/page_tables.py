"""Write the figures of README.md, docs/why.md and docs/results.md from stored counts.

    python scripts/page_tables.py

The program measures nothing. It writes tables and sentences between the markers
``<!-- NAME -->`` and ``<!-- end -->`` of the pages. Errors come from
``docs/counts/quality.json`` and ``docs/counts/results.json``. Times come from
``docs/counts/quality_times.json`` and ``docs/counts/results_times.json``.

Some entries of these files were recorded from an older page and not measured. Such an
entry contains only means. Its sentences are about means instead of single scenes.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean
from typing import Any

from counts import read_counts

ROOT = Path(__file__).parents[1]

Statistics = Mapping[str, Mapping[str, float]]
"""Statistics of a method by scene, and then by the name of the statistic."""


@dataclass(frozen=True)
class Column:
    """A column of docs/results.md: the mean of some statistics over some scenes."""

    heading: str
    statistics: tuple[str, ...]
    scenes: str = ""
    """Regular expression that matches the names of the scenes to average."""

    def value(self, statistics: Statistics) -> float:
        """Compute the mean of the column from the statistics of a method."""
        scenes = [scene for scene in statistics if re.search(self.scenes, scene)]
        return mean(statistics[scene][name] for scene in scenes for name in self.statistics)


TEN = "^middlebury-v3/trainingQ/"
"""Regular expression of the ten photographs.

The script configs/comparison/photographs.yaml also runs on the motorcycle pair, which the
table leaves out.
"""

RESULT_TABLES: dict[str, Sequence[Column]] = {
    "photographs": (
        Column("mean, 1 px", ("bad4_nonocc",), TEN),
        Column("0.5 px", ("bad2_nonocc",), TEN),
        Column("2 px", ("bad8_nonocc",), TEN),
    ),
    "middlebury_v2": (
        Column("mean of 12", ("bad_pixels_nonocc", "bad_pixels_all", "bad_pixels_disc")),
    ),
    "kept": (
        Column("mean, 1 px", ("bad1_nonocc",)),
        Column("without Art", ("bad1_nonocc",), "(?<!/Art)$"),
        Column("0.5 px", ("bad0.5_nonocc",)),
        Column("2 px", ("bad2_nonocc",)),
    ),
    "roads": tuple(
        Column(f"{pixels} px", (f"bad{pixels}_all",)) for pixels in ("3", "2", "1", "0.5")
    ),
}
"""Columns of the tables of docs/results.md, by a script's name in configs/comparison."""

WITHOUT_SECONDS = ("roads",)
"""Names of the tables that show no times."""

PEERS = {
    "fine": "`fine`, the default",
    "fast": "`fast`",
    "sgm": "`sgm`",
    "pandora": "Pandora 1.9, its chain of census and eight paths",
    "hh": "StereoSGBM, eight paths",
    "sgbm": "StereoSGBM, five paths (`sgbm`)",
}
"""The methods of the table of docs/why.md, with their names there."""

README_ROWS = {**PEERS, "hh": "OpenCV's StereoSGBM, eight paths, filled"}
"""The methods of the table of README.md, with their names there."""

SEED_THRESHOLDS = {"C": (1.0, 0.5, 2.0), "roads": (3.0, 2.0, 1.0, 0.5)}
"""Thresholds in pixels of the means over seeds.

The keys are sets of benchmarks/quality.py: ``C`` is the set of photographs.
"""

KITTI_KIT_SCENE = "kitti/training2012"
"""The road pair of configs/comparison/kept_road.yaml."""

QUICK_SECONDS = 0.5
"""Limit of the times of the methods that a sentence of docs/results.md calls quick."""

METHODS_WITH_ABSOLUTE_DIFFERENCES = ("ad_census", "cost_filter")
"""Methods whose ranks on photographs and on Middlebury version 2 a sentence compares."""


def entry(name: str, entry_name: str) -> dict[str, Any]:
    """Return an entry of ``docs/counts/NAME.json``."""
    content: dict[str, Any] = read_counts(name)["entries"][entry_name]
    return content


def result_values(name: str) -> dict[str, list[float]]:
    """Return the columns of a table of docs/results.md by method, without the seconds."""
    results = entry("results", name)
    if "means" in results:
        means: dict[str, list[float]] = results["means"]
        return means
    columns = RESULT_TABLES[name]
    return {
        method: [column.value(statistics) for column in columns]
        for method, statistics in results["errors"].items()
    }


def result_table(name: str) -> str:
    """Return a table of docs/results.md in Markdown, sorted by the first column."""
    headings = ["method", *(column.heading for column in RESULT_TABLES[name])]
    values = result_values(name)
    seconds = seconds_of(name)
    if name not in WITHOUT_SECONDS:
        headings.append("seconds")

    rows = []
    for method in sorted(values, key=lambda method: values[method][0]):
        cells = [f"{value:.1f}" for value in values[method]]
        if name not in WITHOUT_SECONDS:
            cells.append(f"{seconds[method]:.2f}" if method in seconds else "not measured")
        rows.append([f"`{method}`", *cells])
    return markdown(headings, rows)


def seconds_of(name: str) -> dict[str, float]:
    """Return the mean seconds of a table of docs/results.md by method."""
    entries = read_counts("results_times")["entries"]
    seconds: dict[str, float] = entries[name]["seconds"] if name in entries else {}
    return seconds


def peer_error(method: str, kind: str, threshold: float, seed: int = 0) -> float:
    """Return the mean percentage of bad pixels of a method over a set of scenes.

    Parameters
    ----------
    method : str
        Name of the method.
    kind : str
        Set of scenes of benchmarks/quality.py, such as "roads".
    threshold : float
        Disparity error in pixels above which a pixel is bad.
    seed : int
        Index of the run, if the method was run with several seeds.
    """
    quality = entry("quality", method)
    if "means" in quality:
        recorded: float = quality["means"][kind][f"{threshold:g}"]
        return recorded
    index = quality["thresholds"].index(threshold)
    errors_by_scene = quality["errors_by_seed"][seed][kind]
    return mean(errors[index] for errors in errors_by_scene.values())


def seed_means(kind: str) -> list[float]:
    """Return the mean errors of `fine` over its seeds, one for each threshold."""
    quality = entry("quality", "fine")
    if "seed_means" in quality:
        recorded: list[float] = quality["seed_means"][kind]
        return recorded
    seeds = range(len(quality["errors_by_seed"]))
    return [
        mean(peer_error("fine", kind, pixels, seed) for seed in seeds)
        for pixels in SEED_THRESHOLDS[kind]
    ]


def chance_sentence() -> str:
    """Return the sentence of docs/results.md about the seeds of `fine`."""
    quality = entry("quality", "fine")
    number = len(quality.get("errors_by_seed", ())) or quality["seeds"]
    photographs = listed([f"{value:.1f}" for value in seed_means("C")])
    roads = listed([f"{value:.1f}" for value in seed_means("roads")])
    return (
        "- **Chance.** `fine` draws random numbers. Its figures are those of one seed; the means of "
        f"{number} seeds are {photographs} on photographs (above 1, 0.5 and 2 px), "
        f"and {roads} on roads (above 3, 2, 1 and 0.5 px)."
    )


def provenance(name: str) -> str:
    """Return the sentence that states when and how the times of a page were measured.

    Parameters
    ----------
    name : str
        Name of the file of times in docs/counts.
    """
    entries = read_counts(name)["entries"].values()
    commits = listed(sorted({f"`{times['commit'][:8]}`" for times in entries}))
    if any("recorded" in times for times in entries):
        return (
            f"They were measured before the run of the errors and not again: `docs/counts/{name}.json` records them "
            f"from this page as it was at commit {commits}."
        )
    loads = [times["machine"]["load_average_at_start"][0] for times in entries]
    return (
        f"They were measured at commit {commits} on a machine with a load average of at most {max(loads):.2f} before the "
        f"run (`docs/counts/{name}.json`)."
    )


def error_provenance(name: str) -> str:
    """Return the sentences that state at which commits the errors of a page were measured.

    Parameters
    ----------
    name : str
        Name of the file of errors in docs/counts.
    """
    entries = read_counts(name)["entries"]
    measured = _by_commit({key: value for key, value in entries.items() if "recorded" not in value})
    recorded = _by_commit({key: value for key, value in entries.items() if "recorded" in value})
    sentences = [f"Errors are stored in `docs/counts/{name}.json`."]
    if measured:
        sentences.append(f"They were measured by scene {measured}.")
    if recorded:
        sentences.append(
            f"Means that were not measured again are those that this page had {recorded}."
        )
    return f"- **Errors.** {' '.join(sentences)}"


def _by_commit(entries: Mapping[str, Mapping[str, Any]]) -> str:
    """Return the commits of entries as text, each with its entries."""
    names_by_commit: dict[str, list[str]] = {}
    for name, content in entries.items():
        names_by_commit.setdefault(content["commit"][:8], []).append(f"`{name}`")
    if not names_by_commit:
        return ""
    return listed(
        [
            f"at commit `{commit}` ({listed(sorted(names))})"
            for commit, names in names_by_commit.items()
        ]
    )


def seconds_sentence() -> str:
    """Return the sentences of docs/results.md about seconds."""
    entries = read_counts("results_times")["entries"].values()
    machine = "an idle machine"
    if any("recorded" in times for times in entries):
        machine = "a machine with 2 cores, of which the other one had work of its own for half of the time"
    return (
        f"- **Seconds** are mean matching times on one thread, on {machine}. Those of `pandora`, a program of its own, "
        f"include its start. {provenance('results_times')}"
    )


def peer_seconds_sentence() -> str:
    """Return the sentences of docs/why.md about seconds and memory."""
    return (
        "- Seconds and MiB are those of the photograph Piano; seconds are the least of three on two idle cores. "
        f"Pandora's seconds and memory include its start. {provenance('quality_times')}"
    )


def order_sentences() -> str:
    """Return the sentences of docs/results.md about the order of methods on photographs."""
    return "\n".join([_leaders_sentence(), _quick_sentence(), _old_scenes_sentence()])


def _leaders_sentence() -> str:
    """Return the sentence about the methods with the fewest errors, `fine` and `fast`."""
    cases = _errors_by_case()
    led_cases = [
        errors for errors in cases if sorted(errors, key=errors.__getitem__)[:2] == ["fine", "fast"]
    ]
    if len(led_cases) < len(cases):
        scope = f"In {len(led_cases)} of {len(cases)} pairs of photograph and threshold"
    elif "means" in entry("results", "photographs"):
        scope = "In the mean of the photographs, for each threshold,"
    else:
        scope = "On every photograph, for each threshold,"
    seconds = seconds_of("photographs")
    return (
        f"- {scope} `fine` has the fewest errors and `fast` the second fewest. Both were made on these photographs. "
        f"`fast` takes {seconds['fast'] / seconds['fine']:.2f} of the time of `fine`."
    )


def _errors_by_case() -> list[dict[str, float]]:
    """Return the errors of all methods in each case.

    A case is a photograph with a threshold. If only means are stored, a case is a mean over
    the photographs with a threshold.
    """
    photographs = entry("results", "photographs")
    columns = RESULT_TABLES["photographs"]
    if "means" in photographs:
        values = result_values("photographs")
        return [
            {method: values[method][index] for method in values} for index in range(len(columns))
        ]
    errors = photographs["errors"]
    scenes = [scene for scene in errors["fine"] if re.search(TEN, scene)]
    statistics = [name for column in columns for name in column.statistics]
    return [
        {method: errors[method][scene][name] for method in errors}
        for scene in scenes
        for name in statistics
    ]


def _quick_sentence() -> str:
    """Return the sentence about the quick methods with the fewest errors."""
    seconds = seconds_of("photographs")
    quick_methods = [method for method in seconds if seconds[method] < QUICK_SECONDS]
    scopes_by_winner: dict[str, list[str]] = {}
    for scope, errors in _errors_above_a_pixel().items():
        winner = min(quick_methods, key=errors.__getitem__)
        scopes_by_winner.setdefault(winner, []).append(scope)
    winners = [
        f"`{winner}` has the fewest errors above 1 pixel {listed(scopes)}"
        for winner, scopes in scopes_by_winner.items()
    ]
    return f"- Among the methods that take less than {QUICK_SECONDS:g} s, {'; '.join(winners)}."


def _errors_above_a_pixel() -> dict[str, dict[str, float]]:
    """Return the errors above 1 pixel by photograph and method.

    If only means are stored, the mean takes the place of the photographs. The keys are
    phrases of sentences, such as "on Piano".
    """
    photographs = entry("results", "photographs")
    if "means" in photographs:
        return {
            "in the mean of the photographs": {
                method: values[0] for method, values in photographs["means"].items()
            }
        }
    errors = photographs["errors"]
    [statistic] = RESULT_TABLES["photographs"][0].statistics
    scenes = [scene for scene in errors["fine"] if re.search(TEN, scene)]
    return {
        f"on {scene.rpartition('/')[2]}": {
            method: errors[method][scene][statistic] for method in errors
        }
        for scene in scenes
    }


def _old_scenes_sentence() -> str:
    """Return the sentence about methods that have another rank on Middlebury version 2."""
    methods = METHODS_WITH_ABSOLUTE_DIFFERENCES
    ranks = [
        f"rank {rank('middlebury_v2', method)} there and rank {rank('photographs', method)} here"
        for method in methods
    ]
    return (
        f"- Compared with Middlebury version 2, `{methods[0]}` has {ranks[0]}, "
        f"`{methods[1]}` {ranks[1]}. Likely reasons, which were not measured apart, are unequal exposures, to which "
        "absolute differences react, and plain walls that are larger than any window."
    )


def rank(name: str, method: str) -> int:
    """Return a method's rank in the first column of a table of docs/results.md."""
    values = result_values(name)
    return 1 + sum(other[0] < values[method][0] for other in values.values())


def kit_sentence() -> str:
    """Return the sentence of docs/results.md about the road pair of KITTI 2012's kit."""
    kit = entry("results", "kept_road")
    if "means" in kit:
        errors = {method: values[0] for method, values in kit["means"].items()}
    else:
        errors = {
            method: scenes[KITTI_KIT_SCENE]["bad3_all"] for method, scenes in kit["errors"].items()
        }
    shown = sorted(("fine", "fast", "sgm", "sgbm", "pandora"), key=errors.__getitem__)
    figures = ", ".join(f"`{method}` {errors[method]:.1f}" for method in shown)
    return (
        "On the road pair of the KITTI 2012 kit (`stereo-framework run comparison/kept_road`), percentages of pixels "
        f"with truth off by more than 3 pixels are: {figures}."
    )


def listed(words: Sequence[str]) -> str:
    """Join words with commas and a final "and"."""
    if len(words) == 1:
        return words[0]
    return f"{', '.join(words[:-1])} and {words[-1]}"


def peer_time(method: str) -> dict[str, float]:
    """Return the seconds and the MiB that a method takes on the photograph Piano."""
    piano: dict[str, float] = entry("quality_times", method)["piano"]
    return piano


def peer_table(headings: Sequence[str], names: Mapping[str, str]) -> str:
    """Return the table that compares our methods with OpenCV and Pandora.

    Parameters
    ----------
    headings : sequence of str
        Headings of the five columns.
    names : mapping of str to str
        The names of the rows, by method.
    """
    rows = []
    for method, name in names.items():
        piano = peer_time(method)
        photographs = f"{peer_error(method, 'C', 1.0):.1f} %"
        roads = f"{peer_error(method, 'roads', 3.0):.1f} %"
        seconds = piano["seconds"]
        digits = 1 if seconds >= 1 else 2
        rows.append(
            [name, photographs, roads, f"{seconds:.{digits}f}", f"{piano['memory_mib']:.0f}"]
        )
    return markdown(headings, rows)


def markdown(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table in Markdown."""
    lines = [headings, ["---"] * len(headings), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def block(text: str, name: str) -> str:
    """Return the part of a page between the markers of a name."""
    match = re.search(rf"<!-- {name} -->\n(.*?)\n<!-- end -->", text, re.DOTALL)
    if match is None:
        message = f"no block between <!-- {name} --> and <!-- end -->: expected one; write the two markers into the page"
        raise ValueError(message)
    return match[1]


def with_block(text: str, name: str, content: str) -> str:
    """Return a page with new content between the markers of a name."""
    old = f"<!-- {name} -->\n{block(text, name)}\n<!-- end -->"
    return text.replace(old, f"<!-- {name} -->\n{content}\n<!-- end -->")


def generated_blocks() -> dict[tuple[str, str], str]:
    """Return the content of all generated blocks by page and name."""
    readme_rows = {
        method: name for method, name in README_ROWS.items() if method not in ("sgm", "sgbm")
    }
    blocks = {
        ("README.md", "peers"): peer_table(
            ["", "ten photographs", "eight roads", "seconds", "MiB"], readme_rows
        ),
        ("docs/why.md", "peers"): peer_table(
            [
                "method",
                "off by more than 1 px, ten photographs",
                "3 px, eight roads",
                "seconds a photograph",
                "MiB",
            ],
            PEERS,
        ),
    }
    for name in RESULT_TABLES:
        blocks["docs/results.md", name] = result_table(name)
    blocks["docs/why.md", "errors"] = error_provenance("quality")
    blocks["docs/results.md", "errors"] = error_provenance("results")
    blocks["docs/why.md", "times"] = peer_seconds_sentence()
    blocks["docs/results.md", "times"] = seconds_sentence()
    blocks["docs/results.md", "chance"] = chance_sentence()
    blocks["docs/results.md", "order"] = order_sentences()
    blocks["docs/results.md", "kit"] = kit_sentence()
    return blocks


def main() -> None:
    """Rewrite the generated blocks of the pages."""
    for (page, name), content in generated_blocks().items():
        path = ROOT / page
        text = path.read_text(encoding="utf-8")
        path.write_text(with_block(text, name, content), encoding="utf-8")


if __name__ == "__main__":
    main()
