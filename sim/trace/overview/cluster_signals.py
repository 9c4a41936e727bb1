"""Recorded signals of an observed cluster: counter events, issue slots and warps of its cores."""

from collections.abc import Iterator

from ....base.errors import UserError
from ....hw.config import MachineConfig
from ....hw.core.issue.stall_reason import StallReason
from ....hw.isa.memory_map import in_cluster
from ....hw.isa.operations import Port
from ....hw.machine.counters import counter_table
from ...harness.binding import Layout
from ...harness.interface import HARNESS
from .cluster_records import RecordedSignal

__all__ = ["cluster_signals", "slot_name", "unit_name"]


def cluster_signals(config: MachineConfig, layout: Layout) -> list[RecordedSignal]:
    """Return the recordable signals of an observed cluster, as far as its ports show them."""
    signals = [
        RecordedSignal(name=counter.name, port=f"events_{counter.name}")
        for counter in counter_table(config)
    ]
    for cluster in range(config.clusters):
        busy = in_cluster(cluster, "dma_busy")
        signals.append(RecordedSignal(name=busy, port=busy))
    for number in range(config.all_cores):
        signals += core_signals(config, number)
    shown = {port.name for port in layout.outputs}
    if not any(signal.port in shown for signal in signals if signal.port.startswith("events_")):
        raise UserError("the design must be an observed cluster; this one has no event ports")
    return [signal for signal in signals if signal.port in shown]


def core_signals(config: MachineConfig, number: int) -> Iterator[RecordedSignal]:
    """Yield the recorded signals of a core."""
    assert config.core is not None
    core = f"core{number}"
    for port in config.core.ports:
        yield RecordedSignal(
            name=unit_name(core, port),
            port=f"{core}_observed_dispatched_{port.value}_valid",
            kind="unit",
            code=number * HARNESS.constant("CoreState::kPorts") + port,
        )
    for slot in range(config.core.issue_width):
        for reason in StallReason:
            yield RecordedSignal(
                name=slot_name(core, slot, reason),
                port=f"{core}_observed_slots_{slot}",
                kind="equals",
                code=reason.value,
                delay=1,
                has_intervals=False,
            )
    if config.tensor is not None:
        yield RecordedSignal(name=f"{core}_multiplies", port=f"{core}_observed_multiplies")
    asleep = ["asleep"] if config.core.awaits_units else []
    for what in ("active", "at_barrier", *asleep):
        yield RecordedSignal(name=f"{core}_{what}", port=f"{core}_observed_{what}", kind="bits")


def unit_name(core: str, port: Port) -> str:
    """Return the name of the signal for the use of an execution unit."""
    return f"{core}_unit_{port.name.lower()}"


def slot_name(core: str, slot: int, reason: StallReason) -> str:
    """Return the name of the signal for one stall reason of an issue slot."""
    return f"{core}_slot{slot}_{reason.name.lower()}"
