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
    found = []
    for memory in netlist.opaque:
        if memory.shape is None:
            continue
        enables, addresses = (memory.inputs.get(name, ()) for name in ("RD_EN", "RD_ADDR"))
        is_clocked = not memory.shape.ports.endswith("async")
        reads = split(enables if is_clocked else addresses, len(enables))
        bits = memory.inputs.get("WR_EN", ())
        writes = split(bits, len(bits) // memory.shape.width)
        found.append(MemoryPorts(memory=memory, reads=reads, writes=writes))
    return found


def split(nets: Sequence[int], ports: int) -> tuple[tuple[int, ...], ...]:
    """Return the nets of each of some equal ports."""
    width = len(nets) // max(1, ports)
    return tuple(tuple(nets[k * width : (k + 1) * width]) for k in range(ports))


def memory_pj(
    memories: Sequence[tuple[MemoryPorts, MemoryEnergy]], replayed: Replay
) -> tuple[float, int, int]:
    """Return the energy in pJ, reads and writes of memories whose nets a replay observed.

    A clocked access happens at a clock edge at which an enable of the port is 1. A read that is not
    clocked happens in each cycle whose address differs from that of the cycle before.

    Parameters
    ----------
    memories : sequence of (MemoryPorts, MemoryEnergy)
        Memories with their energies; the observed nets are those of all of them in this order.
    replayed : Replay
        Replay of the block.

    """
    row, energy, all_reads, all_writes = 0, 0.0, 0, 0
    for ports, costs in memories:
        reads = writes = 0
        for nets, is_write in (
            *((nets, False) for nets in ports.reads),
            *((nets, True) for nets in ports.writes),
        ):
            before, now = (v[row : row + len(nets)] for v in (replayed.before, replayed.now))
            row += len(nets)
            if is_write:
                writes += accesses(before, replayed.clocked)
            elif ports.is_clocked:
                reads += accesses(before, replayed.clocked)
            else:
                reads += int((before != now).any(axis=0).sum())
        energy += reads * costs.read + writes * costs.write
        all_reads, all_writes = all_reads + reads, all_writes + writes
    return energy, all_reads, all_writes


def accesses(enables: NDArray[np.bool_], clocked: NDArray[np.bool_]) -> int:
    """Return the clock edges at which an enable is 1."""
    return int((enables.any(axis=0) & clocked).sum())
