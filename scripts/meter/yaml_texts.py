"""Comments and sentences of YAML files."""

from __future__ import annotations

import re
from collections.abc import Iterator

import yaml

from .measurement import Measurement, Passage

Loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

COMMENT = re.compile(r"(?:^|(?<=\s))#+[ ]?(?P<text>[^\n]*)", re.MULTILINE)

SENTENCE = re.compile(r"[A-Za-z`]+(?: [A-Za-z`]+){2}")
"""Three words with single spaces between them."""

LINE = re.compile(r"[^\n]+")

NO_LINE_BREAK = re.compile(r"[^\n]")

MIN_WORDS = 4


def add_yaml(measurement: Measurement, text: str) -> None:
    """Add the comments and the sentences of a YAML file as prose.

    A literal text begins with `|`. Each line of it is a passage, because the text is
    usually code. The part of a file behind a syntax error counts as comments only.
    """
    rest = list(text)
    passages = []
    for start, end, is_literal in _scalars(text):
        scalar = text[start:end]
        if is_literal:
            passages += [(start + line.start(), line.group()) for line in LINE.finditer(scalar)]
        else:
            passages.append((start, scalar))
        rest[start:end] = NO_LINE_BREAK.sub("x", scalar)
    for match in COMMENT.finditer("".join(rest)):
        passages.append((match.start("text"), match["text"]))

    for start, prose in sorted(passages):
        is_sentence = SENTENCE.search(prose) and len(prose.split()) >= MIN_WORDS
        if is_sentence:
            line = 1 + text.count("\n", 0, start)
            measurement.add_passage(Passage("yaml", line, prose))


def _scalars(text: str) -> Iterator[tuple[int, int, bool]]:
    """Yield the two positions of each value and key, and whether it is literal."""
    try:
        for token in yaml.scan(text, Loader=Loader):
            if isinstance(token, yaml.ScalarToken):
                yield token.start_mark.index, token.end_mark.index, token.style == "|"
    except yaml.YAMLError:
        return
