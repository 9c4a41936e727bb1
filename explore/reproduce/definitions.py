"""Definitions of the tables: a row for each design or pair of designs, a column for each size."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ...sim.report.utilization import shared_footprint
from ..work import KernelRun
from .published import (
    ATTENTION_UTILIZATION,
    DESIGNS,
    INSTRUCTION_SHARES,
    MAC_UTILIZATION,
    SHARED_READ_MIB,
    SIZES,
)
from .runs import OVERWRITING, attention_run, gemm_run

__all__ = ["MIB", "REPRODUCTIONS", "SHARE", "Line", "Reproduction"]

#: Results of the designs of one size, by preset; those of designs that did not pass are absent.
Results = Mapping[str, Mapping[str, Any]]
#: Units of figures: a fraction of 1, or MiB.
SHARE, MIB = "share", "MiB"
VIRGO = "virgo"
#: Queries and keys of the published attention.
ATTENTION_SIZE = 1024
#: Designs whose attention is measured, with the labels of their rows.
ATTENTION_DESIGNS = {
    "virgo_fp32": "Virgo, FP32",
    f"virgo_fp32{OVERWRITING}": "Virgo, FP32, O overwritten",
    "ampere_fp32": "Ampere-style, FP32",
    "virgo": "Virgo, FP16",
    "hopper": "Hopper-style, FP16",
    "ampere": "Ampere-style, FP16",
}


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

    def head(self, size: int) -> str:
        """Return the text of a size."""
        return self.size_text.format(size)


def utilization_of(design: str) -> Line:
    """Return the row of a design in table 3."""
    return Line(
        label=DESIGNS[design],
        designs=(design,),
        published=dict(zip(SIZES, MAC_UTILIZATION[design], strict=True)),
        value=lambda results: results[design]["mac_utilization"],
    )


def attention_of(design: str, label: str) -> Line:
    """Return the row of a design's attention."""
    published = ATTENTION_UTILIZATION.get(design)
    return Line(
        label=label,
        designs=(design,),
        published={} if published is None else {ATTENTION_SIZE: published},
        value=lambda results: results[design]["mac_utilization"],
    )


def reads_of(design: str) -> Line:
    """Return the row of a design in table 4."""
    return Line(
        label=DESIGNS[design],
        designs=(design,),
        published={SIZES[0]: SHARED_READ_MIB[design]},
        value=lambda results: sum(shared_footprint(results[design]["counters"]).values()) / 2**20,
    )


def retired(result: Mapping[str, Any], *, with_polling: bool) -> float:
    """Return the warp instructions of all cores."""
    counts = result["instructions"]
    return counts["warp"] - (0 if with_polling else counts["polling"])


def instructions_to(design: str, *, with_polling: bool) -> Line:
    """Return the row of Virgo's instructions as a share of those of a design."""

    def share(results: Results) -> float:
        own, other = (retired(results[name], with_polling=with_polling) for name in (VIRGO, design))
        return own / other

    label = f"{DESIGNS[VIRGO]} to {DESIGNS[design]}"
    return Line(
        label=label if with_polling else f"{label}, without polling",
        designs=(VIRGO, design),
        published=dict.fromkeys(SIZES, INSTRUCTION_SHARES[design]) if with_polling else {},
        value=share,
    )


REPRODUCTIONS = {
    each.name: each
    for each in (
        Reproduction(
            name="table3",
            title="MAC utilisation of gemm (table 3)",
            unit=SHARE,
            sizes=SIZES,
            quick_sizes=SIZES[:2],
            lines=[utilization_of(design) for design in DESIGNS],
        ),
        Reproduction(
            name="table4",
            title="shared memory read by gemm, MiB (table 4)",
            unit=MIB,
            sizes=SIZES[:1],
            quick_sizes=SIZES[:1],
            lines=[reads_of(design) for design in DESIGNS],
        ),
        Reproduction(
            name="instructions",
            title="retired instructions of gemm, share (section 6.1.1)",
            unit=SHARE,
            sizes=SIZES,
            quick_sizes=SIZES[:2],
            lines=[
                instructions_to(design, with_polling=with_polling)
                for design in INSTRUCTION_SHARES
                for with_polling in (True, False)
            ],
            note="The published shares have no size; each size has the same one.",
        ),
        Reproduction(
            name="attention",
            title="MAC utilisation of attention, one head, depth 64 (section 6.2)",
            unit=SHARE,
            sizes=(ATTENTION_SIZE,),
            quick_sizes=(ATTENTION_SIZE // 4,),
            lines=[attention_of(*line) for line in ATTENTION_DESIGNS.items()],
            note=(
                "The published figures are of FP32. The released program overwrites O in each "
                "step and checks no value; a line shows what this saves."
            ),
            run=attention_run,
            size_text="{0} queries and keys",
            formats="values checked bit by bit",
            has_account=True,
        ),
    )
}
