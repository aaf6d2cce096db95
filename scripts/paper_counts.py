"""Gather the counts of the papers' runs and write the tables of ``docs/papers.md``.

``python scripts/paper_counts.py FOLDER`` reads ``FOLDER/PAPER/counts.json`` of every
paper, which ``stereo-framework reproduce PAPER --out FOLDER/PAPER`` writes. It stores
them in ``docs/counts/papers.json`` and writes the blocks between the markers of
``docs/papers.md``. Without FOLDER it writes the blocks from the stored counts.
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from counts import FOLDER, ROOT, run_git, write_counts

from stereo_framework import __version__
from stereo_framework.papers import NAMES, find_paper
from stereo_framework.papers.boundary2007.items import differences_of_known_costs
from stereo_framework.papers.claim import Claim

PAGE = ROOT / "docs" / "papers.md"

NAME = "papers"
"""The name of the file of counts."""

COMMAND = "stereo-framework reproduce PAPER --out FOLDER/PAPER, for each paper; python scripts/paper_counts.py FOLDER"

QUOTED_NUMBERS = {"taxonomy2002": ("table5", "table6"), "boundary2007": ("table1",)}
"""The items of each paper whose single numbers the page quotes."""

ABSENT = "-"
"""The text of a cell for a paper whose whole run is not gathered yet."""

SCENES = ("tsukuba", "sawtooth", "venus", "map")
"""The scenes of Table 5 of 2002."""

METHODS_OF_2002 = {
    "SSD + MF": "`ssd`: 21x21 shiftable windows",
    "Dyn. prog.": "`dp`: dynamic programming",
    "Scanl. opt.": "`so`: scanline optimization",
    "Graph cuts (4)": "`gc`: graph cuts, median of seven seeds",
    "Bay. diff.": "`bayesian`: Bayesian diffusion",
}
"""Descriptions of our methods, by the names of their rows in Table 5 of 2002."""

METHODS_OF_2007 = ("DP", "CSM", "SDM", "GC", "BP")
"""The methods of boundary2007. The methods whose costs are known come first."""

EARLIER_RUNS = {"boundary2007": "32a9db38", "energies2008": "adbce53c"}
"""Commits whose page has the counts of a whole run of a paper, which that version did not store."""

EMPTY_CELLS = ("0", "0 / 0", "none is judged")
"""Cells of a table of papers that hold no count."""

Counts = Mapping[str, Mapping[str, Any]]
"""The counts of each paper by its name."""


def gather(folder: Path) -> dict[str, Any]:
    """Read the counts of all papers from a folder, and refuse a run that is not whole."""
    counts_by_paper = {}
    for name in NAMES:
        path = folder / name / "counts.json"
        if not path.is_file():
            print(
                f"{path}: is missing, so the page shows a dash; run `reproduce {name} --out {path.parent}`"
            )
            continue
        counts = json.loads(path.read_text(encoding="utf-8"))
        fault = fault_of(counts)
        if fault:
            message = f"{path}: {fault}; only a whole run of this version counts; run `reproduce {name} --out {path.parent}` again"
            raise SystemExit(message)
        counts_by_paper[name] = without_unquoted_numbers(name, counts)
    return counts_by_paper


def fault_of(counts: Mapping[str, Any]) -> str:
    """Return the reason why a run must not be gathered; empty if it may be gathered."""
    if counts["item"] is not None:
        return f"only the item {counts['item']} was reproduced"
    if counts["quick"]:
        return "the run was quick"
    if counts["missing"]:
        return f"scenes were missing: {', '.join(counts['missing'])}"
    if counts["version"] != __version__:
        return f"the run is of version {counts['version']} and not of {__version__}"
    return ""


def without_unquoted_numbers(name: str, counts: Mapping[str, Any]) -> dict[str, Any]:
    """Return counts without the single numbers that the page does not quote.

    The figures of sentences and the words of earlier rules are removed too.
    """
    quoted_comparisons = {
        item: counts["comparisons"][item] for item in QUOTED_NUMBERS.get(name, ())
    }
    claims = {}
    for claim, entry in counts["claims"].items():
        claims[claim] = {"kind": entry["kind"], "verdict": entry["verdict"]}
        if "earlier" in entry:
            claims[claim]["earlier_holds"] = [earlier["holds"] for earlier in entry["earlier"]]
    return {**counts, "claims": claims, "comparisons": quoted_comparisons}


def read_stored_counts() -> dict[str, Any]:
    """Read the stored counts of the papers; return no papers if there is no file."""
    path = FOLDER / f"{NAME}.json"
    if not path.is_file():
        return {}
    content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))["papers"]
    return content


def recorded_earlier_runs() -> dict[str, Any]:
    """Read the counts of earlier whole runs from the page as it was at their commits."""
    runs = {}
    for name, commit in EARLIER_RUNS.items():
        lines = run_git("show", f"{commit}:docs/papers.md").splitlines()
        headers = [_cells_of_line(line) for line in lines if line.startswith("| paper |")]
        rows = [_cells_of_line(line) for line in lines if line.startswith(f"| `{name}` |")]
        if len(headers) != 1 or len(rows) != 1:
            message = f"docs/papers.md at commit {commit}: has no row of {name} in its table of papers; correct EARLIER_RUNS"
            raise SystemExit(message)
        columns = dict(zip(headers[0][1:], rows[0][1:], strict=True))
        counts = {column: cell for column, cell in columns.items() if cell not in EMPTY_CELLS}
        runs[name] = {"commit": commit, "counts": counts}
    return runs


def _cells_of_line(line: str) -> list[str]:
    """Return the cells of a row of a table in Markdown."""
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def read_earlier_runs() -> dict[str, Any]:
    """Read the stored counts of earlier whole runs."""
    path = FOLDER / f"{NAME}.json"
    if not path.is_file():
        return {}
    runs: dict[str, Any] = json.loads(path.read_text(encoding="utf-8")).get("earlier_runs", {})
    return runs


def table_of_papers(counts: Counts) -> str:
    """Return the table of all counts, with a row for each paper."""
    header = [
        "paper",
        "numbers met / judged",
        "sentences on our runs: hold / judged",
        "not judged: depend on unprinted details",
        "not judged: other reasons",
        "on scenes of ours, not counted as the paper's: hold / judged",
        "in print alone, nothing is reproduced: hold / judged",
        "rules replaced / after a failure",
        "own checks: pass / made",
    ]
    rows = []
    for name in NAMES:
        cells = _cells(counts[name]) if name in counts else [ABSENT] * (len(header) - 1)
        rows.append([f"`{name}`", *cells])
    table = _markdown(header, rows)
    absent_papers = [name for name in NAMES if name not in counts]
    if absent_papers:
        earlier_runs = [sentence for name in absent_papers for sentence in _earlier_run(name)]
        explanation = " ".join(
            ["A dash: the whole run of this version is not gathered yet.", *earlier_runs]
        )
        return f"{table}\n\n{explanation}"
    return table


def _cells(counts: Mapping[str, Any]) -> list[str]:
    """Return the cells of a paper in the table of papers, without the paper's name."""
    numbers, sentences, replaced = counts["numbers"], counts["sentences"], counts["replaced_rules"]
    judged_numbers = (
        f"{numbers['met']} / {numbers['judged']}" if numbers["judged"] else "none is judged"
    )
    undetermined = sentences["runs"]["undetermined"] + sentences["printed"]["undetermined"]
    scenes_of_ours = _share(sentences["our scenes"])
    if sentences["our scenes"]["undetermined"]:
        scenes_of_ours += f"; {sentences['our scenes']['undetermined']} depend on unprinted details"
    return [
        judged_numbers,
        _share(sentences["runs"]),
        str(undetermined),
        str(sentences["not judged"]["asked"]),
        scenes_of_ours,
        _share(sentences["printed"]),
        f"{replaced['sentences']} / {replaced['after_failure']}",
        _share(sentences["own"]),
    ]


