"""Quotations are word for word: each is compared with the text of its paper.

The papers' texts may not be copied into the repository, so the environment variable
``STEREO_PAPERS`` names a folder that holds them, a plain text file for each paper.
"""

import os
import re
import unicodedata
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from stereo_framework.papers import NAMES, find_paper

ROOT = Path(__file__).parents[2]

TEXTS = {
    "taxonomy2002": "scharstein2002_taxonomy.txt",
    "boundary2007": "kostliva2007_boundary.txt",
    "sigma_z2011": "cabezas2011_sigma_z.txt",
    "groups2012": "cabezas2012_groups.txt",
    "hci2015": "honauer2015_hci.txt",
}
"""The papers that are quoted, with the names of the files of their texts."""

CUT_BEFORE = {
    ("taxonomy2002", "costs_alike"): "there is little difference",
    ("taxonomy2002", "untruncated_best"): "consistently the best",
    ("taxonomy2002", "trade_off"): "at points near",
    ("taxonomy2002", "occlusion_cost"): "not changing the performance",
    ("sigma_z2011", "consistent"): "the obtained values of the MAE",
    ("groups2012", "contradict"): "algorithm. In contrast",
}
"""Quotations that a figure or a page break cuts in two in the text: where the second part begins."""

CAPTIONS = {("taxonomy2002", "fattening")}
"""Quotations from captions of figures that stand on a page of the next section."""

HEADINGS = {
    "taxonomy2002": r"^(\d(?:\.\d)?)\.\s*\n+[A-Z]",
    "boundary2007": r"^(\d(?:\.\d)?)\. (?:Int|ROC|Stereo F|Exper|Evaluation/|Concl|Err|Alg\w+ Char|Worst)",
    "sigma_z2011": r"^(\d) [A-Z][a-z]",
    "groups2012": r"^(\d(?:\.\d)?) [A-Z]",
    "hci2015": r"^(\d(?:\.\d)?)\. (?!We )[A-Z]",
}
"""Where sections begin in each text, as a regular expression over its lines."""


@pytest.fixture
def folder():
    """The folder of the papers' texts."""
    value = os.environ.get("STEREO_PAPERS")
    if not value:
        pytest.skip(
            "STEREO_PAPERS names no folder with the texts of the papers, so quotations cannot be compared"
        )
    return Path(value)


def plain(text: str) -> str:
    """Remove what printing changes: ligatures, spaces, hyphens, dashes and quotation marks."""
    without_ligatures = unicodedata.normalize("NFKC", text)
    without_marks = re.sub(r"[“”„‟\"’‘'`]", "", without_ligatures)
    return re.sub(r"[\s\-\u00ad\u2010-\u2015]+", "", without_marks)


def parts(quotation: str) -> list[str]:
    """Divide a quotation at its square brackets, which mark omissions and insertions.

    The full stop at its end is left out, since a footnote's number may stand before it.
    """
    pieces = re.split(r"\[[^\]]*\]", quotation.removesuffix("."))
    return [piece for piece in pieces if plain(piece)]


def quoted_claims() -> Iterator[tuple[str, str, str, str]]:
    """Yield paper, name, section and words of every quoted sentence."""
    for paper in NAMES:
        for claim in find_paper(paper).claims.values():
            if claim.section:
                yield paper, claim.name, claim.section, claim.says
    study = yaml.safe_load((ROOT / "benchmarks" / "photographs.yaml").read_text(encoding="utf-8"))
    for name, claim in study["claims"].items():
        if "section" in claim:
            yield "taxonomy2002", name, claim["section"], claim["says"]


def quotations_on_pages() -> Iterator[tuple[str, str]]:
    """Yield page and words of everything between curly quotation marks; marks may be nested."""
    pages = [
        ROOT / "README.md",
        ROOT / "CONTRIBUTING.md",
        ROOT / "paper" / "paper.md",
        *sorted((ROOT / "docs").rglob("*.md")),
    ]
    for page in pages:
        for line in page.read_text(encoding="utf-8").splitlines():
            for quotation in outermost(line):
                # Two asterisks mark the tested part of a sentence.
                yield page.relative_to(ROOT).as_posix(), quotation.replace("**", "")


def outermost(line: str) -> list[str]:
    """Return the texts between outermost curly quotation marks."""
    found, depth, start = [], 0, 0
    for position, character in enumerate(line):
        if character == "“":
            depth += 1
            start = position + 1 if depth == 1 else start
        elif character == "”":
            depth -= 1
            if depth == 0:
                found.append(line[start:position])
    return found


