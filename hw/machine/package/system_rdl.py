"""Register description of a design in SystemRDL 2.0, the source of IP-XACT and of documentation."""

from collections.abc import Iterator

from ...config import MachineConfig
from ...emit.emission import Emission
from ...isa.memory_map import COUNTERS_BASE, Register
from ..artifacts import generator
from ..counters import counter_table
from ..register_blocks import register_blocks

__all__ = ["system_rdl"]

#: Component of a register whose reads remove its value. SystemRDL has no such effect of its own,
#: and admits effects of the user only in registers implemented elsewhere.
QUEUE = "queue"
#: Components of registers, by access and by the effect of an access on the value.
TYPES = {
    ("r", ""): ("status", "sw = r; hw = w;"),
    ("r", "pop"): (QUEUE, "sw = r; hw = w; onread = ruser;"),
    ("w", ""): ("command", "sw = w; hw = r;"),
    ("rw", ""): ("setting", "sw = rw; hw = rw;"),
    ("rw", "clear"): ("flags", "sw = rw; hw = rw; onwrite = wclr;"),
    ("rw", "clear_ones"): ("events", "sw = rw; hw = rw; onwrite = woclr;"),
}
HEAD = """\
// {generator}: registers of the cluster {name} on its AXI4-Lite slave.
// Compiled by any compiler of SystemRDL 2.0; `peakrdl ip-xact` converts it to IP-XACT.

"""
COUNTER = """\
reg spica_counter {
    desc = "Count modulo 2**64. A read of the low word, at the lower address, holds the high one
            for the read that follows.";
    regwidth = 64;
    accesswidth = 32;
    field { sw = r; hw = w; } value[63:0];
};
"""


def system_rdl(emission: Emission) -> str:
    """Return the address map: a file of registers for each block, and one for the counters.

    Addresses, accesses and meanings are those of `description`, which the JSON file holds.
    """
    config: MachineConfig = emission.config
    types = [
        f"reg spica_{name} {{ regwidth = 32; field {{ {properties} }} value[31:0]; }};\n"
        for name, properties in TYPES.values()
    ]
    return "".join([
        HEAD.format(generator=generator(), name=emission.name),
        *types,
        COUNTER,
        f"\naddrmap {emission.name} {{\n",
        f'    name = "Registers of the cluster {emission.name}";\n',
        *(line + "\n" for block in blocks(config) for line in block),
        "};\n",
    ])


def blocks(config: MachineConfig) -> Iterator[list[str]]:
    """Yield the lines of each block of registers, and of the counters."""
    for name, base, registers in register_blocks(config):
        instances = [
            instance(kind(register), register_name, register.offset, register.meaning)
            for register_name, register in registers.items()
        ]
        yield register_file(name, base, instances)
    if counters := counter_table(config):
        instances = [
            instance("counter", counter.name, counter.address - COUNTERS_BASE, counter.meaning)
            for counter in counters
        ]
        yield register_file("counters", COUNTERS_BASE, instances)


def kind(register: Register) -> str:
    """Return the name of the component of a register, without its prefix."""
    return TYPES[register.access, register.effect][0]


def instance(component: str, name: str, offset: int, meaning: str) -> tuple[str, str]:
    """Return the declaration of a register and the assignment of its description."""
    external = "external " if component == QUEUE else ""
    text = meaning.replace("\\", "\\\\").replace('"', '\\"')
    return f"{external}spica_{component} {name} @ {offset:#x};", f'{name}->desc = "{text}";'


def register_file(name: str, base: int, instances: list[tuple[str, str]]) -> list[str]:
    """Return the lines of a block of registers at a base address."""
    lines = [f"        {line}" for pair in instances for line in pair]
    return ["", "    regfile {", *lines, f"    }} {name} @ {base:#06x};"]
