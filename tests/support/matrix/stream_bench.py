"""Bench that runs random command streams on a cluster, and compares them with the model."""

import random
from collections.abc import Sequence

import numpy as np

from spica.hw.isa.memory_map import DRAM_BASE, MATRIX
from spica.kernels.commands import Host
from spica.sim.machine.command_machine import CommandMachine
from support.matrix.random_commands import DRAM_BYTES, WAIT, CommandStream

__all__ = ["assert_streams"]

#: Copies of shared memory in DRAM, before and after the streams.
BEFORE, AFTER = DRAM_BASE + 0x10_0000, DRAM_BASE + 0x20_0000
ROW = 1024
LIMIT = 1_000_000


def copy_shared(host: Host, size: int, dram: int, *, stores: bool):
    """Add a copy between shared memory and DRAM, and wait for its end."""
    host.dma.set(dram=dram, dram_pitch=ROW, local=0, local_pitch=ROW, shape=size // ROW | ROW << 16)
    host.dma.set(fill=0)
    host.dma.fire("start", int(stores))
    host.commands.wait_equal(host.dma.address("running"), 0)


def interleaved(streams: Sequence[CommandStream], rng: random.Random):
    """Yield the writes of all streams, each in its order: number of the stream, and write."""
    left = [(number, iter(stream.writes)) for number, stream in enumerate(streams)]
    while left:
        number, writes = entry = rng.choice(left)
        write = next(writes, None)
        if write is None:
            left.remove(entry)
        else:
            yield number, write


def assert_streams(machine: CommandMachine, streams: Sequence[CommandStream], seed: int = 0):
    """Run one stream per unit at the same time, from reset; compare the results with the model's.

    The counts of running commands must be 0 after it.
    """
    size = streams[0].config.shared.size
    shared = np.concatenate([stream.shared for stream in streams])
    machine.write(BEFORE, shared)
    for stream in streams:
        machine.write(stream.base, stream.dram)
    hosts = [Host(unit=stream.number) for stream in streams]
    for host in hosts[1:]:
        host.commands = host.dma.commands = host.matrix.commands = hosts[0].commands
    copy_shared(hosts[0], size, BEFORE, stores=False)
    for number, write in interleaved(streams, random.Random(seed)):
        offset, data = write
        if write == WAIT:
            hosts[number].wait_idle()
        else:
            hosts[0].commands.write(hosts[number].matrix.base + offset, data)
    names = ("busy", "running", "computes_done", "error", "error_word")
    for host in hosts:
        for name in names:
            hosts[0].commands.read(host.matrix.base + MATRIX[name].offset)
    copy_shared(hosts[0], size, AFTER, stores=True)
    execution = machine.execute(hosts[0].commands.array(), LIMIT)
    reads = iter(execution.reads.tolist())
    after = machine.read(AFTER, size)
    for stream in streams:
        dram, local, registers = stream.expected()
        assert {name: next(reads) for name in names} == registers
        assert np.array_equal(machine.read(stream.base, DRAM_BYTES), dram)
        assert np.array_equal(after[stream.origin : stream.origin + stream.size], local)