def quotations_not_asked() -> Iterator[tuple[str, str]]:
    """Yield paper and words of the sentences that are listed as not asked."""
    for paper in NAMES:
        for entry in find_paper(paper).not_asked:
            for quotation in outermost(entry):
                yield paper, quotation


def position(quotation: str, text: str, second_part: str = "") -> int:
    """Return where a quotation begins in a text without spaces; -1 if it is not there.

    Its parts must follow one another. `second_part` begins what follows a page break.
    """
    pieces = []
    for part in parts(quotation):
        before, words, after = part.partition(second_part) if second_part else (part, "", "")
        pieces.extend(plain(piece) for piece in (before, words + after) if plain(piece))
    first = after_it = -1
    for piece in pieces:
        place = text.find(piece, max(after_it, 0))
        if place < 0:
            return -1
        first = place if first < 0 else first
        after_it = place + len(piece)
    return first


def test_the_texts_of_all_quoted_papers_are_named():
    assert {paper for paper, *_ in quoted_claims()} == set(TEXTS)
    assert set(CUT_BEFORE) | CAPTIONS <= {(paper, name) for paper, name, *_ in quoted_claims()}


@pytest.mark.parametrize(
    ("quotation", "second_part", "expected"),
    [
        ("the efﬁcient “method” is well-known", "", 0),
        ("the efficient method is well known", "", 0),
        ("the efficient [...] known", "", 0),
        ("the efficient [and] known", "", 0),
        ("the very efficient method", "", -1),
        ("known [...] the efficient", "", -1),
        ("method is well-known. It is fast", "It is", 12),
        ("method is well-known. It is fast", "", -1),
    ],
)
def test_a_quotation_is_compared_part_by_part_and_word_by_word(quotation, second_part, expected):
    text = plain("the effi-\ncient ‘method’ is well-\nknown. Figure 1. A caption.\nIt is fast.")
    assert position(quotation, text, second_part) == expected


def test_nested_quotation_marks_belong_to_the_outer_quotation():
    assert outermost("“a “b” c” and “d”") == ["a “b” c", "d"]


@pytest.mark.parametrize("paper", TEXTS)
def test_sentences_are_quoted_word_for_word(paper, folder):
    text = plain((folder / TEXTS[paper]).read_text(encoding="utf-8"))
    quotations = [(name, says) for of_paper, name, _, says in quoted_claims() if of_paper == paper]
    different = [
        name
        for name, says in quotations
        if position(says, text, CUT_BEFORE.get((paper, name), "")) < 0
    ]
    assert quotations
    assert different == []


@pytest.mark.parametrize("paper", TEXTS)
def test_sentences_stand_in_the_section_that_is_named(paper, folder):
    raw = (folder / TEXTS[paper]).read_text(encoding="utf-8")
    text = plain(raw)
    headings = [
        (len(plain(raw[: match.start()])), match[1])
        for match in re.finditer(HEADINGS[paper], raw, re.MULTILINE)
    ]
    elsewhere = []
    for of_paper, name, section, says in quoted_claims():
        named = re.match(r"section (\d(?:\.\d)?)|abstract", section)
        if of_paper != paper or named is None or (paper, name) in CAPTIONS:
            continue
        place = position(says, text, CUT_BEFORE.get((paper, name), ""))
        sections = [number for start, number in headings if start <= place]
        actual = sections[-1] if sections else None
        if actual != named[1]:
            elsewhere.append(f"{name}: {section}, but it stands in {actual}")
    assert len(headings) >= 5
    assert elsewhere == []


def test_sentences_that_are_not_asked_are_quoted_word_for_word(folder):
    texts = {
        paper: plain((folder / file).read_text(encoding="utf-8")) for paper, file in TEXTS.items()
    }
    quotations = list(quotations_not_asked())
    assert len(quotations) >= 10
    assert [words for paper, words in quotations if position(words, texts[paper]) < 0] == []


def test_pages_quote_the_papers_word_for_word(folder):
    texts = [plain((folder / file).read_text(encoding="utf-8")) for file in TEXTS.values()]
    cuts = ["", *CUT_BEFORE.values()]
    quotations = list(quotations_on_pages())
    different = [
        f"{page}: {words}"
        for page, words in quotations
        if all(
            position(words.removesuffix(" [...]"), text, cut) < 0 for text in texts for cut in cuts
        )
    ]
    assert quotations
    assert different == []