def _share(counts: Mapping[str, int]) -> str:
    """Return how many of the judged sentences of a kind hold, as "hold / judged".

    Sentences that are not decided are counted after it.
    """
    share = f"{counts['hold']} / {counts['hold'] + counts['fail']}"
    # Runs before the verdict "not decided" existed have no such number.
    undecided = counts.get("undecided", 0)
    return f"{share}; {undecided} not decided" if undecided else share


def replaced_rules(counts: Counts) -> str:
    """Return the number of replaced rules, and a table with the verdicts by both rules."""
    claims = [
        (name, claim)
        for name in NAMES
        for claim in find_paper(name).claims.values()
        if claim.before
    ]
    last_verdicts = [claim.before[-1].holds for _, claim in claims]
    verdicts_today = {(name, claim.name): _verdict(counts, name, claim) for name, claim in claims}
    failed = [(name, claim) for name, claim in claims if claim.before[-1].holds is False]
    hold_now = sum(verdicts_today[name, claim.name] == "holds" for name, claim in failed)
    text = (
        f"The rules of {len(claims)} sentences replaced earlier rules, some of them twice. By the rule that was replaced last, "
        f"{last_verdicts.count(False)} of these sentences had failed, {last_verdicts.count(True)} had held, and the verdicts of "
        f"{last_verdicts.count(None)} were not recorded."
    )
    if all(name in counts for name, _ in claims):
        text += f" Of the {len(failed)} sentences whose earlier rule had failed, {hold_now} hold by today's rule."
    rows = [
        [
            f"`{name}`: {claim.says}",
            earlier.rule,
            earlier.verdict,
            verdicts_today[name, claim.name],
            earlier.reason or "not recorded",
        ]
        for name, claim in claims
        for earlier in claim.before
    ]
    header = [
        "sentence",
        "earlier rule",
        "its verdict",
        "verdict by today's rule",
        "reason for the replacement",
    ]
    return f"{text}\n\n{_markdown(header, rows)}"


