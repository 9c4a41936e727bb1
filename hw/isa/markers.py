"""Instructions without effect by which programs mark what is measured, those of Virgo's kernels."""

from .assembly import assemble

__all__ = ["BEGIN_MARKER", "END_MARKER", "MARKERS"]

#: Immediate of ``slti x0, x1`` that marks the beginning of what is measured, and of its end.
MARKERS = {"begin": -1047, "end": -499}
BEGIN_MARKER, END_MARKER = (assemble(f"slti x0, x1, {value}") for value in MARKERS.values())
