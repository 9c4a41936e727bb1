"""Cluster top: control port, cores, matrix units, shared memory and DMA, and their wiring."""

from collections.abc import Iterable
from typing import Any

from amaranth import *
from amaranth.lib.wiring import In, Out, connect, flipped

from ..config import (
    ClusterBarrierConfig,
    ClusterConfig,
    CoreBlockConfig,
    DmaBlockConfig,
    MatrixUnitConfig,
    MemoryUnitConfig,
    RunControlConfig,
    UnitRegisterBusConfig,
)
from ..config.rtl_support import require_rtl
from ..core.core import Core
from ..emit.component import Component
from ..isa.memory_map import SLAVE_ADDRESS_WIDTH
from ..lib.axi import Axi4LiteSignature, Axi4Signature
from ..lib.axi_mux import AxiMux
from ..memory.dma.dma import Dma
from ..memory.l2.l2_slice import L2Slice
from ..memory.memory_unit.memory_unit import MemoryUnit
from ..memory.shared.shared_memory import SharedMemory, cluster_ports, port_names, tensor_ports
from ..styles.registry import matrix_style_of
from .cluster_barrier import ClusterBarrier
from .cores import core_domains
from .counters import counter_table
from .host_control import Control, ControlConfig
from .l2_place import cluster_l2, cluster_mux
from .observation import (
    observed_ports,
    probe_core,
    probe_dma_axi,
    probe_events,
    probe_l2_reads,
    probe_writes,
)
from .run_control import RunControl
from .unit_register_bus import UnitRegisterBus

__all__ = ["Cluster", "gated_domains"]


def gated_domains(config: ClusterConfig) -> list[str]:
    """Return the clock domains that may be gated while their block is not busy."""
    domains = [*config.named_units, *([] if config.dma is None else ["dma"]), "shared"]
    return domains + (["bus", *core_domains(config)] if config.cores else [])


