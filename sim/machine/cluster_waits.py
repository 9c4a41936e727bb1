"""Wait states of a cluster that hangs while it runs a program."""

from collections.abc import Iterator

from ...hw.config import MachineConfig
from ..harness.cluster_harness import ClusterHarness
from .machine import Machine
from .stop_report import describe_machine
from .unit_report import describe_units

__all__ = ["describe_waits"]


def describe_waits(machine: Machine, harness: ClusterHarness, config: MachineConfig) -> str:
    """Return the wait state of each unit of a hung cluster; the reads advance the run."""
    outputs = machine.outputs()
    return "; ".join([
        *describe_machine(machine),
        *waiting_caches(harness, outputs),
        *held_streams(outputs, config.all_cores),
        describe_units(machine, config),
    ])


def waiting_caches(harness: ClusterHarness, outputs: dict[str, int]) -> Iterator[str]:
    """Yield the outstanding accesses of each core and of the L2."""
    states = [harness.core_state(core) for core in range(harness.config.all_cores)]
    for core, state in enumerate(states):
        if state.pending_fetches or state.pending_requests:
            yield (
                f"core{core} has {state.pending_fetches} outstanding fetches and "
                f"{state.pending_requests} outstanding lanes of loads and stores"
            )
    for master in range(harness.channels):
        held = [
            channel
            for channel in ("aw", "w")
            if harness.config.dma is not None
            and outputs[f"dma_axi_{master}_{channel}valid"]
            and not outputs[f"dma_axi_{master}_{channel}ready"]
        ]
        if held:
            yield f"L2 slice {master} stalls {', '.join(held)} of the DMA"
        _, reads, writes = harness.channel(master)
        if outputs["bus_busy"]:
            yield f"L2 slice {master} waits for {reads} DRAM reads and {writes} DRAM writes"
    if outputs["bus_busy"] and not any(state.busy for state in states):
        yield "all cores are idle; the L2 writes its dirty lines back to DRAM"


def held_streams(outputs: dict[str, int], cores: int) -> Iterator[str]:
    """Yield the streams of each core that are stalled: `valid` without `ready`."""
    for core in range(cores):
        names = ("fetch", "request", "command", "console")
        held = [
            name
            for name in names
            if outputs[f"core{core}_{name}_valid"] and not outputs[f"core{core}_{name}_ready"]
        ]
        if held:
            yield f"core{core} is stalled on its ports: {', '.join(held)}"
