"""Bench of the DMA: memories, register accesses and descriptors."""

import random
from dataclasses import replace
from functools import lru_cache

from amaranth import EnableInserter, Module
from amaranth.lib.wiring import connect

from spica.hw.config import DmaBlockConfig, MachineConfig
from spica.hw.isa.memory_map import DMA
from spica.hw.lib.interfaces.shared_memory import Direction
from spica.hw.memory.dma.dma import Dma
from spica.hw.memory.shared.shared_memory import SharedMemory, cluster_ports, port_names
from spica.sim.engine.testbench import Simulation
from spica.sim.golden.memory.dma.dma import DmaDescriptor, SparseMemory
from support.memory.axi_memory import interleaved_memories
from support.memory.dma_matrix_unit import UnitSide
from support.memory.shared_ports import SharedPorts
from support.packing import Together

__all__ = ["DmaBench", "words_of"]


class SharedWatch:
    """Mirror of the DMA's writes to the real shared memory, in a model.

    Parameters
    ----------
    config : MachineConfig
    dut : Dma
    memory : SparseMemory

    """

    def __init__(self, config: MachineConfig, dut, memory):
        self.memory, self.size, self.masters = memory, config.axi.beat_bytes, config.axi.masters
        self.drives: list = []
        self.samples = []
        self.now = 0
        self.last_write = 0
        for c in range(self.masters):
            request = dut.write[c].request
            payload = request.payload
            accepted = request.valid & request.ready
            self.samples += [accepted, payload.address, payload.data, payload.mask]

    def step(self, values) -> list[int]:
        """Apply the writes of a cycle."""
        self.now += 1
        for c in range(self.masters):
            accepted, address, value, mask = values[4 * c : 4 * c + 4]
            if accepted:
                self.last_write = self.now
                self.memory.write_masked(address, value, mask, self.size)
        return []


def with_shared_memory(config: MachineConfig, dut) -> Module:
    """Return a module with the DMA connected to the real shared memory."""
    m = Module()
    m.submodules.dma = dut
    m.submodules.shared = shared = SharedMemory(cluster_ports(config))
    reads, writes = port_names(config)
    for c in range(config.axi.masters):
        connect(m, dut.read[c], getattr(shared, f"read_{reads.index(f'dma{c}')}"))
        connect(m, dut.write[c], getattr(shared, f"write_{writes.index(f'dma{c}')}"))
    return m


def words_of(descriptor: DmaDescriptor) -> dict[str, int]:
    """Return the values of the host's registers for a descriptor."""
    return {
        "dram": descriptor.dram,
        "dram_pitch": descriptor.dram_pitch,
        "local": descriptor.local,
        "local_pitch": descriptor.local_pitch,
        "shape": descriptor.rows | descriptor.bytes << 16,
        "fill": descriptor.fill_rows | descriptor.fill_bytes << 16,
        "start": int(descriptor.direction == Direction.STORE),
    }


@lru_cache(maxsize=8)
def simulated_dma(config: MachineConfig, real: bool, gated: bool) -> tuple[Dma, Simulation]:
    """Return a DMA and its simulation, which all benches of the config share."""
    dut = Dma(DmaBlockConfig.of(config))
    if real:
        return dut, Simulation(with_shared_memory(config, dut))
    return dut, Simulation(EnableInserter(dut.busy)(dut) if gated else dut)