def _verdict(counts: Counts, name: str, claim: Claim) -> str:
    """Return the verdict on a sentence of a paper; a dash if the paper is not gathered."""
    if name not in counts:
        return ABSENT
    return str(counts[name]["claims"][claim.name]["verdict"])


def printed_sentences(counts: Counts) -> str:
    """Return the sentences judged only on printed numbers, with their verdicts."""
    return _by_kind(counts, "printed")


def scenes_of_ours(counts: Counts) -> str:
    """Return the sentences that are judged on scenes of ours, with their verdicts."""
    return _by_kind(counts, "our scenes")


def _by_kind(counts: Counts, kind: str) -> str:
    """Return a list of the sentences of a kind, by paper, with their verdicts."""
    lines = []
    for name in NAMES:
        claims = [claim for claim in find_paper(name).claims.values() if claim.kind == kind]
        if claims:
            texts = [f"`{claim.name}` ({_verdict(counts, name, claim)})" for claim in claims]
            lines.append(f"- {name}, {len(claims)} sentences: {', '.join(texts)}")
    return "\n".join(lines)


def judged_parts(counts: Counts) -> str:
    """Return the sentences whose rule judges only a part of them, with this part."""
    rows = [
        [f"`{name}`: {claim.says}", f"judged: only {claim.judged_part}"]
        for name in NAMES
        for claim in find_paper(name).claims.values()
        if claim.judged_part
    ]
    return _markdown(["sentence", "part"], rows)


def not_asked(counts: Counts) -> str:
    """Return the sentences of the papers that no rule judges, although they are strong."""
    return "\n".join(f"- {name}: {text}" for name in NAMES for text in find_paper(name).not_asked)


def lenient_rules(counts: Counts) -> str:
    """Return how many numbers of taxonomy2002 two lenient rules decide."""
    if "taxonomy2002" not in counts:
        return _not_gathered("taxonomy2002")
    counts_of_2002 = counts["taxonomy2002"]
    numbers = counts_of_2002["numbers"]
    comparisons = counts_of_2002["comparisons"]
    strict = numbers["met"] - numbers["one_sided_met"] + numbers["one_sided_near"]
    cuts = [
        c for c in comparisons["table5"] if c["row"] == "Graph cuts (4)" and c["met"] is not None
    ]
    best_cuts = [c for c in comparisons["table6"] if c["row"] == "GC" and c["met"] is not None]
    worse = sum(c["ours"] > c["published"] for c in cuts)
    return (
        f"- **Lower counts as met** for the {numbers['one_sided']} best parameters of Table 6, since we may have tried more settings: "
        f"{numbers['one_sided_met']} are met so, {numbers['one_sided_near']} with the tolerance on both sides, which makes "
        f"{strict} of all {numbers['judged']}.\n"
        f"- **Graph cuts may differ by the spread of seven random orders**, in {len(best_cuts)} of those {numbers['one_sided']} "
        f"({sum(c['met'] for c in best_cuts)} are met) and in {len(cuts)} numbers of Table 5 ({sum(c['met'] for c in cuts)} are met). "
        f"{worse} of these {len(cuts)} medians are worse than printed."
    )


def table5(counts: Counts) -> str:
    """Return the table of our bad pixels next to those of Table 5 of 2002."""
    if "taxonomy2002" not in counts:
        return _not_gathered("taxonomy2002")
    numbers = {(c["row"], c["column"]): c for c in counts["taxonomy2002"]["comparisons"]["table5"]}
    rows = []
    for row, words in METHODS_OF_2002.items():
        pairs = [numbers[row, f"{scene}_nonocc"] for scene in SCENES]
        rows.append([words, *(f"{pair['ours']:.2f} ({pair['published']:.2f})" for pair in pairs)])
    return _markdown(["method", *SCENES], rows)


