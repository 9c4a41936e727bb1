"""Energy in the report of a run: totals, groups, and samples or event energies behind them."""

from collections.abc import Iterator, Mapping
from typing import Any

from rich.table import Table

from .tables import new_table, percent

__all__ = ["energy_lines", "energy_table", "energy_text"]

#: Units of energy in pJ, the largest first.
UNITS = (("mJ", 1e9), ("uJ", 1e6), ("nJ", 1e3), ("pJ", 1.0))


def energy_text(picojoules: float) -> str:
    """Return an energy in the largest unit of which it is at least one."""
    for unit, scale in UNITS:
        if picojoules >= scale or scale == 1.0:
            return f"{picojoules / scale:,.4g} {unit}"
    raise AssertionError("the last unit serves all energies")


def energy_lines(energy: Mapping[str, Any]) -> Iterator[str]:
    """Yield totals and power, samples or fit, and rules."""
    mac = energy["pj_per_mac"]
    per_mac = "" if mac is None else f", {mac:.4g} pJ per MAC"
    yield f"Energy of the whole run: {energy_text(energy['total_pj'])}{per_mac}, without leakage"
    yield (
        f"With a clock in every cycle: {energy_text(energy['ungated_total_pj'])}; clock pins "
        f"{energy_text(energy['ungated_clock_pj'])} instead of {energy_text(energy['clock_pj'])}"
    )
    yield (
        f"Average power at {energy['clock_mhz']:g} MHz: {energy['power_mw']:.4g} mW, leakage "
        f"{energy['leakage_mw']:.4g} mW ({energy_text(energy['leakage_pj'])}); energy-delay "
        f"product: {energy['energy_delay_js']:.4g} J s"
    )
    if (dram := energy["dram"]) is not None:
        yield (
            f"DRAM, not included: {energy_text(dram['total_pj'])}, {dram['bytes']:,} bytes at "
            f"{dram['pj_per_bit']:g} pJ per bit"
        )
    yield from source_lines(energy) if energy["fit"] is None else fit_lines(energy)


def fit_lines(energy: Mapping[str, Any]) -> Iterator[str]:
    """Yield the fit of event energies, its differences, factors of other data, rules."""
    source, fit = energy["source"], energy["fit"]
    memories = source["sram_table"] or "macros of an open 130 nm process"
    yield (
        f"Energy from events: counters times event energies, fitted to gates of "
        f"{source['liberty']} at {source['voltage']:g} V; memories: {memories}"
    )
    uses = {"fit": "fitted to", "check": "not fitted to"}
    for run in fit["runs"]:
        yield (
            f"Difference from gates of {run['runs']} runs of this preset that it is "
            f"{uses[run['use']]}: at most {percent(abs(run['total']))}, {run['run']}"
        )
    if not fit["runs"]:
        yield "Difference from gates: not measured on this preset"
    for name, factors in fit["data_factors"].items():
        groups = ", ".join(f"{group} {factor:.2f}" for group, factor in factors["groups"].items())
        yield f"With {name} gates have {factors['total']:.2f} of this energy ({groups})"
    yield from source["rules"]


def source_lines(energy: Mapping[str, Any]) -> Iterator[str]:
    """Yield library, samples, windows that do not count, and rules."""
    source = energy["source"]
    memories = source["sram_table"] or "macros of an open 130 nm process"
    yield (
        f"Energy from gates: {source['liberty']} at {source['voltage']:g} V; memories: {memories}"
    )
    sampling = ""
    if (error := energy["standard_error_pj"]) is not None:
        sampling = f"; standard error {percent(error / (energy['total_pj'] or 1.0))}"
    yield (
        f"Samples: {source['windows']:,} windows with {source['sampled_cycles']:,} of "
        f"{energy['cycles']:,} cycles, {source['instances_sampled']:,} of "
        f"{source['instances']:,} instances of {len(energy['blocks']):,} blocks by group{sampling}"
    )
    lost = [block for block in energy["blocks"] if block["windows_counted"] < block["windows"]]
    if not lost:
        yield "Windows that do not count: none, the netlists compute every recorded value"
    for block in lost:
        yield (
            f"Windows that do not count: {block['windows'] - block['windows_counted']} of "
            f"{block['windows']} of {block['block']} ({block['group']}); different values in "
            f"{', '.join(block['differing'][:3])}"
            + ("" if block["windows_counted"] else "; its dynamic energy is missing")
        )
    yield from source["rules"]


def energy_table(energy: Mapping[str, Any]) -> Table:
    """Return the energy of each group by kind, the largest first."""
    table = new_table("Energy by group", "total", "group")
    kinds = {
        "logic": ("internal_pj", "switching_pj"),
        "clock pins": ("clock_pj",),
        "memories": ("memory_pj",),
        "ungated clock": ("ungated_clock_pj",),
        "leakage": ("leakage_pj",),
    }
    for kind in kinds:
        table.add_column(kind, justify="right", no_wrap=True)
    rows = sorted(energy["by_group"].items(), key=lambda row: -row[1]["total_pj"])
    total = energy["total_pj"] or 1.0
    for group, sums in (*rows, ("total", energy)):
        if group == "total":
            table.add_section()
        parts = [energy_text(sum(sums[key] for key in keys)) for keys in kinds.values()]
        share = percent(sums["total_pj"] / total)
        table.add_row(share, energy_text(sums["total_pj"]), group, *parts)
    return table
