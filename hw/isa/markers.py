"""Marker instructions without effect that delimit a measured region, as in Virgo's kernels."""

from .assembly import assemble

__all__ = ["BEGIN_MARKER", "END_MARKER", "MARKERS"]

#: Immediates of ``slti x0, x1`` that mark the beginning and the end of a measured region.
MARKERS = {"begin": -1047, "end": -499}
BEGIN_MARKER, END_MARKER = (assemble(f"slti x0, x1, {value}") for value in MARKERS.values())
