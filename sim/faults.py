"""What a cluster says about itself: the errors it met, and what it waits for when it hangs."""

from typing import TYPE_CHECKING

from ..hw.address_map import CORES, CORES_BASE, DMA, DMA_BASE, MATRIX, MATRIX_BASE
from ..hw.config import ClusterConfig
from ..hw.core.faults import FaultCause
from ..hw.core.memory_layouts import MemoryFault
from ..hw.counters import counter_table
from ..kernels.commands import CommandList
from .stops import Stop

if TYPE_CHECKING:
    from .machine import Machine

__all__ = ["describe_faults", "describe_units", "fault_registers"]

#: What each bit of an error register stands for.
DMA_ERRORS = ("an AXI error response", "a job out of range")
MATRIX_ERRORS = ("an illegal command", "a command out of range", "a failed job of its DMA")
#: Bits of the cores' state that are errors, with what each stands for.
CORE_ERRORS = {3: "console bytes were lost", 4: "a command word went to no matrix unit"}
#: Bits whose command word is kept in `error_word`.
MATRIX_WORD_ERRORS = 0b11

FAULT_RECORDED = 0b10

QUIET_CYCLES = 1000  # without an answer of the control port: it is stuck as well


def fault_registers(config: ClusterConfig) -> dict[str, int]:
    """Return the addresses of all error registers, by name."""
    registers = {"dma_error": DMA_BASE + DMA["error"].offset}
    if config.cores:
        for name in ("state", "fault", "fault_pc", "fault_address", "fault_lanes"):
            registers[f"cores_{name}"] = CORES_BASE + CORES[name].offset
    if config.matrix is not None:
        for name in ("error", "error_word"):
            registers[f"matrix_{name}"] = MATRIX_BASE + MATRIX[name].offset
    return registers


def describe_faults(values: dict[str, int]) -> str:
    """Return in words what the registers of `fault_registers` hold; nothing without an error."""
    parts = []
    if dma := values["dma_error"]:
        parts.append(f"the DMA met {named(dma, DMA_ERRORS)}")
    if matrix := values.get("matrix_error", 0):
        sentence = f"the matrix unit met {named(matrix, MATRIX_ERRORS)}"
        if matrix & MATRIX_WORD_ERRORS:
            sentence += f" (the first refused command is 0x{values['matrix_error_word']:08X})"
        parts.append(sentence)
    state = values.get("cores_state", 0)
    if state & FAULT_RECORDED:
        parts.append(describe_core_fault(values))
    parts += [meaning for bit, meaning in CORE_ERRORS.items() if state >> bit & 1]
    return " and ".join(parts)


def describe_core_fault(values: dict[str, int]) -> str:
    """Return in words the fault that the registers of `fault_registers` tell."""
    fault = values["cores_fault"]
    causes = MemoryFault if fault >> 8 & 1 else FaultCause
    sentence = (
        f"core {fault >> 24} met the fault {causes(fault & 0xFF).name} in threads "
        f"{values['cores_fault_lanes']:#x} of warp {fault >> 16 & 0xFF} at "
        f"0x{values['cores_fault_pc']:08X}"
    )
    if causes is MemoryFault:
        sentence += f", address 0x{values['cores_fault_address']:08X}"
    return sentence


def named(bits: int, names: tuple[str, ...]) -> str:
    """Return the names of the bits that are set."""
    return " and ".join(name for bit, name in enumerate(names) if bits >> bit & 1)


def state_registers(config: ClusterConfig) -> dict[str, int]:
    """Return the addresses of what tells how far each unit has come, by name."""
    names = ("running", "loads_done", "stores_done")
    registers = {f"dma_{name}": DMA_BASE + DMA[name].offset for name in names}
    if config.matrix is not None:
        for name in ("running", "computes_done"):
            registers[f"matrix_{name}"] = MATRIX_BASE + MATRIX[name].offset
    return registers | fault_registers(config)


def describe_units(machine: "Machine", config: ClusterConfig) -> str:
    """Ask a cluster that was stopped how far each unit has come and what it waits for.

    The machine runs on for the time the questions take; its state of before is lost.
    """
    registers, table = state_registers(config), counter_table(config)
    questions = CommandList()
    for address in registers.values():
        questions.read(address)
    for _ in range(2):
        for counter in table:
            questions.read(counter.address)
    commands = questions.array()
    harness = machine.harness
    harness.begin(commands, max_cycles=1 << 20, watchdog=QUIET_CYCLES, stop_on_error=False)
    while harness.state().stop == Stop.NONE and harness.state().reads < len(commands):
        machine.engine.run(harness, QUIET_CYCLES)
    answers = [int(value) for value in harness.reads()]
    if len(answers) < len(commands):
        return "the control port does not answer"
    values = dict(zip(registers, answers, strict=False))
    before, after = answers[len(registers) : -len(table)], answers[-len(table) :]
    counting = [
        f"{counter.name} ({counter.meaning})"
        for counter, first, second in zip(table, before, after, strict=True)
        if first != second
    ]
    parts = [
        f"DMA: {values['dma_running']} jobs of the host unfinished, {values['dma_loads_done']} "
        f"loads and {values['dma_stores_done']} stores done"
    ]
    if config.matrix is not None:
        parts.append(
            f"matrix unit: {values['matrix_running']} commands unfinished, "
            f"{values['matrix_computes_done']} computes done"
        )
    parts.append(f"still counting: {', '.join(counting) or 'none'}")
    return "; ".join([*parts, *filter(None, [describe_faults(values)])])
