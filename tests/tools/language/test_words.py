"""Names in the sources are words of the field: request, lookup, pending, not ask or look."""

import re
import tokenize
from collections.abc import Callable, Iterator
from pathlib import Path

ROOT = Path(__file__).parents[3]
#: Parts of names that say what a person does.
COLLOQUIAL = re.compile(
    r"(^|_)(asks?|asked|asking|wants?|wanted|came|comes?|look(s|ed)?|owe[sd]?|mine|news|tells?"
    r"|told|meets?|met|judge[sd]?|note[sd]?|insists?|forgets?|forgot|goe?s?_on)(_|$)",
    re.IGNORECASE,
)
#: Names of the act of getting a thing, which do not say what the thing is.
ACTS = ("found", "taken", "each", "kept")
ROOMS = (
    *("base", "hw", "kernels", "sim", "synth", "explore", "api", "cli"),
    *("bench", "formal", "docs", "examples", "tests"),
)
#: Folders of a room that are not checked: they name the words.
LEFT = ("tests/tools/language/",)
#: Names that are fixed elsewhere, by room: functions of the headers that users include, keys of
#: results, ports with users in other rooms, terms.
FIXED = {
    "kernels": (
        # Functions of user headers.
        *("spica_meet", "spica_meet_h", "virgo_meet", "virgo_meet_of", "virgo_look_again"),
        # Remarks on a program.
        *("note", "notes"),
    ),
    "sim": ("came_from", "notes"),  # keys of result files
    # A note of a table or a chart; key of the clock that a board is to have.
    "explore": ("note", "notes", "numerics_notes"),
    "api": ("note",),
    "cli": ("note", "notes", "sums_note", "wanted_hertz"),
    # Keys of results, and whether a target is met.
    "bench": ("met", "notes"),
    "docs": ("notes",),
    "tests": ("came_from", "met", "note", "notes"),
}
SOURCES = (".py", ".c", ".cpp", ".h", ".hpp")
#: Comments and strings of C and C++.
TEXT = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"', re.DOTALL)


def names_of(path: Path) -> Iterator[str]:
    """Yield the names of a source: identifiers, and strings that name ports or signals."""
    if path.suffix != ".py":
        yield from re.findall(r"[A-Za-z_]\w*", TEXT.sub(" ", path.read_text()))
        return
    with path.open("rb") as text:
        for token in tokenize.tokenize(text.readline):
            if token.type == tokenize.NAME:
                yield token.string
            elif token.type == tokenize.STRING and re.fullmatch(r"[\"'][a-z_]+[\"']", token.string):
                yield token.string[1:-1]


def names_in(room: str) -> dict[str, set[str]]:
    """Return the names of the sources of a room, by path, without the fixed ones."""
    paths = (path for path in (ROOT / room).rglob("*") if path.suffix in SOURCES)
    names = {path.relative_to(ROOT).as_posix(): {*names_of(path)} for path in paths}
    return {
        path: {name for name in some if name.lower() not in FIXED.get(room, ())}
        for path, some in names.items()
        if not path.startswith(LEFT)
    }


def is_colloquial(name: str) -> bool:
    """Return whether a name has a word that the field does not use."""
    return COLLOQUIAL.search(name) is not None


def is_act(name: str) -> bool:
    """Return whether a name is that of an act and not of a thing."""
    return name.lower() in ACTS


def chosen(names: dict[str, set[str]], criterion: Callable[[str], bool]) -> dict[str, list[str]]:
    """Return the names that satisfy a criterion, by path."""
    hits = {path: sorted(filter(criterion, some)) for path, some in names.items()}
    return {path: some for path, some in hits.items() if some}


def test_words_are_recognised(tmp_path):
    assert is_colloquial("line_came") and is_colloquial("goes_on") and not is_colloquial("lookup")
    assert is_act("KEPT") and not is_act("is_kept")
    source = tmp_path / "block.cpp"
    source.write_text('int owed; // asked\nconst char *text = "came";  /* told */\n')
    assert [*filter(is_colloquial, names_of(source))] == ["owed"]


def test_names_are_those_of_the_field():
    assert {room: chosen(names_in(room), is_colloquial) for room in ROOMS} == {
        room: {} for room in ROOMS
    }


def test_names_say_what_a_thing_is():
    assert {room: chosen(names_in(room), is_act) for room in ROOMS} == {room: {} for room in ROOMS}