def efficiencies(counts: Counts) -> str:
    """Return the efficiencies of boundary2007, and sentences on their differences."""
    if "boundary2007" not in counts:
        return _not_gathered("boundary2007")
    numbers = {(c["row"], c["column"]): c for c in counts["boundary2007"]["comparisons"]["table1"]}
    columns = list(dict.fromkeys(column for _, column in numbers))
    rows = []
    for method in METHODS_OF_2007:
        pairs = [numbers[method, column] for column in columns]
        rows.append([method, *(f"{pair['ours']:.3f} ({pair['published']:.3f})" for pair in pairs)])
    table = _markdown(["method", *(column.lower() for column in columns)], rows)
    published = {m: {c: numbers[m, c]["published"] for c in columns} for m in METHODS_OF_2007}
    ours = {m: {c: numbers[m, c]["ours"] for c in columns} for m in METHODS_OF_2007}
    return f"{table}\n\n{differences_of_known_costs(published, ours)}"


def sentences_of_2007(counts: Counts) -> str:
    """Return sentences on the verdicts of boundary2007 and on its replaced rules."""
    if "boundary2007" not in counts:
        return _not_gathered("boundary2007")
    sentences, claims = counts["boundary2007"]["sentences"], counts["boundary2007"]["claims"]
    runs, ours = sentences["runs"], sentences["our scenes"]
    asked = runs["asked"] + ours["asked"]
    text = (
        f"Of the {asked} sentences with a rule, {ours['asked']} are about Stripes and Slits and do not count as the paper's: "
        f"{ours['hold']} of them hold on our scenes, {ours['fail']} do not, and {ours['undetermined']} depend on costs. Of the other "
        f"{runs['asked']}, {runs['undetermined']} depend on costs that the paper does not print and are not judged, "
        f"{runs['hold']} hold and {runs['fail']} do not. One further sentence has no measure."
    )
    holding = [name for name, entry in claims.items() if entry["verdict"] == "holds"]
    rewritten = [name for name in holding if claims[name].get("earlier_holds", [True])[-1] is False]
    names = ", ".join(f"`{name}`" for name in rewritten) or "none"
    return (
        f"{text} Over both kinds {len(holding)} sentences hold. The sentences among them whose "
        f"rule replaced a failed rule: {names}."
    )


def _not_gathered(name: str) -> str:
    """Return the sentence that takes the place of the figures of a missing run."""
    return f"The figures of the whole run of {name} are not gathered yet."


def _earlier_run(name: str) -> Iterator[str]:
    """Yield a sentence on the whole run of an earlier version, if its counts are stored."""
    run = read_earlier_runs().get(name)
    if run is not None:
        counts = "; ".join(f"{column} {cell}" for column, cell in run["counts"].items())
        yield (
            f"This page recorded a whole run of `{name}` by an earlier version at commit `{run['commit']}`: {counts}. "
            "Sentences on scenes of ours were not counted apart then."
        )


BLOCKS: dict[str, Callable[[Counts], str]] = {
    "table of papers": table_of_papers,
    "replaced rules": replaced_rules,
    "printed sentences": printed_sentences,
    "scenes of ours": scenes_of_ours,
    "judged parts": judged_parts,
    "not asked": not_asked,
    "lenient rules": lenient_rules,
    "table 5": table5,
    "efficiencies": efficiencies,
    "sentences of 2007": sentences_of_2007,
}
"""The functions that write the blocks of the page, by the names of their markers."""


def with_blocks(page: str, counts: Counts) -> str:
    """Replace the blocks between the markers of a page."""
    for name, block in BLOCKS.items():
        content = block(counts)
        marker = re.compile(rf"(<!-- {name} -->\n).*?(<!-- end -->)", re.DOTALL)
        if not marker.search(page):
            message = f"{PAGE.name}: has no markers <!-- {name} --> and <!-- end -->; write them where the block belongs"
            raise SystemExit(message)
        page = marker.sub(lambda match, content=content: f"{match[1]}{content}\n{match[2]}", page)
    return page


def _markdown(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table in Markdown."""
    return "\n".join(_markdown_lines(header, rows))


def _markdown_lines(header: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    yield f"| {' | '.join(header)} |"
    yield f"| {' | '.join(['---'] * len(header))} |"
    for row in rows:
        # A vertical bar ends a cell in Markdown, so a bar in the text needs a backslash.
        yield f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |"


def main() -> None:
    """Gather the counts if a folder is named, and write the page."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument(
        "folder", type=Path, nargs="?", help="folder with a results folder for each paper"
    )
    parser.add_argument(
        "--commit", help="commit of the checkout that ran the papers; default: this one"
    )
    arguments = parser.parse_args()
    if arguments.folder is not None:
        counts: dict[str, Any] = {
            "papers": gather(arguments.folder),
            "earlier_runs": recorded_earlier_runs(),
        }
        if arguments.commit is not None:
            counts["commit"] = run_git("rev-parse", "--verify", f"{arguments.commit}^{{commit}}")
        write_counts(NAME, COMMAND, counts)
    page = with_blocks(PAGE.read_text(encoding="utf-8"), read_stored_counts())
    PAGE.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
