"""Small changes of the source code, and their draw."""

import ast

import pytest
from mutation.changes import changes, draw


def changed_sources(source, kind):
    """Return the source with each change of a kind, in the order of the changes."""
    of_kind = [change for change in changes(ast.parse(source)) if change.kind == kind]
    return [change.applied(source) for change in of_kind]


@pytest.mark.parametrize(
    ("kind", "source", "expected"),
    [
        ("comparison", "a < b", ["(a <= b)"]),
        ("comparison", "a >= b", ["(a > b)"]),
        ("comparison", "a is None", ["(a is not None)"]),
        ("comparison", "a in b", ["(a not in b)"]),
        ("comparison", "0 <= a < n", ["(0 < a < n)", "(0 <= a <= n)"]),
        ("constant", "f(3)", ["f((4))"]),
        ("constant", "f(0.5)", ["f((1.5))"]),
        ("constant", "f(True)", ["f((False))"]),
        ("default", "def f(a, b=2, *, c=False): pass", [
            "def f(a, b=2, *, c=(True)): pass",
            "def f(a, b=(3), *, c=False): pass",
        ]),
        ("default", "class A:\n    size: int = 3", ["class A:\n    size: int = (4)"]),
        ("sign", "a - b", ["(a + b)"]),
        ("sign", "-a", ["(a)"]),
        ("sign", "a += b", ["a -= b"]),
        ("operator", "a * b", ["(a / b)"]),
        ("operator", "a & b", ["(a | b)"]),
        ("operator", "a and b", ["(a or b)"]),
        ("condition", "a and b and c", ["(b and c)", "(a and c)", "(a and b)"]),
        ("arguments", "f(a, b, c)", ["(f(b, a, c))", "(f(a, c, b))"]),
        ("not", "not a", ["(a)"]),
        ("not", "a[~known]", ["a[(known)]"]),
        ("keyword", "f(a, b=1, c=2)", ["(f(a, c=2))", "(f(a, b=1))"]),
        ("key", "cells[a, b]", ["cells[((b,))]", "cells[((a,))]"]),
        ("key", "return_value = {'a': 1, 'b': 2}", [
            "return_value = ({'b': 2})",
            "return_value = ({'a': 1})",
        ]),
        ("key", "key = f'{a}-{b}'", ["key = (f'-{b}')", "key = (f'{a}-')"]),
        ("counterpart", "min(a, b)", ["(max)(a, b)"]),
        ("counterpart", "np.floor(a)", ["(np.ceil)(a)"]),
        ("statement", "items.append(a)", ["pass"]),
    ],
)  # fmt: skip
def test_changes_of_each_kind(kind, source, expected):
    assert changed_sources(source, kind) == expected


@pytest.mark.parametrize(
    "source",
    [
        '"""Return 1 < 2."""',
        "__all__ = ['a', 'b']",
        "def f(a: Literal[1, 2]) -> Literal[3]: pass",
        "size: Literal[1, 2]",
        "raise ValueError(f'{a} is not {1 + 1}')",
        "warnings.warn(f'{a} < {b - 1}')",
        "warnings.warn('few', ResultWarning)",
        "message = f'{1 + 1} scenes'",
        "if TYPE_CHECKING:\n    x = 1",
        "if __name__ == '__main__':\n    main(1)",
        "x = f(*a, *b)",
        "x = f(a, a)",
        "x = np.hypot(a, b)",
        "a, b = c, d",
        "image[i:, :]",
        "'a' + b",
        "label = f'{a} and {b}'",
    ],
)
def test_texts_and_types_are_never_changed(source):
    assert [change.texts() for change in changes(ast.parse(source))] == []


def test_metadata_of_annotations_are_changed():
    source = "def f(size: Annotated[int, Ge(1)]): pass"
    expected = ["def f(size: Annotated[int, Ge((2))]): pass"]
    assert changed_sources(source, "constant") == expected


def test_rest_of_the_text_stays_as_it_is():
    source = "a = (1  # ä comment\n     < b)\nc   =  3\n"
    assert changed_sources(source, "comparison") == ["a = ((1 <= b))\nc   =  3\n"]
    # Columns of a syntax tree are counted in bytes.
    assert changed_sources("é = 'é', a < b", "comparison") == ["é = 'é', (a <= b)"]


def test_change_inside_an_f_string():
    source = "text = f'{a + 1} px'\n"
    assert changed_sources(source, "sign") == ["text = (f'{a - 1} px')\n"]


def test_changed_source_is_the_changed_tree():
    source = "def f(a, b=1):\n    while a < b:\n        a += {'x': -b, 'y': not a}['x']\n"
    original = ast.dump(ast.parse(source))
    for change in changes(ast.parse(source)):
        changed = ast.dump(ast.parse(change.applied(source)))
        assert changed != original
        old, new = change.texts()
        assert old != new


def test_long_statements_are_shown_without_their_body():
    [change] = changes(ast.parse("while a < b:\n    f(a)\n"))[:1]
    assert change.texts() == ("a < b", "a <= b")


UNFORMATTED = """
def f(a,
      b = 1):
    # A comment.
    if (a < b
        and not a): return  a+b
    return min(a,b) ; f(b, a)
"""

FORMATTED = """
def f(a, b=1):
    if a < b and not a:
        return a + b
    return min(a, b)
    f(b, a)
"""


def test_draw_does_not_depend_on_formatting():
    def drawn(source):
        candidates = changes(ast.parse(source))
        indices = draw(candidates, 5, seed=3)
        return [(i, candidates[i].kind, candidates[i].texts()) for i in indices]

    assert drawn(UNFORMATTED) == drawn(FORMATTED)


def test_draw_depends_on_the_seed_alone():
    candidates = changes(ast.parse(FORMATTED))
    assert draw(candidates, 8, seed=1) == draw(candidates, 8, seed=1)
    assert draw(candidates, 8, seed=1) != draw(candidates, 8, seed=2)


def test_smaller_draw_begins_a_larger_one():
    candidates = changes(ast.parse(FORMATTED))
    assert draw(candidates, 4, seed=1) == draw(candidates, 9, seed=1)[:4]
    everything = draw(candidates, 1000, seed=1)
    assert sorted(everything) == list(range(len(candidates)))


def test_draw_takes_kinds_in_turn():
    candidates = changes(ast.parse("x = [1, 2, 3, 4, 5, 6, 7, 8, 9]\ny = a < b\nz = not a\n"))
    kinds = {candidates[i].kind for i in draw(candidates, 4, seed=1)}
    assert kinds == {"comparison", "constant", "key", "not"}
