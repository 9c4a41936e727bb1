"""Parser of Liberty text into groups and attributes."""

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field

__all__ = ["Group", "parse_groups"]

COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
STATEMENT = re.compile(
    r"""[\s;]*(?:
    (?P<end>\}) |
    (?P<name>[\w.]+)\s*(?:
        :\s*(?:"(?P<text>[^"]*)"|(?P<word>[^;{}\n]*)) |
        \((?P<list>(?:"[^"]*"|[^()"])*)\)\s*(?P<group>\{)?
    ))""",
    re.VERBOSE,
)
BRACE = re.compile(r"[{}]")
ITEM = re.compile(r'"([^"]*)"|([^\s,"]+)')


@dataclass
class Group:
    """Group of a Liberty file, ``kind (names) { ... }``.

    Parameters
    ----------
    kind : str
        Keyword.
    names : tuple of str
        Items in its parentheses.
    attributes : dict of str to str
        Simple attributes, ``name : value ;``, without quotes.
    lists : dict of str to tuple of str
        Complex attributes, ``name (item, item) ;``, without quotes.
    groups : list of Group
        Groups in it.

    """

    kind: str
    names: tuple[str, ...]
    attributes: dict[str, str] = field(default_factory=dict)
    lists: dict[str, tuple[str, ...]] = field(default_factory=dict)
    groups: list["Group"] = field(default_factory=list)

    def of_kind(self, *kinds: str) -> Iterator["Group"]:
        """Yield the groups in it of some kinds."""
        return (group for group in self.groups if group.kind in kinds)


def parse_groups(text: str, skipped: Collection[str] = ()) -> list[Group]:
    """Return the outermost groups of a text, without groups of the `skipped` kinds.

    Raises `ValueError` with the line if the text is not in Liberty format.
    """
    # Comments and continued lines keep their line ends, so that line numbers stay.
    text = COMMENT.sub(lambda match: "\n" * match[0].count("\n") or " ", text)
    text = text.replace("\\\n", " \n")
    root = Group("", ())
    open_groups, at = [root], 0
    while match := STATEMENT.match(text, at):
        at = match.end()
        if match["end"]:
            if len(open_groups) == 1:
                raise ValueError(f"line {line_of(text, at)}: a brace too many")
            open_groups.pop()
        elif match["group"]:
            group = Group(match["name"], items(match["list"]))
            if group.kind in skipped:
                at = end_of_group(text, at)
            else:
                open_groups[-1].groups.append(group)
                open_groups.append(group)
        elif match["list"] is not None:
            open_groups[-1].lists[match["name"]] = items(match["list"])
        else:
            value = match["text"] if match["text"] is not None else match["word"]
            open_groups[-1].attributes[match["name"]] = value.strip()
    if text[at:].strip("; \t\r\n"):
        raise ValueError(f"line {line_of(text, at)}: no statement in Liberty format")
    if len(open_groups) > 1:
        raise ValueError(f"line {line_of(text, at)}: a group without its end")
    return root.groups


def items(text: str) -> tuple[str, ...]:
    """Return the items of a list."""
    return tuple((match[1] if match[1] is not None else match[2]) for match in ITEM.finditer(text))


def end_of_group(text: str, at: int) -> int:
    """Return the end of a group whose contents begin at a position."""
    depth = 1
    while depth:
        brace = BRACE.search(text, at)
        if brace is None:
            raise ValueError(f"line {line_of(text, at)}: a group without its end")
        at = brace.end()
        depth += 1 if brace[0] == "{" else -1
    return at


def line_of(text: str, at: int) -> int:
    """Return the line of a position."""
    return text.count("\n", 0, at) + 1
