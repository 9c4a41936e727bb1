"""Stop reasons of a run, and their descriptions."""

import numpy as np

from ..harness.harness import response_name
from ..harness.stop_reason import StopReason
from .machine import Machine

__all__ = ["describe_machine", "describe_stop_reason"]


def describe_stop_reason(machine: Machine) -> str:
    """Return what stopped a run, at which command, and what the machine showed then."""
    harness, state = machine.harness, machine.harness.state()
    commands = harness.commands()
    cycle = state.cycle - state.start
    if state.stop == StopReason.HOST_ERROR:
        command, _, response = harness.errors()[-1]
        described = describe_command(commands[command])
        return f"command {command}, {described}, got response {response_name(response)}"
    if state.stop == StopReason.VIOLATION:
        return harness.violation()
    if state.stop == StopReason.HANG:
        quiet = state.cycle - state.last_progress
        head = f"the machine hangs: no progress for {quiet} cycles up to cycle {cycle}"
    else:
        head = f"the machine was not done after {cycle} cycles"
    return "; ".join([head, describe_host(machine, commands), *describe_machine(machine)])


def describe_host(machine: Machine, commands: np.ndarray) -> str:
    """Return where the host is in its list."""
    state = machine.harness.state()
    if state.current_command >= len(commands):
        return f"all {len(commands)} commands are done, but the machine is not idle"
    command = commands[state.current_command]
    text = f"the host is at command {state.current_command} of {len(commands)}, "
    text += describe_command(command)
    if command[0] in (1, 2):
        text += f", and last read 0x{state.last_read:X}"
    return text


def describe_command(command: np.ndarray) -> str:
    """Return one command as text."""
    operation, address, data, mask = (int(field) for field in command)
    if operation == 0:
        return f"write 0x{data:X} to 0x{address:04X}"
    if operation == 1:
        return f"wait until 0x{address:04X} & 0x{mask:X} is 0x{data:X}"
    if operation == 2:
        return f"wait until 0x{address:04X} reaches {data}"
    return f"read 0x{address:04X}"


def describe_machine(machine: Machine):
    """Yield the last state of each busy signal, AXI channel and DRAM channel as text."""
    outputs = machine.outputs()
    busy = [f"{name[:-5]} {value}" for name, value in outputs.items() if name.endswith("_busy")]
    if busy:
        yield f"busy: {', '.join(busy)}"
    handshakes = ("valid", "ready")
    for master in range(machine.harness.channels):
        prefix = f"m_axi{master}_"
        high = [
            name.removeprefix(prefix)
            for name, value in outputs.items()
            if name.startswith(prefix) and name.endswith(handshakes) and value
        ]
        _, reads, writes = machine.harness.channel(master)
        yield (
            f"m_axi{master}: {reads} reads and {writes} writes outstanding, "
            f"asserted: {', '.join(high) or 'none'}"
        )
