"""Where the cycles of a run went: the account of it, and a report for people."""

import io
from collections.abc import Mapping

from rich import box
from rich.console import Console
from rich.table import Table

from ...hw.config import WORD_BYTES, ClusterConfig
from ...kernels.gemm.problem import GemmProblem
from ..machine.command_machine import Execution

__all__ = ["account", "report"]

ACCESS_CYCLES = 20
WIDTH = 100

#: What the shares of the account mean, in the order in which a report shows them.
MEANINGS = {
    "multiply_adds": "multiply-adds that the product needs",
    "ragged": "array busy with padding of ragged tiles",
    "first_load": "first command to the first compute: first tiles on their way",
    "wait_a": "array waited for A",
    "wait_weights": "array waited for weights",
    "wait_drain": "array waited for accumulator rows not yet drained",
    "wait_revisit": "array waited for the accumulator's adder",
    "idle": "no compute: tiles on their way, or the host",
    "last_store": "last compute to the last write response: drain and store",
}
WAITS = ("wait_a", "wait_weights", "wait_drain", "wait_revisit")


def account(
    config: ClusterConfig,
    problem: GemmProblem,
    execution: Execution,
    counters: dict[str, int],
    marks: list[int],
) -> dict:
    """Return cycles, utilisation, and a breakdown whose shares sum to the elapsed cycles.

    Parameters
    ----------
    config, problem
        What ran.
    execution : Execution
        How it ran.
    counters : dict
        The event counters afterwards.
    marks : list of int
        The clock one access before the first command, one access after the first compute was
        commanded, and when the last compute was seen to be done.

    """
    assert config.matrix is not None
    elapsed = execution.elapsed
    began, commanded, done = ((mark - marks[0]) & 0xFFFF_FFFF for mark in marks)
    active = counters["matrix_active"]
    # The last tile may be stored before the host sees that it is computed.
    last_store = max(0, elapsed - (done - began - ACCESS_CYCLES))
    spent = {
        "multiply_adds": problem.macs / config.matrix.macs,
        "ragged": active - problem.macs / config.matrix.macs,
        "first_load": commanded - began - 2 * ACCESS_CYCLES,
        "last_store": last_store,
    }
    spent |= {name: counters[f"matrix_{name}"] for name in WAITS}
    spent["idle"] = elapsed - sum(spent.values())
    return {
        "cycles": elapsed,
        "mac_utilization": spent["multiply_adds"] / elapsed,
        "mac_active": active / elapsed,
        "breakdown": {
            name: {"cycles": spent[name], "percent": 100 * spent[name] / elapsed}
            for name in MEANINGS
        },
        "simulated_cycles": execution.cycles,
    }


def report(result: dict) -> str:
    """Return the report of a result: verdict, speed, where the cycles went, traffic."""
    text = io.StringIO()
    console = Console(file=text, width=WIDTH, highlight=False, no_color=True)
    size, formats, memory = result["size"], result["formats"], result["memory"]
    console.print(
        f"{result['kernel']} {size['m']} x {size['n']} x {size['k']} on {result['preset']} "
        f"({result['engine']}), {formats['operands']} -> {formats['c']}, {result['data']} data, "
        f"seed {result['seed']}"
    )
    console.print(verdict(result["check"]))
    console.print(
        f"{result['cycles']:,} cycles, MAC utilisation {100 * result['mac_utilization']:.2f} %, "
        f"array active {100 * result['mac_active']:.2f} %"
    )
    console.print()
    console.print(breakdown_table(result["breakdown"]))
    console.print()
    console.print(
        f"DRAM: {memory['bytes_per_cycle']:g} B/cycle, latency {memory['latency']} cycles; "
        f"{memory['read_bytes']:,} bytes read, {memory['written_bytes']:,} written, "
        f"{memory['used_bytes_per_cycle']:.1f} B/cycle used"
    )
    footprint = shared_footprint(result["counters"])
    parts = ", ".join(f"{name} {size / 2**20:.3g} MiB" for name, size in footprint.items())
    if parts:
        console.print(f"Shared memory read: {parts}")
    console.print(
        f"Simulated {result['simulated_cycles']:,} cycles at "
        f"{result['simulated_cycles_per_second']:,.0f} cycles/s"
    )
    return text.getvalue()


def verdict(found: dict) -> str:
    """Return what the check found, in words."""
    elements = f"{found['elements']:,} values"
    error = f"largest distance from float64 {found['max_abs_error']:.3g}"
    if found["verdict"] == "pass":
        return f"PASS: {elements} bit-exact, {error}"
    faults = [
        f"{found['mismatches']:,} of {elements} differ from the golden model",
        f"{found['outside_bound']:,} lie outside the bound around float64",
        f"{found['bytes_touched_around_c']:,} bytes around C were changed",
    ]
    examples = [f"C{example}" for example in found["examples"]]
    return "\n  ".join(["FAIL:", *faults, *examples, error])


def breakdown_table(
    breakdown: dict,
    *,
    title: str = "Where the cycles went",
    meanings: Mapping[str, str] = MEANINGS,
    whole: str = "first command to last write response",
) -> Table:
    """Return where the cycles of a `whole` went, without the lines that are empty."""
    table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD)
    table.add_column("share", justify="right")
    table.add_column("cycles", justify="right")
    table.add_column("what for")
    for name, meaning in meanings.items():
        share = breakdown.get(name)
        if share and share["cycles"]:
            table.add_row(f"{share['percent']:.2f} %", f"{share['cycles']:,.0f}", meaning)
    total = sum(share["cycles"] for share in breakdown.values())
    table.add_section()
    table.add_row("100 %", f"{total:,.0f}", whole)
    return table


def shared_footprint(counters: dict[str, int]) -> dict[str, int]:
    """Return the bytes each requester read from shared memory."""
    prefix = "shared_read_words_"
    return {
        name.removeprefix(prefix): words * WORD_BYTES
        for name, words in counters.items()
        if name.startswith(prefix) and words
    }
