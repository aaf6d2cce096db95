"""The columns of the table of legibility, with their goals and remedies."""

from __future__ import annotations

from dataclasses import dataclass

CODE_WIDTH = 100
DOC_WIDTH = 88
LONG_STATEMENT = 30
LARGE_STATEMENT = 21
MAX_BRANCHES = 10
MAX_KERNEL_BRANCHES = 20
MAX_LINES = 40
MAX_KERNEL_LINES = 80

MEDIAN = 50


@dataclass(frozen=True)
class Column:
    """A figure of a group of files.

    A column counts cases, such as long statements, in a population, such as all
    statements. The figure is the number of cases per 100 or per 1000 members of the
    population. Three figures are different. The columns `median` and `p90` are
    quantiles of the sizes of statements, and `verbs` is the percentage of docstrings
    that are not a case.
    """

    name: str
    population: str
    per: int
    goal: float | None
    meaning: str
    remedy: str = ""
    quantile: int | None = None
    is_reversed: bool = False

    @property
    def goal_rate(self) -> float:
        """Return the share of cases that the goal allows."""
        if self.goal is None:
            return 1.0
        if self.quantile is not None:
            return 1 - self.quantile / 100
        if self.is_reversed:
            return 1 - self.goal / self.per
        return self.goal / self.per


COLUMNS = (
    Column(
        "median",
        "sizes",
        per=100,
        goal=None,
        meaning="median number of tokens of a statement",
        quantile=MEDIAN,
    ),
    Column(
        "p90",
        "sizes",
        per=100,
        goal=LARGE_STATEMENT,
        meaning="number of tokens that 90 % of the statements do not exceed",
        remedy="divide statements of more than 21 tokens",
        quantile=90,
    ),
    Column(
        "long",
        "statements",
        per=100,
        goal=2.0,
        meaning="statements of more than 30 tokens",
        remedy="divide each of these statements into several",
    ),
    Column(
        ">100",
        "code lines",
        per=100,
        goal=0.0,
        meaning="lines of code of more than 100 columns",
        remedy="run ruff format, and divide long texts",
    ),
    Column(
        "bad comp",
        "statements",
        per=100,
        goal=0.8,
        meaning="comprehensions with two loops, two conditions, nesting, or 100 columns",
        remedy="write a loop, or a function with a name, in place of the comprehension",
    ),
    Column(
        "ifexp",
        "statements",
        per=100,
        goal=3.2,
        meaning="conditional expressions",
        remedy="use an if statement, or choose between two plain values only",
    ),
    Column(
        "chained",
        "statements",
        per=100,
        goal=0.6,
        meaning="conditional expressions in another, in an f-string or in a call",
        remedy="compute the value in a statement before this statement",
    ),
    Column(
        "vague",
        "names",
        per=1000,
        goal=10.0,
        meaning="names that are a pronoun, a participle or a preposition",
        remedy="name the value by a noun of the field",
    ),
    Column(
        "branchy",
        "functions",
        per=100,
        goal=5.0,
        meaning="functions of more than 10 branches",
        remedy="divide the function where its thought divides",
    ),
    Column(
        "branchy kernels",
        "kernels",
        per=100,
        goal=5.0,
        meaning="compiled functions of more than 20 branches",
        remedy="divide the function where its thought divides",
    ),
    Column(
        "long def",
        "definitions",
        per=100,
        goal=5.0,
        meaning="functions of more than 40 lines, compiled ones of more than 80",
        remedy="divide the function where its thought divides",
    ),
    Column(
        "verbs",
        "summaries",
        per=100,
        goal=75.0,
        meaning="docstrings of public functions that begin with a verb",
        remedy="begin the docstring with an imperative verb, such as Return",
        is_reversed=True,
    ),
    Column(
        "doc>88",
        "doc lines",
        per=100,
        goal=0.5,
        meaning="lines of docstrings and comments of more than 88 columns",
        remedy="wrap the text at 88 columns",
    ),
    Column(
        "markers docs",
        "words of docs",
        per=1000,
        goal=3.0,
        meaning="marker words in docstrings and comments",
        remedy="write the sentence again, with a noun and a verb",
    ),
    Column(
        "markers messages",
        "words of messages",
        per=1000,
        goal=3.0,
        meaning="marker words in messages",
        remedy="write the message again, with a noun and a verb",
    ),
    Column(
        "markers pages",
        "words of pages",
        per=1000,
        goal=3.0,
        meaning="marker words in Markdown pages and notebooks",
        remedy="write the sentence again, with a noun and a verb",
    ),
    Column(
        "markers yaml",
        "words of yaml",
        per=1000,
        goal=3.0,
        meaning="marker words in comments and sentences of YAML files",
        remedy="write the sentence again, with a noun and a verb",
    ),
)

COLUMNS_WITH_GOAL = tuple(column for column in COLUMNS if column.goal is not None)
