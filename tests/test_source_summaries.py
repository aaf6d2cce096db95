"""The summary of a source covers everything that decides what the source computes."""

import ast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stereo_framework.core.source_summaries import ImportedName, summarize_source

SOURCE = '''"""Module."""

import numpy as np

LIMIT = 3
"""Limit in pixels."""


class Window:
    """Window."""

    size: int = 5
    is_square = True


def cost(image, *, weight=0.5):
    """Return the cost."""
    # The weight is small.
    return np.abs(image) * weight + LIMIT
'''

EQUAL_SOURCES = {
    "another comment": ("# The weight is small.", "# The weight is not large."),
    "no comment": ("    # The weight is small.\n", ""),
    "another docstring of the module": ('"""Module."""', '"""Costs."""'),
    "no docstring of the module": ('"""Module."""\n', ""),
    "another docstring of a function": ("Return the cost.", "Compute costs."),
    "no docstring of a class": ('    """Window."""\n', ""),
    "another text below a constant": ("Limit in pixels", "Limit in grey levels"),
    "a line break": ("np.abs(image) *", "np.abs(\n        image\n    ) *"),
    "redundant parentheses": ("np.abs(image) * weight", "(np.abs(image) * weight)"),
    "another notation of a number": ("weight=0.5", "weight=0.50"),
    "blank lines": ("LIMIT = 3", "\n\n\nLIMIT = 3"),
}
"""Texts of the source and what replaces them, without effect on the digest."""

DIFFERENT_SOURCES = {
    "a constant": ("LIMIT = 3", "LIMIT = 4"),
    "the type of a number": ("LIMIT = 3", "LIMIT = 3.0"),
    "a truth value": ("is_square = True", "is_square = 1"),
    "a default value": ("weight=0.5", "weight=0.25"),
    "an annotation": ("size: int", "size: float"),
    "an operator": ("weight + LIMIT", "weight - LIMIT"),
    "the order of operations": ("weight + LIMIT", "(weight + LIMIT)"),
    "a name": ("np.abs", "np.square"),
    "an import": ("import numpy as np", "import numpy.ma as np"),
    "a further statement": ("LIMIT = 3", "LIMIT = 3\nLIMIT += 1"),
    "the kind of a parameter": ("image, *,", "image, /, *,"),
    "a decorator": ("class Window", "@final\nclass Window"),
}
"""Texts of the source and what replaces them, with an effect on the digest."""


def digest(source):
    """Return the digest of a source text."""
    return summarize_source(source.encode()).digest


def replaced(old, new):
    """Return the source with another text in one place."""
    assert SOURCE.count(old) == 1
    return SOURCE.replace(old, new)


@pytest.mark.parametrize("name", EQUAL_SOURCES)
def test_comments_docstrings_and_layout_do_not_count(name):
    assert digest(replaced(*EQUAL_SOURCES[name])) == digest(SOURCE)


@pytest.mark.parametrize("name", DIFFERENT_SOURCES)
def test_each_other_change_counts(name):
    assert digest(replaced(*DIFFERENT_SOURCES[name])) != digest(SOURCE)


def test_a_text_that_is_used_counts():
    assert digest('name = "a"') != digest('name = "b"')
    assert digest('def f():\n    return "a"') != digest('def f():\n    return "b"')


EXPRESSIONS = st.recursive(
    st.sampled_from(["a", "b", "1", "1.0", "True", "None", "'1'", "b'1'"]),
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from("+-*"), inner).map(lambda parts: f"({''.join(parts)})"),
        st.lists(inner, max_size=3).map(lambda items: f"[{', '.join(items)}]"),
        st.lists(inner, max_size=3).map(lambda items: f"f({', '.join(items)})"),
        inner.map(lambda text: f"(lambda x: {text})"),
    ),
    max_leaves=6,
)


@given(EXPRESSIONS, EXPRESSIONS)
def test_two_sources_have_one_digest_only_if_their_syntax_trees_are_equal(first, second):
    trees_are_equal = ast.dump(ast.parse(f"x = {first}")) == ast.dump(ast.parse(f"x = {second}"))
    assert (digest(f"x = {first}") == digest(f"x = {second}")) == trees_are_equal


def test_a_source_that_is_not_python_has_the_digest_of_its_bytes():
    assert summarize_source(b"def f(:\n").imports == ()
    assert digest("def f(:\n") != digest("def g(:\n")


# --- imports ------------------------------------------------------------------------


def test_imports_are_found_at_all_levels():
    source = b"""
import a.b as c
from d import e as f
from ..g import h
def function():
    import i
    if True:
        from j import *
importlib.import_module("k")
"""
    names = {("a.b", 0), ("d.e", 0), ("g.h", 2), ("i", 0), ("j.*", 0), ("k", 0)}
    assert set(summarize_source(source).imports) == {ImportedName(*name) for name in names}


@pytest.mark.parametrize("condition", ["TYPE_CHECKING", "typing.TYPE_CHECKING"])
def test_imports_for_type_checkers_reach_nothing(condition):
    source = f"if {condition}:\n    import a\nelse:\n    import b\nx: a.C = a\n"
    summary = summarize_source(source.encode())
    assert set(summary.imports) == {ImportedName("b")}
    assert summary.attributes == summary.whole_modules == ()
    assert set(summary.exports) == {"a", "b"}


def test_attributes_of_imported_modules_are_found():
    source = b"""
import stereo_framework as sf
from stereo_framework import aggregation
import numpy.linalg
x = sf.matching_cost.census(aggregation.box, numpy.linalg.norm)
getattr(sf, "name")
"""
    summary = summarize_source(source)
    assert set(summary.attributes) == {
        "stereo_framework.matching_cost.census",
        "stereo_framework.aggregation.box",
        "numpy.linalg.norm",
    }
    assert summary.whole_modules == ("stereo_framework",)


# --- names of files -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("expression", "pattern"),
    [
        ("'table.npy'", "table.npy"),
        ("f'table_{size}.npy'", "table_*.npy"),
        ("f'{folder}/table.npy'", "table.npy"),
        ("os.path.join(folder, 'weights', 'a.yaml')", "a.yaml"),
        ("folder.glob('*.csv')", "*.csv"),
    ],
)
def test_constant_texts_may_name_files(expression, pattern):
    assert pattern in summarize_source(f"x = {expression}".encode()).file_patterns


def test_docstrings_and_long_texts_name_no_files():
    source = f'"""table.npy"""\nx = {"a" * 300!r}\ny = "a\\nb.npy"\n'
    assert summarize_source(source.encode()).file_patterns == ()
