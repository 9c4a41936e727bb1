"""Source locations as text."""

from collections.abc import Iterator
from typing import Any

__all__ = ["inside", "place_lines", "source_line", "spot"]


def place_lines(place: dict[str, Any] | None, indent: str = "  ") -> Iterator[str]:
    """Yield a source location and the text of its line."""
    if place is None:
        yield f"{indent}in code without source lines"
        return
    yield f"{indent}{spot(place)}"
    if place["text"] is not None:
        yield source_line(place["line"], place["text"], indent)


def spot(place: dict[str, Any] | None) -> str:
    """Return a source location as short text."""
    if place is None:
        return "code without source lines"
    if place["line"] is None:
        return f"in {place['function']}, without source lines"
    calls = "".join(f", called at {call}" for call in place["calls"][:2])
    return f"{place['file']}:{place['line']}{inside(place['function'])}{calls}"


def inside(function: str | None) -> str:
    """Return the function around a line as text, "" if it is not known."""
    return f" in {function}" if function else ""


def source_line(number: int, text: str, indent: str) -> str:
    """Return a line of source code with marker and line number."""
    return f"{indent}> {number:4} | {text.expandtabs(4)}"
