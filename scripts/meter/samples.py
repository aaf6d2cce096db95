"""Functions and sentences that are drawn at random, for tests with readers."""

from __future__ import annotations

import random
import re
from collections.abc import Iterable, Iterator, Sequence

from .files import UsageError
from .measurement import Measurement, Passage, without_code

NEW_PARAGRAPH = re.compile(r"\s*(?:[-*+] |\d+\. |#|\||$)")
"""Beginning of a line of a list, a heading, a row of a table, or an empty line."""

SENTENCE_END = re.compile(r"(?<=[.!?])\s+(?=[A-Z`\"'(])")

LONG_WORD = re.compile(r"[A-Za-z]{2,}")

MIN_WORDS = 4


def functions_with_places(measurements: Iterable[Measurement]) -> list[str]:
    """Return the name of each function, with its file and line."""
    lines = []
    for measurement in measurements:
        for line, name in measurement.functions:
            lines.append(f"{measurement.path}:{line}: {name}")
    return lines


def sentences_with_places(measurements: Iterable[Measurement]) -> list[str]:
    """Return each sentence of four words or more, with its file and line."""
    lines = []
    for measurement in measurements:
        for passage in measurement.passages:
            for line, sentence in _sentences(passage):
                lines.append(f"{measurement.path}:{line}: {passage.kind}: {sentence}")
    return lines


def draw(lines: Sequence[str], number: int, seed: int) -> list[str]:
    """Draw some lines. The same seed and the same files give the same lines."""
    if not 1 <= number <= len(lines):
        message = f"{number}: cannot draw this many; choose a number from 1 to {len(lines)}"
        raise UsageError(message)
    return random.Random(seed).sample(lines, number)


def _sentences(passage: Passage) -> Iterator[tuple[int, str]]:
    """Yield the sentences of a passage with their lines."""
    for offset, paragraph in _paragraphs(without_code(passage.text)):
        for sentence in SENTENCE_END.split(paragraph):
            if len(LONG_WORD.findall(sentence)) >= MIN_WORDS:
                yield passage.line + offset, sentence


def _paragraphs(text: str) -> Iterator[tuple[int, str]]:
    """Yield the paragraphs of a text, each as one line, with the offset of its line."""
    first = 0
    lines: list[str] = []
    for number, line in enumerate(text.splitlines()):
        if lines and NEW_PARAGRAPH.match(line):
            yield first, " ".join(lines)
            lines = []
        if line.strip():
            first = first if lines else number
            lines.append(line.strip())
    if lines:
        yield first, " ".join(lines)
