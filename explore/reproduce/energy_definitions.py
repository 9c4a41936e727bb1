"""Definitions of the figures of power and energy in the published comparison."""

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from .published import (
    ATTENTION_ENERGY,
    DESIGNS,
    ENERGY_RATIOS,
    POWER_RATIOS,
    SHARED_ENERGY_TO_HOPPER,
    SHARED_POWER,
    SIZES,
)
from .reproduction import SHARE, Line, Reproduction, Results
from .runs import attention_run

__all__ = ["ENERGY_REPRODUCTIONS", "MATRIX", "energy_of"]

VIRGO, HOPPER, AMPERE = "virgo", "hopper", "ampere"
#: Groups of `synth.groups` in the stages of a core.
CORE_STAGES = {
    "front end": ("front end",),
    "issue": ("scheduler and scoreboard", "registers and collectors"),
    "integer": ("INT",),
    "FP32": ("FP32",),
    "division and special functions": ("divide", "SFU"),
    "load and store": ("LSU",),
}
CORE = tuple(group for groups in CORE_STAGES.values() for group in groups)
#: Groups of a matrix unit: arithmetic, accumulators, control.
MATRIX_PARTS = {
    "arithmetic": ("mesh", "tensor"),
    "accumulator": ("accumulator",),
    "sequencer": ("sequencer",),
}
MATRIX = tuple(group for groups in MATRIX_PARTS.values() for group in groups)
SHARED = ("shared memory",)
COMPONENTS = {
    "cores": CORE,
    "matrix units": MATRIX,
    "shared memory": SHARED,
    "L1 caches": ("L1I", "L1D"),
    "L2 and interconnect": ("L2", "interconnect"),
    "DMA and control": ("DMA", "control"),
}
FP32_PAIR = ("virgo_fp32", "ampere_fp32")
FP32: dict[str, str] = dict(zip(FP32_PAIR, ("Virgo, FP32", "Ampere-style, FP32"), strict=True))
#: Source of our figures.
EVENTS = (
    "Ours: event energies of an open 130 nm process (docs/energy.md), without clock tree and wires."
)
#: Sides of the products whose energy is measured.
PRODUCTS = SIZES[:2]
Value = Callable[[Mapping[str, Any]], float]


def energy_of(groups: Collection[str] | None = None) -> Value:
    """Return the function that gives the energy of some groups in a run; None for all."""

    def energy(result: Mapping[str, Any]) -> float:
        groups_pj = result["energy"]["by_group"]
        return sum(
            sums["total_pj"] for name, sums in groups_pj.items() if not groups or name in groups
        )

    return energy


def power(result: Mapping[str, Any]) -> float:
    """Return the power of a run at its clock."""
    return result["energy"]["power_mw"]


def ratio(
    label: str,
    value: Value,
    designs: tuple[str, str],
    published: Mapping[int, float],
    names: Mapping[str, str] = DESIGNS,
) -> Line:
    """Return the row of a figure of a design in relation to that of another one."""

    def quotient(results: Results) -> float:
        own, other = (value(results[name]) for name in designs)
        return own / other

    own, other = (names[name] for name in designs)
    return Line(
        label=f"{label}, {own} to {other}", designs=designs, published=published, value=quotient
    )


def share(
    label: str,
    design: str,
    part: Collection[str],
    whole: Collection[str] | None,
    published: Mapping[int, float],
    names: Mapping[str, str] = DESIGNS,
) -> Line:
    """Return the row of the share of some groups in the energy of others; None for all."""
    own, total = energy_of(part), energy_of(whole)
    return Line(
        label=f"{names[design]}: {label}",
        designs=(design,),
        published=published,
        value=lambda results: own(results[design]) / total(results[design]),
    )


def at(sizes: Collection[int], figure: float | None) -> dict[int, float]:
    """Return a published figure for each of some sizes; empty if it is not published."""
    return {} if figure is None else dict.fromkeys(sizes, figure)


def of_products(name: str, title: str, lines: Sequence[Line], note: str, **others) -> Reproduction:
    """Return the definition of a figure of products, with a sentence about the published one."""
    return Reproduction(
        name=name,
        title=title,
        unit=SHARE,
        sizes=PRODUCTS,
        quick_sizes=PRODUCTS[:1],
        lines=lines,
        note=f"{EVENTS} {note}",
        **others,
    )


ENERGY_REPRODUCTIONS = (
    of_products(
        name="figure8",
        title="active power and energy of gemm (figure 8 and section 6.1.2)",
        lines=[
            ratio(label, value, (VIRGO, other), at(PRODUCTS, published.get(other)))
            for label, value, published in (
                ("power", power, POWER_RATIOS),
                ("energy", energy_of(), ENERGY_RATIOS),
            )
            for other in DESIGNS
            if other != VIRGO
        ],
        note="The published ratios have no size; each size has the same one.",
        has_account=True,
    ),
    of_products(
        name="figure9",
        title="power of gemm by component, share (figure 9 and section 6.1.3)",
        lines=[
            *(
                share(
                    label,
                    design,
                    groups,
                    None,
                    at(PRODUCTS, SHARED_POWER if (label, design) == (*SHARED, VIRGO) else None),
                )
                for design in DESIGNS
                for label, groups in COMPONENTS.items()
            ),
            ratio(
                "energy of shared memory",
                energy_of(SHARED),
                (VIRGO, HOPPER),
                at(PRODUCTS, SHARED_ENERGY_TO_HOPPER),
            ),
        ],
        note="Published figures are of side 1,024.",
    ),
    of_products(
        name="figure10",
        title="power of gemm within the cores, share (figure 10)",
        lines=[
            *(
                share(label, design, groups, CORE, {})
                for design in DESIGNS
                for label, groups in CORE_STAGES.items()
            ),
            *(
                ratio("energy of the cores", energy_of(CORE), (design, AMPERE), {})
                for design in DESIGNS
                if design != AMPERE
            ),
        ],
        note="The publication has this figure without numbers.",
    ),
    of_products(
        name="figure11",
        title="energy of the matrix units in gemm (figure 11)",
        lines=[
            *(
                ratio("energy of the matrix units", energy_of(MATRIX), (design, AMPERE), {})
                for design in DESIGNS
                if design != AMPERE
            ),
            *(
                share(label, design, groups, MATRIX, {})
                for design in DESIGNS
                for label, groups in MATRIX_PARTS.items()
            ),
        ],
        note="The publication has this figure without numbers; it calls them similar.",
    ),
    Reproduction(
        name="figure12",
        title="power and energy of attention (figure 12 and section 6.2)",
        unit=SHARE,
        sizes=(1024,),
        quick_sizes=(256,),
        lines=[
            ratio("power", power, FP32_PAIR, {}, FP32),
            ratio("energy", energy_of(), FP32_PAIR, at((1024,), ATTENTION_ENERGY), FP32),
            *(
                share(label, design, groups, None, {}, FP32)
                for design in FP32
                for label, groups in COMPONENTS.items()
            ),
        ],
        note=f"{EVENTS} Published: the cores have more than half of the power in both designs.",
        run=attention_run,
        size_text="{0} queries and keys",
        formats="values checked bit by bit",
        has_account=True,
    ),
)