class Cluster(Component):
    """Cluster top: controlled over AXI4-Lite, with operands and results in DRAM over AXI4.

    ::

        s_axil ─► control ─┬─► matrix units ◄─── A, B ────┐
                           │      │ results, descriptors  │
                           ├────► DMA ◄──────────► shared memory
                           │       │                      │
                           │    L2 slices (bus) ─► m_axi0, m_axi1, …
                           │       │                      │
                           └────► cores, each with a memory unit

    Each large block has its own clock domain, named as in `gated_domains`. Control and the
    cluster barrier are in ``sync``. A core's domain includes its memory unit. Domain ``bus`` holds
    the arbiters of the AXI masters, with a slice of the L2 cache before each master. Without
    cores the DMA drives the masters directly, uncached. Without a DMA there are no matrix units and
    no unit register bus. All domains run from one common clock. A domain's clock may be gated in a
    cycle if its ``busy`` is low once all inputs have settled.

    When the cores have ended and the units are idle, the slices write all dirty data back to
    DRAM. The run ends after that (`RunControl`).

    Parameters
    ----------
    config : ClusterConfig
    observed : bool
        Adds the ports of `observed_ports`, for checkers and traces.

    Members
    -------
    s_axil : In(Axi4LiteSignature)
        Registers of `address_map`.
    m_axi{c} : Out(Axi4Signature)
        DRAM, interleaved over the masters by `config.axi.interleave_bytes`. With cores, read IDs
        number the pending requests of a slice and all writes have ID 0 (`L2Slice`).
    {domain}_busy : Out(1)
        Combinational: the domain needs its clock in this cycle, also for a reset.
    """

    def __init__(self, config: ClusterConfig, *, observed: bool = False):
        require_rtl(config)
        self.config, self.observed = config, observed
        axi = config.axi
        id_width = cluster_l2(config).mshr_width if config.cores else axi.id_width
        bus = Axi4Signature(address_width=32, data_width=axi.data_width, id_width=id_width)
        super().__init__(
            {"s_axil": In(Axi4LiteSignature(address_width=SLAVE_ADDRESS_WIDTH))}
            | {f"m_axi{c}": Out(bus) for c in range(axi.masters)}
            | {f"{domain}_busy": Out(1) for domain in gated_domains(config)}
            | (observed_ports(config) if observed else {})
        )

    def elaborate(self, platform):
        m = Module()
        config = self.config
        m.submodules.control = control = Control(ControlConfig.of(config))
        dmas = [] if config.dma is None else [Dma(DmaBlockConfig.of(config))]
        shared = SharedMemory(cluster_ports(config))
        matrices: list[Any] = [
            matrix_style_of(unit).component(MatrixUnitConfig.of(config, number))
            for number, unit in enumerate(config.units)
        ]
        units = dict(zip(config.named_units, matrices, strict=True))
        blocks = dict(zip(["dma"], dmas, strict=False)) | {"shared": shared, **units}
        for domain, block in blocks.items():
            m.submodules[domain] = DomainRenamer(domain)(block)
            self.keep_awake(m, domain, block.busy)

        connect(m, flipped(self.s_axil), control.s_axil)
        for dma in dmas:
            self.connect_units(m, dma, matrices)
        self.connect_shared(m, shared, dmas, matrices)
        errors = [block.error for block in (*dmas, *matrices)]
        sources = {name: [block.events] for name, block in blocks.items()}
        registers = [port for dma in dmas for port in dma.registers]
        registers += [matrix.registers for matrix in matrices]
        if config.cores:
            errors.append(self.add_cores(m, control, shared, dmas, registers, sources))
        else:
            connect_all(m, control.units, registers)
            connect_all(m, [bus for dma in dmas for bus in dma.axi], map(flipped, self.masters))
        m.d.comb += [
            control.dma_busy.eq(Cat(dma.busy for dma in dmas).any()),
            control.matrix_busy.eq(Cat(matrix.busy for matrix in matrices).any()),
            control.error.eq(Cat(errors).any()),
            *(
                control.events[counter.name].eq(counter.times(sources[counter.unit]))
                for counter in counter_table(config)
            ),
        ]
        if self.observed:
            probe_events(m, self, control.events)
            probe_writes(m, self, shared)
            for dma in dmas:
                probe_dma_axi(m, self, dma)
        return m

    @property
    def masters(self) -> list:
        """The AXI4 masters."""
        return [getattr(self, f"m_axi{c}") for c in range(self.config.axi.masters)]

    def keep_awake(self, m: Module, domain: str, busy: Value) -> None:
        """Drive the `busy` of a clock domain."""
        m.d.comb += getattr(self, f"{domain}_busy").eq(busy | ResetSignal(domain))

    def connect_units(self, m: Module, dma: Dma, matrices: list) -> None:
        """Connect the matrix units to the DMA."""
        for number, matrix in enumerate(matrices):
            connect(m, matrix.descriptor, dma.descriptor[number])
            connect(m, matrix.drain, dma.drains[number])
            if number in dma.fills:
                connect(m, dma.fills[number], matrix.fill)
            connect(m, dma.done[number], matrix.done)
            m.d.comb += matrix.loading.eq(dma.loading)

    def connect_shared(
        self, m: Module, shared: SharedMemory, dmas: list[Dma], matrices: list
    ) -> None:
        """Connect the wide ports of shared memory, except those of the cores.

        Ports are in the order of `port_names`.
        """
        operands = [
            getattr(matrix, port)
            for matrix, unit in zip(matrices, self.config.units, strict=True)
            for port in unit.reads
        ]
        copies = [port for dma in dmas for port in dma.read]
        reads = shared.ports("read")
        connect_all(m, operands, reads[: len(operands)])
        connect_all(m, copies, reads[len(reads) - len(copies) :])
        connect_all(m, [port for dma in dmas for port in dma.write], shared.ports("write"))

    def add_cores(
        self, m: Module, control: Control, shared: SharedMemory, dmas: list[Dma], registers, sources
    ) -> Value:
        """Add the cores, what they share, and the L2; return whether any core has an error.

        Adds the events of the caches to `sources`.
        """
        config = self.config
        m.submodules.run_control = run_control = RunControl(RunControlConfig.of(config))
        m.submodules.cluster_barrier = cluster_barrier = ClusterBarrier(
            ClusterBarrierConfig.of(config)
        )
        connect(m, control.cores, run_control.registers)
        m.d.comb += control.cores_run.eq(run_control.runs)
        narrow, count = shared.ports("narrow"), config.core_shared_ports
        rows = shared.ports("row")
        reads = dict(zip(port_names(config)[0], shared.ports("read"), strict=True))
        cores, memory_units = [], []
        for number, domain in enumerate(core_domains(config)):
            core = Core(CoreBlockConfig.of(config))
            memory_unit = MemoryUnit(MemoryUnitConfig.of(config))
            m.submodules[domain] = DomainRenamer(domain)(core)
            m.submodules[f"{domain}_memory_unit"] = DomainRenamer(domain)(memory_unit)
            self.keep_awake(m, domain, core.busy | memory_unit.busy)
            self.add_core(m, number, core, memory_unit, run_control, cluster_barrier)
            connect_all(m, memory_unit.narrow, narrow[number * count : (number + 1) * count])
            if rows:
                connect(m, memory_unit.row, rows[number])
            cores.append(core)
            memory_units.append(memory_unit)
        for name, number, port in tensor_ports(config):
            connect(m, getattr(cores[number], port), reads[name])
        waits: list[Value] = []
        if registers:
            waits += self.add_register_bus(m, control, cores, memory_units, registers)
        if not config.units:
            self.refuse_commands(m, cores, run_control)
        if config.tensor is not None:
            sources["tensor"] = [core.tensor_events for core in cores]
        sources["l1i"] = sources["l1d"] = [memory_unit.events for memory_unit in memory_units]
        sources["l2"] = self.add_l2(m, [*dmas, *memory_units], run_control)
        m.d.comb += run_control.units_busy.eq(
            Cat(control.dma_busy, control.matrix_busy, *waits).any()
        )
        return run_control.error

    def add_core(
        self,
        m: Module,
        number: int,
        core: Core,
        memory_unit: MemoryUnit,
        run_control: RunControl,
        cluster_barrier: ClusterBarrier,
    ) -> None:
        """Connect a core to its memory unit, run control and the cluster barrier."""
        domain = core_domains(self.config)[number]
        connect(m, core.fetch, memory_unit.fetch)
        connect(m, memory_unit.fetched, core.fetched)
        connect(m, core.request, memory_unit.request)
        connect(m, memory_unit.response, core.response)
        connect(m, memory_unit.console, run_control.console[number])
        connect(m, core.fault, run_control.fault[number])
        connect(m, core.memory_fault, run_control.memory_fault[number])
        connect(m, core.barrier, cluster_barrier.request[number])
        connect(m, cluster_barrier.release, core.release)
        m.d.comb += [
            core.number.eq(number),
            core.start.eq(run_control.start),
            core.barrier_refused.eq(cluster_barrier.refused[number]),
            run_control.busy[number].eq(core.busy | memory_unit.busy | ResetSignal(domain)),
            run_control.exit_codes[number].eq(core.exit_code),
            memory_unit.invalidate.eq(core.invalidate),
            memory_unit.invalidate_data.eq(core.invalidate_data),
        ]
        if self.observed:
            probe_core(m, core, memory_unit, getattr(self, domain))
            connect(m, memory_unit.reads, flipped(getattr(self, f"l1d_reads_{number}")))

    def add_register_bus(
        self,
        m: Module,
        control: Control,
        cores: list[Core],
        memory_units: list[MemoryUnit],
        registers: list,
    ) -> list[Value]:
        """Add the bus to the registers of the units; return signals of accesses in progress."""
        config = self.config
        m.submodules.unit_register_bus = bus = UnitRegisterBus(UnitRegisterBusConfig.of(config))
        connect_all(m, control.units, bus.host)
        connect_all(m, bus.unit, registers)
        connect_all(m, [memory_unit.device for memory_unit in memory_units], bus.core)
        waits = [unit.request.valid for unit in bus.unit]
        if config.units:
            connect_all(m, [core.command for core in cores], bus.command)
            waits += [core.command.valid | ~core.command.ready for core in cores]
        return waits

    def refuse_commands(self, m: Module, cores: list[Core], run_control: RunControl) -> None:
        """Take the command words of the cores as errors."""
        m.d.comb += [
            *(core.command.ready.eq(1) for core in cores),
            run_control.unheard.eq(Cat(core.command.valid for core in cores).any()),
        ]

    def add_l2(self, m: Module, sources: list, run_control: RunControl) -> list:
        """Put an L2 slice before each AXI master, shared by `sources`: the DMA, if any, and cores.

        Return the events of all slices.
        """
        busy, slices = [], []
        for c, master in enumerate(self.masters):
            mux, cache = AxiMux(cluster_mux(self.config)), L2Slice(cluster_l2(self.config))
            m.submodules[f"bus_{c}"] = DomainRenamer("bus")(mux)
            m.submodules[f"l2_{c}"] = DomainRenamer("bus")(cache)
            connect_all(m, [source.axi[c] for source in sources], mux.inputs)
            connect(m, mux.o, cache.i)
            connect(m, cache.o, flipped(master))
            m.d.comb += [
                cache.flush.eq(run_control.flush),
                run_control.flushed[c].eq(cache.flushed),
            ]
            busy += [mux.busy, cache.busy]
            slices.append(cache)
            if self.observed:
                probe_l2_reads(m, cache, getattr(self, f"l2_reads_{c}"))
        m.d.comb += run_control.refused.eq(Cat(cache.failed for cache in slices).any())
        self.keep_awake(m, "bus", Cat(busy).any())
        return [cache.events for cache in slices]


def connect_all(m: Module, sources: Iterable, targets: Iterable) -> None:
    """Connect as many interfaces as there are on either side, in order."""
    for source, target in zip(sources, targets, strict=True):
        connect(m, source, target)
