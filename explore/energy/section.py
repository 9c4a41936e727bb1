"""Energy of a run for its result: totals, groups, power at a clock, and the samples behind them."""

from collections.abc import Mapping, Sequence
from typing import Any

from ...synth.energy.design_energy import (
    PartEnergy,
    energy_error,
    parts_by_group,
    total_energy,
)

__all__ = ["LIMITS", "dram_entry", "energy_of_run", "energy_section", "power_entry"]

#: Rules of every figure from gates, and what it leaves out.
LIMITS = (
    "Left out: clock tree, wires, glitches within a cycle, and, in the internal energy of a cell, "
    "loads outside its block.",
    "A toggle costs the mean of a rise and a fall, in states of the other pins that are equally "
    "likely; slew 0.1 ns; the load of a net is the capacitance of its pins.",
)


def power_entry(parts: Sequence[PartEnergy], cycles: int, microseconds: float) -> dict[str, Any]:
    """Return the energies of some parts in a run, in pJ.

    Parameters
    ----------
    parts : sequence of PartEnergy
        The parts.
    cycles : int
        Cycles of the run.
    microseconds : float
        Duration of the run.

    """
    power, error = total_energy(parts), energy_error(parts)
    return {
        "total_pj": power.dynamic * cycles,
        "standard_error_pj": None if error is None else error * cycles,
        "internal_pj": power.internal * cycles,
        "switching_pj": power.switching * cycles,
        "clock_pj": power.clock * cycles,
        "memory_pj": power.memory * cycles,
        "ungated_clock_pj": power.ungated_clock * cycles,
        "leakage_pj": (power.leakage + power.memory_leakage) * microseconds * 1e-3,
        "ungated_total_pj": power.ungated * cycles,
    }


def dram_entry(traffic: Mapping[str, Any], pj_per_bit: float) -> dict[str, float]:
    """Return the energy of DRAM in a run from its traffic; nothing else has an energy in DRAM.

    Parameters
    ----------
    traffic : mapping
        Traffic of the whole run, from a result.
    pj_per_bit : float
        Energy of a bit that is read or written, in pJ.

    """
    moved = traffic["read_bytes"] + traffic["written_bytes"]
    return {"pj_per_bit": pj_per_bit, "bytes": moved, "total_pj": 8 * moved * pj_per_bit}


def energy_section(
    parts: Sequence[PartEnergy],
    *,
    cycles: int,
    macs: float | None,
    megahertz: float,
    source: Mapping[str, Any],
    dram: Mapping[str, float] | None = None,
    fit: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Return the `energy` of a result.

    Parameters
    ----------
    parts : sequence of PartEnergy
        Energy of all parts of the machine.
    cycles : int
        Cycles of the run.
    macs : float or None
        Multiply-adds of the problem, if known.
    megahertz : float
        Clock frequency, for power and leakage.
    source : mapping
        Source of the figures: files and samples.
    dram : mapping or None
        From `dram_entry`; None without an energy of DRAM.
    fit : mapping or None
        Fit of the event energies; None for energies from gates.

    """
    microseconds = cycles / megahertz
    whole = power_entry(parts, cycles, microseconds)
    total, leakage = whole["total_pj"], whole["leakage_pj"]
    return {
        "model": "gates" if fit is None else "events",
        **whole,
        "pj_per_mac": total / macs if macs else None,
        "by_group": {
            group: power_entry(own, cycles, microseconds)
            for group, own in parts_by_group(parts).items()
        },
        "clock_mhz": megahertz,
        "cycles": cycles,
        "power_mw": total / microseconds * 1e-3,
        "leakage_mw": leakage / microseconds * 1e-3,
        "energy_delay_js": total * 1e-12 * microseconds * 1e-6,
        "dram": None if dram is None else dict(dram),
        "source": dict(source),
        "fit": None if fit is None else dict(fit),
        "blocks": [block_entry(part, cycles) for part in parts],
    }


def energy_of_run(
    parts: Sequence[PartEnergy],
    result: Mapping[str, Any],
    *,
    megahertz: float,
    dram_pj_per_bit: float | None,
    source: Mapping[str, Any],
    fit: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Return the `energy` of a result from the energy of all parts of the machine.

    Parameters
    ----------
    parts, megahertz, source, fit
        As for `energy_section`.
    result : mapping
        Result of the run.
    dram_pj_per_bit : float or None
        Energy of a bit that DRAM reads or writes, in pJ; None for no energy of DRAM.

    """
    operations, dram = result["operations"], None
    if dram_pj_per_bit is not None:
        dram = dram_entry(result["memory"]["traffic"]["run"], dram_pj_per_bit)
    return energy_section(
        parts,
        cycles=result["run_cycles"],
        macs=operations / 2 if operations else None,
        megahertz=megahertz,
        source=source,
        dram=dram,
        fit=fit,
    )


def block_entry(energy: PartEnergy, cycles: int) -> dict[str, Any]:
    """Return the energy and the samples of the instances of a block in a group."""
    return {
        "block": energy.part.block,
        "group": energy.part.group,
        "instances": len(energy.part.instances),
        "sampled": energy.sampled,
        "windows": energy.windows,
        "windows_counted": energy.counting,
        "total_pj": energy.power.dynamic * cycles,
        "internal_pj": energy.power.internal * cycles,
        "clock_pj": energy.power.clock * cycles,
        "memory_pj": energy.power.memory * cycles,
        "memory_reads": energy.reads * cycles,
        "memory_writes": energy.writes * cycles,
        "leakage_nw": energy.power.leakage + energy.power.memory_leakage,
        "differing": list(energy.differing[:8]),
    }
