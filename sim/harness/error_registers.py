"""Error registers of a cluster, and the state of its units after a hang, as text."""

from collections.abc import Callable, Iterator

from ...hw.config import MOST_UNITS, MachineConfig
from ...hw.core.control.faults import FaultCause
from ...hw.isa.memory_map import CORES, CORES_BASE, numbered
from ...hw.lib.interfaces.memory_fault import MemoryFault
from ...hw.machine.register_blocks import unit_blocks

__all__ = ["describe_faults", "fault_registers", "unit_registers", "units_of"]

#: Meaning of each bit of an error register.
DMA_ERRORS = ("an AXI error response", "a descriptor out of range")
MATRIX_ERRORS = ("an illegal command", "a command out of range", "a failed DMA descriptor")
#: Error bits of the cores' state, and their meaning. Console bytes that the host has not read are
#: no error: runs read the console at the cores.
CORE_ERRORS = {
    4: "a command word named a matrix unit that does not exist",
    5: "a write-back of the L2 cache got an error response from DRAM",
}
#: Bits whose command word is held in `error_word`.
MATRIX_WORD_ERRORS = 0b11

FAULT_RECORDED = 0b10


def fault_registers(config: MachineConfig) -> dict[str, int]:
    """Return the addresses of all error registers, by name."""
    registers = unit_registers(config, dma=("error",), matrix=("error", "error_word"))
    if config.cores:
        for name in ("state", "fault", "fault_pc", "fault_address", "fault_lanes"):
            registers[f"cores_{name}"] = CORES_BASE + CORES[name].offset
    return registers


def unit_registers(
    config: MachineConfig, *, dma: tuple[str, ...], matrix: tuple[str, ...]
) -> dict[str, int]:
    """Return the addresses of these registers of all DMA ports and matrix units, by name."""
    return {
        f"{unit}_{name}": base + registers[name].offset
        for unit, base, registers in unit_blocks(config)
        for name in (dma if unit.startswith("dma") else matrix)
    }


def units_of(values: dict[str, int], kind: str, register: str) -> Iterator[tuple[str, str]]:
    """Yield name and display name of each unit of a kind whose `register` is in `values`."""
    words = {
        "dma": ("the DMA", "port {} of the DMA"),
        "matrix": ("the matrix unit", "matrix unit {}"),
    }
    for number in range(MOST_UNITS):
        name = numbered(kind, number)
        if f"{name}_{register}" in values:
            first, other = words[kind]
            yield name, first if not number else other.format(number)


def describe_faults(
    values: dict[str, int], command: Callable[[int, int], str] = lambda number, word: ""
) -> str:
    """Return the errors in the registers of `fault_registers` as text; "" without an error.

    Parameters
    ----------
    values : dict of str to int
        The registers.
    command : callable
        ``command(number, word)``: text to follow the refused word of matrix unit `number`.

    """
    parts = []
    for unit, words in units_of(values, "dma", "error"):
        if error := values[f"{unit}_error"]:
            parts.append(f"{words} reported {named(error, DMA_ERRORS)}")
    for number, (unit, words) in enumerate(units_of(values, "matrix", "error")):
        if error := values[f"{unit}_error"]:
            sentence = f"{words} reported {named(error, MATRIX_ERRORS)}"
            if error & MATRIX_WORD_ERRORS:
                word = values[f"{unit}_error_word"]
                sentence += f" (first rejected command: 0x{word:08X}{command(number, word)})"
            parts.append(sentence)
    state = values.get("cores_state", 0)
    if state & FAULT_RECORDED:
        parts.append(describe_core_fault(values))
    parts += [meaning for bit, meaning in CORE_ERRORS.items() if state >> bit & 1]
    return " and ".join(parts)


def describe_core_fault(values: dict[str, int]) -> str:
    """Return the core fault in the registers of `fault_registers` as text."""
    fault = values["cores_fault"]
    causes = MemoryFault if fault >> 8 & 1 else FaultCause
    sentence = (
        f"core {fault >> 24} raised fault {causes(fault & 0xFF).name} in threads "
        f"{values['cores_fault_lanes']:#x} of warp {fault >> 16 & 0xFF} at "
        f"0x{values['cores_fault_pc']:08X}"
    )
    if causes is MemoryFault:
        sentence += f", address 0x{values['cores_fault_address']:08X}"
    return sentence


def named(bits: int, names: tuple[str, ...]) -> str:
    """Return the names of the bits that are set."""
    return " and ".join(name for bit, name in enumerate(names) if bits >> bit & 1)
