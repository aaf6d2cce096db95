"""Summaries of Python sources: a digest of the syntax tree, imports and constant texts.

The digest ignores comments, docstrings and the layout of the source. A stored result is
therefore not computed again after such a change.
"""

import ast
import functools
import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from stereo_framework.core.dynamic_imports import dynamic_imports_of
from stereo_framework.core.syntax_trees import parse_source

_LONGEST_TEXT = 200
"""Maximum length of a text that may be the name of a file."""


@dataclass(frozen=True)
class ImportedName:
    """A module or an object that a source imports.

    Parameters
    ----------
    name : str
        Dotted name. For ``from ..maps import scale``, the name is ``maps.scale``.
    level : int
        Number of leading dots, or 0 for an absolute name.
    """

    name: str
    level: int = 0


@dataclass(frozen=True)
class SourceSummary:
    """The parts of a Python source that decide what the source computes.

    Parameters
    ----------
    digest : bytes
        SHA-256 digest of the syntax tree without docstrings.
    imports : tuple of ImportedName
        Imports at all levels of the source, except imports for type checkers only.
    exports : mapping of str to ImportedName
        Imported objects by their names in this source. Imports for type checkers count
        here, because a package may load its names on first use.
    attributes : tuple of str
        Dotted names such as ``numpy.linalg.norm``, which begin with an imported module.
    whole_modules : tuple of str
        Imported names that the source uses without an attribute, for example as an
        argument of `getattr`.
    file_patterns : tuple of str
        Constant texts that may name files. In a pattern such as ``table_*.npy``, the
        star replaces a computed part.
    """

    digest: bytes
    imports: tuple[ImportedName, ...] = ()
    exports: Mapping[str, ImportedName] = field(default_factory=dict)
    attributes: tuple[str, ...] = ()
    whole_modules: tuple[str, ...] = ()
    file_patterns: tuple[str, ...] = ()


@functools.lru_cache(maxsize=4096)
def summarize_source(source: bytes) -> SourceSummary:
    """Summarize a Python source.

    A source that is not valid Python has the digest of its bytes and no imports.

    Parameters
    ----------
    source : bytes
        Content of a Python file.

    Examples
    --------
    >>> first = summarize_source(b"limit = 3  # pixels")
    >>> first.digest == summarize_source(b"limit = (3)").digest
    True
    >>> first.digest == summarize_source(b"limit = 4").digest
    False
    """
    tree = parse_source(source)
    if tree is None:
        return SourceSummary(hashlib.sha256(source).digest())
    nodes, text = _flatten(tree)

    typing_nodes = set(_typing_imports(nodes))
    running_nodes = [node for node in nodes if node not in typing_nodes]
    # Several statements may import alternatives under one name.
    running_imports = list(_imports(running_nodes))
    dynamic_names = dynamic_imports_of(nodes).names
    imported_names = [name for _, name in running_imports]
    imported_names += [ImportedName(name, level) for name, level in dynamic_names]
    attributes, whole_modules = _uses_of_imports(running_nodes, dict(running_imports))
    return SourceSummary(
        digest=hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest(),
        imports=tuple(dict.fromkeys(imported_names)),
        exports=dict(_imports(nodes)),
        attributes=attributes,
        whole_modules=whole_modules,
        file_patterns=tuple(dict.fromkeys(_file_patterns(running_nodes))),
    )


# --- syntax trees -------------------------------------------------------------------


def _flatten(tree: ast.Module) -> tuple[list[ast.AST], str]:
    """Return the nodes of a syntax tree, and a text that describes the tree.

    Docstrings are left out, and so are texts below the definition of a constant, which
    document the constant. A statement that consists of a text has no effect.

    Returns
    -------
    nodes : list of node
        Nodes, level by level.
    text : str
        For each node, the name of its class and its fields. A field that holds nodes
        has their number, so that two different trees have different texts.
    """
    nodes: list[ast.AST] = [tree]
    tokens: list[object] = []
    # The list grows inside the loop. `ast.walk` and `ast.dump` are slower.
    for node in nodes:
        tokens.append(node.__class__.__name__)
        for name in node._fields:
            value = getattr(node, name, None)
            if isinstance(value, list):
                items = value
                if name == "body":
                    items = [statement for statement in value if not _is_text(statement)]
                children = [item for item in items if isinstance(item, ast.AST)]
                nodes += children
                tokens += (len(items), [item for item in items if not isinstance(item, ast.AST)])
            elif isinstance(value, ast.AST):
                nodes.append(value)
                tokens.append("node")
            else:
                tokens.append((value,))
    return nodes, repr(tokens)


