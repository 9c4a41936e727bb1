"""Helpers of the page writers: Markdown tables, and replacing text between marks."""

import re
from collections.abc import Callable, Iterable, Sequence

__all__ = ["row", "table", "updated"]


def row(texts: Iterable[str]) -> str:
    """Return a row of a Markdown table."""
    return f"| {' | '.join(texts)} |"


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a Markdown table."""
    return "\n".join(map(row, [header, ["---"] * len(header), *rows]))


def updated(text: str, sections: Iterable[Callable[[], str]]) -> str:
    """Return a page with each section's text between ``<!-- name -->`` and ``<!-- end -->``."""
    for make in sections:
        marks = rf"(<!-- {make.__name__} -->\n).*?(<!-- end -->)"
        new = make() + "\n"
        text, count = re.subn(marks, lambda m, new=new: m[1] + new + m[2], text, flags=re.DOTALL)
        if count != 1:
            raise ValueError(
                f"the page must have one `<!-- {make.__name__} -->` section, not {count}"
            )
    return text
