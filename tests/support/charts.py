"""Marks of charts, read from their SVG."""

import re
from xml.etree import ElementTree

__all__ = ["length_of", "marks_of", "texts_of"]

SVG = "{http://www.w3.org/2000/svg}"


def marks_of(svg, kind):
    """Yield the marks of a kind, such as ``bar``: their values by name, and their element."""
    for element in ElementTree.fromstring(svg).iter(f"{SVG}path"):
        if element.get("aria-roledescription") == kind:
            parts = element.get("aria-label").split("; ")
            yield dict(part.rpartition(": ")[::2] for part in parts), element


def length_of(bar):
    """Return the length of a bar in pixels."""
    return float(re.search(r"h([\d.]+)v", bar.get("d"))[1])


def texts_of(svg):
    """Return all texts of a chart, line by line."""
    elements = ElementTree.fromstring(svg).iter()
    return [
        element.text
        for element in elements
        if element.tag in (f"{SVG}text", f"{SVG}tspan") and element.text
    ]