def _is_text(statement: ast.AST) -> bool:
    """Return whether a statement consists of a text only."""
    if not isinstance(statement, ast.Expr) or not isinstance(statement.value, ast.Constant):
        return False
    return isinstance(statement.value.value, str)


# --- imports ------------------------------------------------------------------------


def _typing_imports(nodes: list[ast.AST]) -> Iterator[ast.AST]:
    """Yield the import statements in the branches of ``if TYPE_CHECKING:``."""
    for node in nodes:
        if isinstance(node, ast.If) and _is_type_checking(node.test):
            for statement in node.body:
                yield from ast.walk(statement)


def _is_type_checking(test: ast.expr) -> bool:
    """Return whether a condition is ``TYPE_CHECKING`` or ``typing.TYPE_CHECKING``."""
    name = test.attr if isinstance(test, ast.Attribute) else getattr(test, "id", "")
    return name == "TYPE_CHECKING"


def _imports(nodes: list[ast.AST]) -> Iterator[tuple[str, ImportedName]]:
    """Yield the local name and the imported name of each import statement."""
    for node in nodes:
        if isinstance(node, ast.Import):
            for alias in node.names:
                first_part = alias.name.partition(".")[0]
                # ``import a.b`` binds the name ``a``.
                yield alias.asname or alias.name, ImportedName(alias.name)
                if alias.asname is None and first_part != alias.name:
                    yield first_part, ImportedName(first_part)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            for alias in node.names:
                name = f"{base}.{alias.name}".strip(".")
                yield alias.asname or alias.name, ImportedName(name, node.level)


def _uses_of_imports(
    nodes: list[ast.AST], imports: Mapping[str, ImportedName]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Find the attributes of imported modules that a source uses.

    Parameters
    ----------
    nodes : list of node
        Nodes of the syntax tree.
    imports : mapping of str to ImportedName
        Imported names, by the names in the source.

    Returns
    -------
    attributes : tuple of str
        Absolute dotted names, such as ``numpy.linalg.norm``.
    whole_modules : tuple of str
        Absolute names of the imports that are used without an attribute.
    """
    attributes: dict[str, None] = {}
    inner_nodes: set[ast.AST] = set()
    # The nodes come level by level, so `a.b.c` comes before its inner node `a.b`.
    for node in nodes:
        if not isinstance(node, ast.Attribute) or node in inner_nodes:
            continue
        parts = [node.attr]
        value = node.value
        while isinstance(value, ast.Attribute):
            inner_nodes.add(value)
            parts.append(value.attr)
            value = value.value
        inner_nodes.add(value)
        imported = imports.get(value.id) if isinstance(value, ast.Name) else None
        if imported is not None and imported.level == 0:
            attributes[".".join([imported.name, *reversed(parts)])] = None

    whole_modules: dict[str, None] = {}
    for node in nodes:
        if isinstance(node, ast.Name) and node.id in imports and node not in inner_nodes:
            imported = imports[node.id]
            if imported.level == 0:
                whole_modules[imported.name] = None
    return tuple(attributes), tuple(whole_modules)


# --- names of files -----------------------------------------------------------------


def _file_patterns(nodes: list[ast.AST]) -> Iterator[str]:
    """Yield the constant texts that may name files, and patterns of computed texts."""
    parts_of_texts: set[ast.AST] = set()
    for node in nodes:
        if isinstance(node, ast.JoinedStr):
            parts_of_texts.update(node.values)
            parts = [_constant_text(value) or "*" for value in node.values]
            if any(part != "*" for part in parts):
                yield from _possible_name("".join(parts))
    for node in nodes:
        text = _constant_text(node)
        if text and node not in parts_of_texts:
            yield from _possible_name(text)


def _constant_text(node: ast.AST) -> str:
    """Return the text of a node that is a constant text, otherwise an empty text."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    return ""


def _possible_name(text: str) -> Iterator[str]:
    """Yield a text if it may be the name of a file or a pattern of such names.

    In ``f"{folder}/table.npy"``, the computed part is a folder, which is left out.
    """
    name = text.removeprefix("*/")
    if name.strip("*./\\") and len(name) <= _LONGEST_TEXT and name.isprintable():
        yield name
