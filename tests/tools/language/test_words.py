"""Identifiers of the hardware are words of the field: request, lookup, pending, not ask or look."""

import re
import tokenize
from pathlib import Path

ROOT = Path(__file__).parents[3]
#: Parts of names of blocks, ports and signals that say what a person does.
COLLOQUIAL = re.compile(
    r"(^|_)(asks?|asked|asking|wants?|wanted|came|comes?|look(s|ed)?|owe[sd]?|mine|news|tells?"
    r"|told|meets?|met|judge[sd]?|note[sd]?|insists?|forgets?|forgot|goe?s?_on)(_|$)",
    re.IGNORECASE,
)


def names_of(path):
    """Yield the names of a source: identifiers, and strings that name ports or signals."""
    with path.open("rb") as text:
        for token in tokenize.tokenize(text.readline):
            if token.type == tokenize.NAME:
                yield token.string
            elif token.type == tokenize.STRING and re.fullmatch(r"[\"'][a-z_]+[\"']", token.string):
                yield token.string[1:-1]


def is_colloquial(name):
    """Return whether a name has a word that the field does not use."""
    return COLLOQUIAL.search(name) is not None


def test_names_of_hardware_are_those_of_the_field():
    assert is_colloquial("line_came") and is_colloquial("goes_on") and not is_colloquial("lookup")
    found = {
        path.relative_to(ROOT).as_posix(): sorted({*filter(is_colloquial, names_of(path))})
        for path in (ROOT / "hw").rglob("*.py")
    }
    assert {path: names for path, names in found.items() if names} == {}
