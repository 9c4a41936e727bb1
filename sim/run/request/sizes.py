"""Sizes of a kernel: from ``--size``, from ``-m``, ``-n`` and ``-k``, or by name."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from ....base.errors import UserError
from ..inputs.arrays import integer
from .choices import require_at_least

__all__ = ["chosen_sizes", "named_sizes", "parsed_size"]


def chosen_sizes(
    dimensions: Sequence[str],
    size: str | None,
    single: Mapping[str, int | None],
    usual: Sequence[int] = (),
) -> dict[str, int]:
    """Return the kernel's sizes by dimension.

    Parameters
    ----------
    dimensions : sequence of str
        Names of the dimensions, in the kernel's order.
    size : str or None
        One number for all dimensions, as ``64``, or one for each, as ``64x32x16``.
    single : mapping
        Values of the options ``-m``, ``-n`` and ``-k``.
    usual : sequence of int
        Sizes if none is given; empty if one must be.

    """
    given = {name: value for name, value in single.items() if value is not None}
    options = [f"-{name}" for name in dimensions if name in single]
    alone = f" or by {listed(options)}" if len(options) == len(dimensions) else ""
    if size is not None:
        if given:
            either = "either " if alone else ""
            rest = "both" if alone else f"-{next(iter(given))}"
            raise UserError(f"sizes must be given {either}by --size{alone}, not by {rest}")
        return parsed_size(dimensions, size)
    if usual and not given:
        return dict(zip(dimensions, usual, strict=True))
    for name in given:
        if name not in dimensions:
            raise UserError(
                f"-{name} must be a dimension of the kernel, which has {listed(dimensions)}"
            )
    missing = [name for name in dimensions if name not in given]
    if missing:
        what = f"; -{missing[0]} is missing" if alone else f", {'x'.join(dimensions)}"
        raise UserError(f"sizes must be given by --size{alone}{what}")
    require_at_least(1, {f"-{name}": value for name, value in given.items()})
    return {name: given[name] for name in dimensions}


def parsed_size(dimensions: Sequence[str], size: str, option: str = "--size") -> dict[str, int]:
    """Return the sizes of `option`, by dimension."""
    parts = size.lower().split("x")
    if not all(re.fullmatch(r"-?[0-9]+", part) for part in parts):
        raise UserError(f"{option} must be a number, or numbers joined by x, not {size!r}")
    numbers = [int(part) for part in parts]
    if len(numbers) == 1:
        numbers *= len(dimensions)
    if len(numbers) != len(dimensions):
        several = f"{len(dimensions)}, {'x'.join(dimensions)}"
        raise UserError(f"{option} must have one number or {several}, not {size}")
    for number in numbers:
        require_at_least(1, {option: number})
    return dict(zip(dimensions, numbers, strict=True))


def named_sizes(
    kernel: str, dimensions: Sequence[str], sizes: Mapping[str, Any], further: Sequence[str] = ()
) -> dict[str, int]:
    """Return sizes by name, in the order of the kernel's dimensions, then the `further` ones."""
    if set(sizes) - set(further) != set(dimensions):
        names = ", ".join(sizes) or "none"
        raise UserError(f"sizes of {kernel} must be {', '.join(dimensions)}, not {names}")
    order = (*dimensions, *(name for name in further if name in sizes))
    return {name: integer(f"{name} of {kernel}", sizes[name]) for name in order}


def listed(names: Sequence[str]) -> str:
    """Return names as a list in words."""
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]])) if names else ""
