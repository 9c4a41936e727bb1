"""Planted faults: small edits of the sources, each of which a test or a proof must detect.

Files `faults.diff` declare them; CONTRIBUTING.md, "Plant a fault", describes their format. A fault
in Python is found by class, method and a pattern of the syntax tree. `$name` in a pattern stands
for any expression, so that no pattern depends on the name of a local variable.
"""

import ast
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from .sources import sources

__all__ = ["Fault", "edits", "faults_of", "misfits", "plant", "planted"]

#: Begin of the names of wildcards in the syntax tree of a pattern.
WILD = "__"
#: Fields of syntax trees that patterns ignore.
IGNORED = {"ctx", "kind", "type_comment"}


@dataclass(frozen=True, kw_only=True)
class Fault:
    """One edit of one source.

    Parameters
    ----------
    guards : tuple of str
        Tests or proofs that must detect the fault.
    where : str
        Class, method or function, for example ``Round.rounds_up``, or name of a file.
    what : str
        The fault in words.
    context, old, new : tuple of str, str, str
        Patterns that bind further names, the replaced pattern and its replacement.

    """

    guards: tuple[str, ...]
    where: str
    what: str
    context: tuple[str, ...]
    old: str
    new: str


def faults_of(path: Path) -> tuple[Fault, ...]:
    """Return the faults that a file declares."""
    faults, guards = [], ()
    for block in re.split(r"^(?=@@|\w)", path.read_text(), flags=re.M)[1:]:
        if not block.startswith("@@"):
            guards = tuple(block.split())
            continue
        head, *lines = block.splitlines()
        _, where, what = (part.strip() for part in head.split("@@"))
        context, old, new = ([line[1:] for line in lines if line[:1] == sign] for sign in " -+")
        edit = {"context": tuple(context), "old": "\n".join(old), "new": "\n".join(new)}
        faults.append(Fault(guards=guards, where=where, what=what, **edit))
    return tuple(faults)


def edits(fault: Fault, path: Path, text: str) -> Iterator[str]:
    """Yield the text of a source with the fault, for each match of its patterns."""
    if path.suffix == ".py":
        yield from tree_edits(fault, text)
    elif path.name == fault.where:
        for match in re.finditer(re.escape(fault.old), text):
            yield text[: match.start()] + fault.new + text[match.end() :]


def tree_edits(fault: Fault, text: str) -> Iterator[str]:
    """Yield the text of a source in Python with the fault, for each match of its patterns."""
    scopes: list = [parsed(text)]
    for name in fault.where.split("."):
        scopes = [
            node for scope in scopes for node in scope.body if getattr(node, "name", 0) == name
        ]
    for scope in scopes:
        bindings: list = [({}, None)]
        for pattern in map(pattern_of, (*fault.context, fault.old)):
            bindings = [
                (bound, node)
                for before, _ in bindings
                for node in ast.walk(scope)
                if matches(pattern, node, bound := dict(before))
            ]
        for bound, node in bindings:
            new = re.sub(r"\$(\w+)", lambda wild, bound=bound: bound[wild[1]], fault.new)
            new = f"({new})" if isinstance(node, ast.expr) else new
            *before, line = text.split("\n")[: node.lineno]
            # Columns of syntax trees count bytes.
            begin = sum(len(row) + 1 for row in before)
            begin += len(line.encode()[: node.col_offset].decode())
            end = begin + len(ast.get_source_segment(text, node) or "")
            yield text[:begin] + new + text[end:]


@cache
def parsed(text: str) -> ast.Module:
    """Return the syntax tree of a source."""
    return ast.parse(text)


def pattern_of(code: str) -> ast.AST:
    """Return the syntax tree of a pattern."""
    (statement,) = ast.parse(re.sub(r"\$(?=\w)", WILD, code), code).body
    return statement.value if isinstance(statement, ast.Expr) else statement


def matches(pattern, node, bound: dict[str, str]) -> bool:
    """Return whether a node matches; bind names of wildcards to the text of their expressions."""
    if isinstance(pattern, ast.Name) and pattern.id.startswith(WILD):
        if not isinstance(node, ast.expr):
            return False
        text = f"({ast.unparse(node)})"
        return bound.setdefault(pattern.id.removeprefix(WILD), text) == text
    if isinstance(pattern, list):
        return len(pattern) == len(node) and all(
            matches(inner, other, bound) for inner, other in zip(pattern, node, strict=True)
        )
    if not isinstance(pattern, ast.AST):
        return pattern == node
    return type(pattern) is type(node) and all(
        matches(getattr(pattern, field, None), getattr(node, field, None), bound)
        for field in pattern._fields
        if field not in IGNORED
    )


@cache
def defining() -> dict[str, list[Path]]:
    """Return the sources by the names that they define, those not in Python by their stems."""
    paths = defaultdict(list)
    for path, text in sources().items():
        names = re.findall(r"^(?:class|def) (\w+)", text, re.M)
        for name in names if path.suffix == ".py" else [path.stem]:
            paths[name].append(path)
    return paths


def planted(fault: Fault) -> tuple[Path, str]:
    """Return the path, from the root, and the text of the source with a fault.

    Raises
    ------
    ValueError
        If there is no such place, or more than one.

    """
    sites = [
        (path, edit)
        for path in defining().get(fault.where.partition(".")[0], ())
        for edit in edits(fault, path, sources()[path])
    ]
    if len(sites) != 1:
        raise ValueError(
            f"fault {fault.what!r} must match once in {fault.where}, not {len(sites)} times: "
            f"{fault.old!r}"
        )
    return sites[0]


def misfits(faults: Iterable[Fault]) -> list[str]:
    """Return a message for each fault that does not match once."""
    messages = []
    for fault in faults:
        try:
            planted(fault)
        except ValueError as error:
            messages.append(str(error))
    return messages


def plant(fault: Fault, target: Path) -> None:
    """Plant a fault in the copy of the sources below `target`."""
    path, text = planted(fault)
    (target / "spica" / path).write_text(text)