class DmaBench:
    """Bench of a `Dma` with DRAM, shared memory, a host and matrix units.

    Parameters
    ----------
    config : MachineConfig
    seed : int
    stall : float
        Probability of a pause, on all interfaces.
    shared_stall : float or None
        Probability for shared memory, if it differs.
    real : bool
        Whether to use the real shared memory instead of a model.
    gated : bool
        Whether to gate the DMA's clock while it is not busy.
    **dram
        Further arguments of `AxiMemory`.

    """

    def __init__(
        self,
        config: MachineConfig,
        seed: int = 0,
        stall: float = 0.0,
        shared_stall: float | None = None,
        real: bool = False,
        gated: bool = False,
        **dram,
    ):
        self.config = config
        self.rng = random.Random(seed)
        self.stall = stall
        self.dut, self.simulation = simulated_dma(config, real, gated)
        self.dram, self.local = SparseMemory(), SparseMemory()
        self.masters = interleaved_memories(
            self.dut, self.dram, config.axi, self.rng,
            stall=stall, ids=1, outstanding=config.dma.outstanding, whole_writes=True, **dram,
        )  # fmt: skip
        pauses = stall if shared_stall is None else shared_stall
        if real:
            self.shared = SharedWatch(config, self.dut, self.local)
        else:
            self.shared = SharedPorts(
                [*self.dut.read, *self.dut.write],
                self.local,
                self.rng,
                read_latency=config.shared.read_latency,
                stall=pauses,
            )
        units = range(len(config.units))
        self.units = [UnitSide(self.dut, number, self.rng, stall) for number in units]
        if self.units:
            first = self.units[0]
            self.descriptors, self.beats, self.done = first.descriptors, first.beats, first.done
        self.cycle = 0
        self.busy = 0
        self.loading: list[int] = []  # in each cycle, if there are units

    async def serve(self, ctx, finish):
        """Serve every port each cycle until `finish()` is true."""
        dut = self.dut
        parts = [*self.masters, self.shared, *self.units]
        samples = [signal for part in parts for signal in part.samples]
        drives = [signal for part in parts for signal in part.drives]
        together = Together(drives)
        while not finish():
            _, _, *values, self.busy, loading = await ctx.tick().sample(
                *samples, dut.busy, dut.loading if self.units else 0
            )
            self.loading.append(loading)
            self.cycle += 1
            driven, at = [], 0
            for part in parts:
                driven += part.step(values[at : at + len(part.samples)])
                at += len(part.samples)
            together.set(ctx, driven)

    async def access(self, ctx, name_or_offset, value=None, port=0):
        """Write a register, or read it if `value` is None; return (data, error)."""
        bus = self.dut.registers[port]
        offset = DMA[name_or_offset].offset if isinstance(name_or_offset, str) else name_or_offset
        payload = {"address": offset, "write": value is not None, "data": value or 0}
        ctx.set(bus.request.payload, payload)
        ctx.set(bus.request.valid, 1)
        await ctx.tick().until(bus.request.ready)
        ctx.set(bus.request.valid, 0)
        assert ctx.get(bus.response.valid)
        return ctx.get(bus.response.payload.data), ctx.get(bus.response.payload.error)

    async def wait_for(self, ctx, name, value, port=0):
        """Read a register until it has a value."""
        while (await self.access(ctx, name, port=port))[0] != value:
            await ctx.tick().repeat(10)

    def run_host(self, bench, timeout: int = 100_000):
        """Run a testbench of the host, then continue until the DMA is idle."""
        over = False

        async def host(ctx):
            nonlocal over
            await bench(ctx)
            over = True

        async def serve(ctx):
            await self.serve(ctx, lambda: over and not self.busy)

        self.simulation.run(host, serve, timeout=timeout)

    async def start(self, ctx, descriptor: DmaDescriptor, port=0):
        """Write a LOAD or STORE to a block of registers."""
        for name, value in words_of(descriptor).items():
            await self.access(ctx, name, value, port=port)

    def run_descriptors(self, *descriptors_of_units, timeout: int = 100_000):
        """Issue descriptors, with tags in order, to the matrix units' ports; wait for all."""
        for unit, descriptors in zip(self.units, descriptors_of_units, strict=False):
            unit.descriptors.extend(
                replace(descriptor, tag=k % 15 + 1) for k, descriptor in enumerate(descriptors)
            )
        total = sum(map(len, descriptors_of_units))

        async def bench(ctx):
            await self.serve(
                ctx, lambda: sum(len(u.done) for u in self.units) == total and not self.busy
            )

        self.simulation.run(bench, timeout=timeout)
        assert all(master.idle for master in self.masters)
