"""What a marked region of a program cost the units: utilisation, waiting, traffic."""

from typing import Any

from rich.table import Table

from ...hw.config import WORD_BYTES, ClusterConfig
from ...hw.isa.memory_map import numbered
from ..harness.profile import POLLING
from .cycle_account import MEANINGS, WAITS, breakdown_table, shared_footprint

__all__ = ["account_region", "region_lines", "region_tables"]

#: What the shares of a unit's time mean, beside those of `report`.
REST = "no compute: tiles on their way, commands, the last drain and store"
WHOLE = "marker of the beginning to the last write response"


def account_region(
    config: ClusterConfig, macs: tuple[int, ...], done: dict[str, Any]
) -> dict[str, Any]:
    """Return what matrix units and waiting took of the region that a run marked.

    Where several units have products, the time of each is what the core of its number marked; the
    utilisation of all is their multiply-adds by what they could have done in their own times.

    Parameters
    ----------
    config : ClusterConfig
        What ran.
    macs : tuple of int
        Multiply-adds of the problem, by matrix unit.
    done : dict
        The account of a `ClusterExecutor`, with a region.

    """
    cycles, counters = done["region"]["cycles"], done["unit_counters"]
    used = [number for number, wanted in enumerate(macs) if wanted]
    elapsed = {number: cycles for number in used}
    if len(used) > 1:
        elapsed = {
            number: last - first for number in used for first, last in [done["marks"][number]]
        }
    units = {
        numbered("matrix", number): {
            "cycles": elapsed[number],
            "mac_utilization": macs[number] / (config.matrices[number].macs * elapsed[number]),
            "mac_active": counters[f"{numbered('matrix', number)}_active"] / elapsed[number],
            "breakdown": breakdown(
                numbered("matrix", number),
                macs[number] / config.matrices[number].macs,
                elapsed[number],
                counters,
            ),
        }
        for number in used
    }
    possible = sum(config.matrices[number].macs * elapsed[number] for number in used)
    spent = {name: function["cycles"] for name, function in done["profile"].items()}
    polled = sum(spent.get(name, 0) for name in POLLING)
    footprint = shared_footprint(counters)
    if lanes := counters.get("shared_narrow_reads", 0):
        footprint["lanes"] = lanes * WORD_BYTES
    return {
        "mac_utilization": sum(macs) / possible if possible else None,
        "matrix_units": units,
        "polling_share": polled / max(1, sum(spent.values())),
        "shared_read_bytes": footprint,
    }


def breakdown(unit: str, needed: float, elapsed: int, counters: dict[str, int]) -> dict[str, Any]:
    """Return where the cycles of a unit's region went, shares that sum to all of them."""
    spent = {"multiply_adds": needed, "ragged": counters[f"{unit}_active"] - needed}
    spent |= {name: counters[f"{unit}_{name}"] for name in WAITS}
    spent["rest"] = elapsed - sum(spent.values())
    return {
        name: {"cycles": cycles, "percent": 100 * cycles / elapsed}
        for name, cycles in spent.items()
    }


def region_tables(result: dict[str, Any]) -> list[Table]:
    """Return where the cycles of a marked region went, a table per matrix unit with products."""
    if not result.get("region"):
        return []
    units = result["matrix_units"]
    return [
        breakdown_table(
            unit["breakdown"],
            whole=WHOLE,
            title="Where the cycles went" + (f": {name}" if len(units) > 1 else ""),
            meanings=MEANINGS | {"rest": REST},
        )
        for name, unit in units.items()
    ]


def region_lines(result: dict[str, Any]) -> list[str]:
    """Return the lines of a report about the region that a run marked, none without one."""
    if not result.get("region"):
        return []
    cycles = result["region"]["cycles"]
    lines = [f"{cycles:,} cycles from the marker of the beginning to the last write response"]
    if result["mac_utilization"] is not None:
        lines[0] += f": MAC utilisation {100 * result['mac_utilization']:.2f} %"
        units = result["matrix_units"]
        lines.append(
            "Array active "
            + ", ".join(
                f"{100 * unit['mac_active']:.2f} %"
                + (f" of {unit['cycles']:,} cycles ({name})" if len(units) > 1 else "")
                for name, unit in units.items()
            )
            + f"; of the time of warps {100 * result['polling_share']:.1f} % went into polling"
        )
    memory = result["memory"]
    lines.append(
        f"DRAM: {memory['bytes_per_cycle']:g} B/cycle, latency {memory['latency']} cycles; "
        f"{memory['read_bytes']:,} bytes read, {memory['written_bytes']:,} written, "
        f"{100 * result['region']['dram_utilization']:.1f} % of what it could from the marker on"
    )
    footprint = result["shared_read_bytes"]
    if footprint:
        total = sum(footprint.values())
        parts = ", ".join(f"{name} {size / 2**20:.3g} MiB" for name, size in footprint.items())
        lines.append(f"Shared memory read: {total / 2**20:.3g} MiB: {parts}")
    return lines
