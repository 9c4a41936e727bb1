"""Netlist of a block mapped to the cells of a library, with memories and other blocks kept."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from ...base.errors import UserError
from ..blocks import TOP, Block
from ..liberty import Library, mapped, require_mapped
from ..memories import MemoryShape, memory_shape
from .boolean import Expression, evaluate, names_in
from .power_library import Cell, PowerLibrary

__all__ = ["ONE", "ZERO", "Instance", "MappedNetlist", "Opaque", "map_block", "netlist_from"]

#: Nets of the constants; those of signals follow. An undefined bit counts as 0.
ZERO, ONE = 0, 1
CONSTANTS = {"0": ZERO, "1": ONE, "x": ZERO, "z": ZERO}


@dataclass(frozen=True, kw_only=True)
class Instance:
    """Instance of a library cell: its name, cell, and the net of each connected pin."""

    name: str
    cell: Cell
    nets: Mapping[str, int]

    @property
    def clock(self) -> int:
        """Net of the clock of a flip-flop."""
        assert self.cell.flip_flop is not None and self.cell.flip_flop.clock is not None
        return self.nets[self.cell.flip_flop.clock]


@dataclass(frozen=True, kw_only=True)
class Opaque:
    """Part without a netlist, a memory or another block.

    Parameters
    ----------
    name : str
        Name of the instance.
    block : str or None
        Block it is an instance of; None for a memory.
    shape : MemoryShape or None
        Shape of a memory.
    inputs, outputs : mapping of str to tuple of int
        Nets of each port, least significant bit first.

    """

    name: str
    block: str | None
    shape: MemoryShape | None
    inputs: Mapping[str, tuple[int, ...]]
    outputs: Mapping[str, tuple[int, ...]]


@dataclass(frozen=True, kw_only=True)
class MappedNetlist:
    """Mapped block.

    Parameters
    ----------
    name : str
        Name of the block.
    nets : int
        Number of nets, numbered from 0 with both constants.
    inputs, outputs : mapping of str to tuple of int
        Nets of each port, least significant bit first.
    names : mapping of str to tuple of int
        Nets of each signal whose name synthesis kept, ports and registers among them.
    gates, flip_flops : tuple of Instance
        Cells.
    clocks : frozenset of int
        Nets of the clocks of flip-flops.
    opaque : tuple of Opaque
        Memories and other blocks.

    """

    name: str
    nets: int
    inputs: Mapping[str, tuple[int, ...]]
    outputs: Mapping[str, tuple[int, ...]]
    names: Mapping[str, tuple[int, ...]]
    gates: tuple[Instance, ...]
    flip_flops: tuple[Instance, ...]
    clocks: frozenset[int]
    opaque: tuple[Opaque, ...]

    @property
    def cells(self) -> Iterator[Instance]:
        """All cells."""
        yield from self.gates
        yield from self.flip_flops

    @property
    def without_cells(self) -> "MappedNetlist":
        """The netlist without its cells, as `replay` needs it."""
        return replace(self, gates=(), flip_flops=())


def map_block(library: Library, cells: PowerLibrary, block: Block) -> MappedNetlist:
    """Return the netlist of a block in a library, of which `cells` has the power data."""
    text = mapped_text(library, block)
    return netlist_from(json.loads(text)["modules"][TOP], cells, block.name, block.names)


def mapped_text(library: Library, block: Block) -> str:
    """Return the mapped netlist in Yosys's JSON format, from the cache or from Yosys."""

    def checked(text: str) -> str:
        module = json.loads(text)["modules"][TOP]
        require_mapped({cell["type"]: 1 for cell in module["cells"].values()}, block)
        return text

    return mapped(library, block, "mapped", "write_json mapped.json\n", checked)


