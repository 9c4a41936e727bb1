"""Self-contained HTML pages: template, style, script and data in one file."""

import json
from html import escape
from pathlib import Path
from typing import Any

__all__ = ["STYLE", "filled"]

FOLDER = Path(__file__).parent
#: Style of all pages.
STYLE = (FOLDER / "page.css").read_text().rstrip()


def filled(name: str, title: str, data: dict[str, Any], *, folder: Path = FOLDER) -> str:
    """Return a page from its template in a folder, with style, script and data filled in."""
    # A text must not close the element that contains the data.
    embedded = json.dumps(data, separators=(",", ":")).replace("<", "\\u003c")
    page = (folder / f"{name}.html").read_text().replace("@TITLE@", escape(f"Spica: {title}"))
    page = page.replace("@STYLE@", STYLE)
    files = FOLDER / "page.js", folder / f"{name}.js"
    script = "\n".join(file.read_text() for file in files)
    # Insert the data last, so that nothing is replaced in them.
    return page.replace("@SCRIPT@", script).replace("@DATA@", embedded)
