"""Table of the published comparison: a row for each design or pair of designs."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..work.kernel_run import KernelRun
from .runs import gemm_run

__all__ = ["MIB", "SHARE", "Line", "Reproduction", "Results"]

#: Results of the designs of one size, by preset; those of designs that did not pass are absent.
Results = Mapping[str, Mapping[str, Any]]
#: Units of figures: a fraction of 1, or MiB.
SHARE, MIB = "share", "MiB"


@dataclass(frozen=True, kw_only=True)
class Line:
    """Row of a table.

    Parameters
    ----------
    label : str
        Design, or designs that are compared.
    designs : tuple of str
        Presets whose results it needs.
    published : mapping of int to float
        Published figure of each size.
    value : callable
        Takes the results of a size, which include those of `designs`; returns the figure.

    """

    label: str
    designs: tuple[str, ...]
    published: Mapping[int, float]
    value: Callable[[Results], float]

    def measured(self, results: Results) -> float | None:
        """Return the figure; None if a design has no result."""
        return self.value(results) if all(name in results for name in self.designs) else None


@dataclass(frozen=True, kw_only=True)
class Reproduction:
    """Table of the published comparison.

    Parameters
    ----------
    name : str
        Name on the command line.
    title : str
        Title with the place of the published figures.
    unit : str
        `SHARE` or `MIB`.
    sizes, quick_sizes : tuple of int
        Sides of the products, or lengths of the sequences; those of a quick reproduction.
    lines : sequence of Line
        Rows.
    note : str
        Sentence about the published figures, may be empty.
    run : callable
        Takes a design and a size; returns its run.
    size_text : str
        Format of the text of a size.
    formats : str
        Formats of the designs, in a sentence.
    has_account : bool
        Whether the figures of the designs are shown with the table.
    has_area : bool
        Whether the areas of the designs are measured; they are the entry ``area`` of a result.

    """

    name: str
    title: str
    unit: str
    sizes: tuple[int, ...]
    quick_sizes: tuple[int, ...]
    lines: Sequence[Line]
    note: str = ""
    run: Callable[[str, int], KernelRun] = gemm_run
    size_text: str = "{0} x {0} x {0}"
    formats: str = "FP16 operands and C"
    has_account: bool = False
    has_area: bool = False

    @property
    def designs(self) -> list[str]:
        """Designs of all lines, each once."""
        return list(dict.fromkeys(name for line in self.lines for name in line.designs))

    def runs(self, sizes: Sequence[int]) -> list[KernelRun]:
        """Return the runs of all designs, size by size."""
        return [self.run(design, size) for size in sizes for design in self.designs]

    def head(self, size: int) -> str:
        """Return the text of a size."""
        return self.size_text.format(size)
