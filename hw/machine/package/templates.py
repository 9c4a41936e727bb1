"""Templates of files: text beside this module with names between at signs."""

from pathlib import Path

from ..artifacts import generator

__all__ = ["filled"]


def filled(template: str, **names: str) -> str:
    """Return the text of a template with its names replaced, and ``generator`` too."""
    text = Path(__file__).with_name(template).read_text()
    for name, value in {"generator": generator(), **names}.items():
        text = text.replace(f"@{name}@", value)
    return text
