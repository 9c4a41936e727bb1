"""Accesses to the memories of a block, counted from the values of their ports."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .mapped_netlist import MappedNetlist, Opaque
from .memory_energy import MemoryEnergy
from .replay import Replay

__all__ = ["MemoryPorts", "memory_pj", "memory_ports"]


@dataclass(frozen=True, kw_only=True)
class MemoryPorts:
    """Ports of a memory.

    Parameters
    ----------
    memory : Opaque
        The memory.
    reads : tuple of tuple of int
        Nets of each read port: its enable, or its address if reads are not clocked.
    writes : tuple of tuple of int
        Nets of each write port: the enables of all bits.

    """

    memory: Opaque
    reads: tuple[tuple[int, ...], ...]
    writes: tuple[tuple[int, ...], ...]

    @property
    def is_clocked(self) -> bool:
        """Whether reads are clocked."""
        assert self.memory.shape is not None
        return not self.memory.shape.ports.endswith("async")

    @property
    def nets(self) -> tuple[int, ...]:
        """All nets, in the order of the ports."""
        return tuple(net for port in (*self.reads, *self.writes) for net in port)


def memory_ports(netlist: MappedNetlist) -> list[MemoryPorts]:
    """Return the ports of each memory of a netlist."""
    memories = []
    for memory in netlist.opaque:
        if memory.shape is None:
            continue
        enables, addresses = (memory.inputs.get(name, ()) for name in ("RD_EN", "RD_ADDR"))
        is_clocked = not memory.shape.ports.endswith("async")
        reads = split(enables if is_clocked else addresses, len(enables))
        bits = memory.inputs.get("WR_EN", ())
        writes = split(bits, len(bits) // memory.shape.width)
        memories.append(MemoryPorts(memory=memory, reads=reads, writes=writes))
    return memories


def split(nets: Sequence[int], ports: int) -> tuple[tuple[int, ...], ...]:
    """Return the nets of each of some equal ports."""
    width = len(nets) // max(1, ports)
    return tuple(tuple(nets[k * width : (k + 1) * width]) for k in range(ports))


def memory_pj(
    memories: Sequence[tuple[MemoryPorts, MemoryEnergy]], replayed: Replay
) -> tuple[NDArray[np.float64], int, int]:
    """Return the energy in pJ of each cycle, reads and writes of the memories of a replay.

    A clocked access happens at a clock edge at which an enable of the port is 1. A read that is not
    clocked happens in each cycle whose address differs from that of the cycle before.

    Parameters
    ----------
    memories : sequence of (MemoryPorts, MemoryEnergy)
        Memories with their energies; the observed nets are those of all of them in this order.
    replayed : Replay
        Replay of the block.

    """
    row, energy = 0, np.zeros(replayed.cycles)
    reads = writes = 0
    for ports, costs in memories:
        for nets, is_write in (
            *((nets, False) for nets in ports.reads),
            *((nets, True) for nets in ports.writes),
        ):
            before, now = (v[row : row + len(nets)] for v in (replayed.before, replayed.now))
            row += len(nets)
            if is_write or ports.is_clocked:
                accessed = before.any(axis=0) & replayed.clocked
            else:
                accessed = (before != now).any(axis=0)
            energy[accessed] += costs.write if is_write else costs.read
            reads += 0 if is_write else int(accessed.sum())
            writes += int(accessed.sum()) if is_write else 0
    return energy, reads, writes
