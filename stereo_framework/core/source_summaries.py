"""Summarize Python sources by a digest, the imported names and the constant texts.

The digest ignores comments, docstrings and the layout of the source. If only these
parts of a source change, stored results are therefore not computed again.
"""

import ast
import functools
import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from stereo_framework.core.dynamic_imports import dynamic_imports_of
from stereo_framework.core.syntax_trees import parse_source

_LONGEST_TEXT = 200
"""Maximum length of a text that may be the name of a file, in characters."""


@dataclass(frozen=True)
class ImportedName:
    """A module or an object that a source imports.

    Parameters
    ----------
    name : str
        Dotted name of the module or object. For the statement
        ``from ..maps import scale``, the name is ``maps.scale``.
    level : int
        Number of leading dots in the import statement, or 0 for an absolute name.
    """

    name: str
    level: int = 0


@dataclass(frozen=True)
class SourceSummary:
    """Summary of a Python source, on which stored results may depend.

    Parameters
    ----------
    digest : bytes
        SHA-256 digest of the syntax tree without docstrings.
    imports : tuple of ImportedName
        Names that the source imports, at the top level or inside functions. Imports
        below ``if TYPE_CHECKING:`` are left out.
    exports : mapping of str to ImportedName
        Imported modules and objects, by their names in the source. Imports below
        ``if TYPE_CHECKING:`` are included, because a package may list names below this
        line and import the names only when they are first used.
    attributes : tuple of str
        Dotted names that begin with an imported module, such as ``numpy.linalg.norm``.
    whole_modules : tuple of str
        Imported names that the source uses without an attribute, for example as an
        argument of `getattr`.
    file_patterns : tuple of str
        Constant texts in the source that may be names of files. If the source computes
        a part of a name, a star replaces this part, as in ``table_*.npy``.
    """

    digest: bytes
    imports: tuple[ImportedName, ...] = ()
    exports: Mapping[str, ImportedName] = field(default_factory=dict)
    attributes: tuple[str, ...] = ()
    whole_modules: tuple[str, ...] = ()
    file_patterns: tuple[str, ...] = ()


@functools.lru_cache(maxsize=4096)
def summarize_source(source: bytes) -> SourceSummary:
    """Summarize a Python source by its digest, imported names and constant texts.

    If the source is not valid Python, the summary contains the digest of the bytes and
    no imported names.

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
    # A source may import different modules under the same name, for example after
    # `try` and `except`. Therefore the imports are kept in a list with all statements.
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

    Statements that consist only of a text are left out, because they have no effect.
    Examples are docstrings, and the texts that document constants.

    Returns
    -------
    nodes : list of node
        All nodes of the tree, level by level.
    text : str
        Text with the name of the class and the fields of each node. For a field with
        child nodes, the text contains the number of child nodes. Two different trees
        therefore have different texts.
    """
    nodes: list[ast.AST] = [tree]
    tokens: list[object] = []
    # The loop appends the children of each node to the list `nodes`. A loop over
    # `ast.walk` and a call of `ast.dump` would be slower.
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
    """Return whether a statement consists only of a constant text."""
    if not isinstance(statement, ast.Expr) or not isinstance(statement.value, ast.Constant):
        return False
    return isinstance(statement.value.value, str)


# --- imports ------------------------------------------------------------------------


def _typing_imports(nodes: list[ast.AST]) -> Iterator[ast.AST]:
    """Yield all nodes of the statements below ``if TYPE_CHECKING:``."""
    for node in nodes:
        if isinstance(node, ast.If) and _is_type_checking(node.test):
            for statement in node.body:
                yield from ast.walk(statement)


def _is_type_checking(test: ast.expr) -> bool:
    """Return whether a condition is ``TYPE_CHECKING`` or ``typing.TYPE_CHECKING``."""
    name = test.attr if isinstance(test, ast.Attribute) else getattr(test, "id", "")
    return name == "TYPE_CHECKING"


def _imports(nodes: list[ast.AST]) -> Iterator[tuple[str, ImportedName]]:
    """Yield the name in the source and the imported name, for each imported object."""
    for node in nodes:
        if isinstance(node, ast.Import):
            for alias in node.names:
                first_part = alias.name.partition(".")[0]
                # The statement ``import a.b`` defines the name ``a`` in the source.
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
        Nodes of the syntax tree, level by level.
    imports : mapping of str to ImportedName
        Imported modules and objects, by their names in the source.

    Returns
    -------
    attributes : tuple of str
        Absolute dotted names of the used attributes, such as ``numpy.linalg.norm``.
    whole_modules : tuple of str
        Absolute names of imported modules and objects that the source uses without an
        attribute.
    """
    attributes: dict[str, None] = {}
    inner_nodes: set[ast.AST] = set()
    # The nodes have the order of the levels of the tree. Therefore the node of `a.b.c`
    # comes before its inner node `a.b`, which is skipped.
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
    """Yield the constant texts and the patterns that may be names of files."""
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
    """Return the text of a node, or an empty text if the node is no constant text."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    return ""


def _possible_name(text: str) -> Iterator[str]:
    """Yield a text if the text may be the name of a file or a pattern of such names.

    A computed folder at the beginning of a pattern is left out. For example, the source
    ``f"{folder}/table.npy"`` has the pattern ``*/table.npy``, and the function yields
    ``table.npy``.
    """
    name = text.removeprefix("*/")
    if name.strip("*./\\") and len(name) <= _LONGEST_TEXT and name.isprintable():
        yield name