def netlist_from(
    module: dict, library: PowerLibrary, name: str, blocks: Mapping[str, str]
) -> MappedNetlist:
    """Return the netlist of a module in Yosys's JSON format.

    Parameters
    ----------
    module : dict
        The module.
    library : PowerLibrary
        Cells it is mapped to.
    name : str
        Name of the block, for messages.
    blocks : mapping of str to str
        Block that each other module instantiated in it stands for.

    """
    gates, flip_flops, opaque = [], [], []
    for instance, cell in module["cells"].items():
        kind = cell["type"]
        if kind in blocks or kind.startswith("$mem"):
            opaque.append(opaque_of(instance, cell, blocks.get(kind)))
            continue
        library_cell = library.cells.get(kind)
        if library_cell is None or not library_cell.is_supported:
            raise UserError(
                f"cells of {name} must be gates or flip-flops of {library.name}, not {kind}"
            )
        nets = {pin: nets_of(bits)[0] for pin, bits in cell["connections"].items() if bits}
        mapped = Instance(name=instance, cell=library_cell, nets=nets)
        if library_cell.flip_flop is None:
            gates.append(mapped)
        else:
            require_synchronous(mapped, name)
            flip_flops.append(mapped)
    ports = {port: (p["direction"], nets_of(p["bits"])) for port, p in module["ports"].items()}
    # Yosys escapes a public name that begins with `$`, such as Amaranth's `$signal`.
    names = {
        signal.replace("\\", ""): nets_of(entry["bits"])
        for signal, entry in module["netnames"].items()
        if not entry["hide_name"]
    }
    used = [net for nets in names.values() for net in nets]
    used += [net for mapped in (*gates, *flip_flops) for net in mapped.nets.values()]
    used += [net for part in opaque for nets in part.inputs.values() for net in nets]
    used += [net for part in opaque for nets in part.outputs.values() for net in nets]
    return MappedNetlist(
        name=name,
        nets=max(used, default=ONE) + 1,
        inputs={port: nets for port, (direction, nets) in ports.items() if direction == "input"},
        outputs={port: nets for port, (direction, nets) in ports.items() if direction == "output"},
        names=names,
        gates=tuple(gates),
        flip_flops=tuple(flip_flops),
        clocks=frozenset(register.clock for register in flip_flops),
        opaque=tuple(opaque),
    )


def nets_of(bits: list[int | str]) -> tuple[int, ...]:
    """Return the nets of bits; Yosys numbers them from 2."""
    return tuple(CONSTANTS[bit] if isinstance(bit, str) else bit for bit in bits)


def opaque_of(instance: str, cell: dict, block: str | None) -> Opaque:
    """Return a memory or an instance of another block."""
    sides: dict[str, dict[str, tuple[int, ...]]] = {"input": {}, "output": {}}
    for port, bits in cell["connections"].items():
        sides[cell["port_directions"][port]][port] = nets_of(bits)
    return Opaque(
        name=instance,
        block=block,
        shape=memory_shape(cell) if block is None else None,
        inputs=sides["input"],
        outputs=sides["output"],
    )


def require_synchronous(instance: Instance, block: str):
    """Raise unless a flip-flop changes only at an edge of its clock pin."""
    flip_flop = instance.cell.flip_flop
    assert flip_flop is not None
    if flip_flop.clock is None:
        raise UserError(
            f"flip-flops of {block} must have one clock pin, unlike {instance.cell.name}"
        )
    ties = {pin: net for pin, net in instance.nets.items() if net in (ZERO, ONE)}
    for control in (flip_flop.clear, flip_flop.preset):
        if control is not None and not ties_to_zero(control, ties):
            raise UserError(
                f"flip-flops of {block} must have no asynchronous reset, unlike {instance.name}"
            )


def ties_to_zero(control: Expression, ties: Mapping[str, int]) -> bool:
    """Return whether an expression is 0 whatever the pins that are not tied to a constant."""
    free = sorted({name for name in names_in(control) if name not in ties})
    return not any(
        evaluate(control, {**ties, **{name: state >> k & 1 for k, name in enumerate(free)}})
        for state in range(1 << len(free))
    )
