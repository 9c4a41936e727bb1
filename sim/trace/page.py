"""Self-contained HTML pages: template, style, script and data in one file."""

import json
from html import escape
from pathlib import Path
from typing import Any

__all__ = ["filled"]

FOLDER = Path(__file__).parent


def filled(name: str, title: str, data: dict[str, Any]) -> str:
    """Return a page with its style, its script and the data they show."""
    # A text must not end the element that the data stand in.
    embedded = json.dumps(data, separators=(",", ":")).replace("<", "\\u003c")
    page = (FOLDER / f"{name}.html").read_text().replace("@TITLE@", escape(f"Spica: {title}"))
    page = page.replace("@STYLE@", (FOLDER / "page.css").read_text().rstrip())
    script = "\n".join((FOLDER / file).read_text() for file in ("page.js", f"{name}.js"))
    # The data last: nothing is replaced in them.
    return page.replace("@SCRIPT@", script).replace("@DATA@", embedded)
