"""Cluster top: control port, cores, matrix units, shared memory and DMA, and their wiring."""

from typing import Any

from amaranth import *
from amaranth.lib import wiring
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
from ..isa.memory_map import SLAVE_ADDRESS_WIDTH, numbered
from ..lib.axi import Axi4LiteSignature, Axi4Signature
from ..lib.axi_mux import AxiMux
from ..matrix.registry import kind_of
from ..memory.dma.dma import Dma
from ..memory.l2.l2_slice import L2Slice
from ..memory.memory_unit.memory_unit import MemoryUnit
from ..memory.shared.shared_memory import SharedMemory, cluster_ports, port_names
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
    domains = [*config.named_units, "dma", "shared"]
    return domains + (["bus", *core_domains(config)] if config.cores else [])


class Cluster(wiring.Component):
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
    cores the DMA drives the masters directly, uncached. All domains run from one common clock. A
    domain's clock may be gated in a cycle if its ``busy`` is low once all inputs have settled.

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

    s_axil: Any
    bus_busy: Signal

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
        blocks: dict[str, Any] = {
            "dma": Dma(DmaBlockConfig.of(config)),
            "shared": SharedMemory(cluster_ports(config)),
        }
        for number, (unit, matrix) in enumerate(config.named_units.items()):
            blocks[unit] = kind_of(matrix).component(MatrixUnitConfig.of(config, number))
        for domain, block in blocks.items():
            m.submodules[domain] = DomainRenamer(domain)(block)
            m.d.comb += getattr(self, f"{domain}_busy").eq(block.busy | ResetSignal(domain))
        dma, shared = blocks["dma"], blocks["shared"]

        connect(m, flipped(self.s_axil), control.s_axil)
        readers: dict[str, Any] = {f"dma{c}": getattr(dma, f"read_{c}") for c in self.masters}
        writers: dict[str, Any] = {f"dma{c}": getattr(dma, f"write_{c}") for c in self.masters}
        if not config.cores:
            for c in self.masters:
                connect(m, getattr(dma, f"axi_{c}"), flipped(getattr(self, f"m_axi{c}")))
        error = dma.error
        units = {}
        for number in range(dma.config.ports):
            units[numbered("dma", number)] = getattr(dma, numbered("registers", number))
        if config.units:
            error |= self.connect_matrices(m, control, blocks, units, readers)
        unit_register_bus = (
            UnitRegisterBus(UnitRegisterBusConfig.of(config)) if config.cores else None
        )
        sources = {unit: [block.events] for unit, block in blocks.items()}
        if unit_register_bus is not None:
            m.submodules.unit_register_bus = unit_register_bus
            error |= self.add_cores(m, control, shared, dma, unit_register_bus, sources)
        for unit, registers in units.items():
            host = getattr(control, unit)
            if unit_register_bus is not None:
                connect(m, host, getattr(unit_register_bus, f"host_{unit}"))
                host = getattr(unit_register_bus, unit)
            connect(m, host, registers)

        read_names, write_names = port_names(config)
        for i, name in enumerate(read_names):
            connect(m, readers[name], getattr(shared, f"read_{i}"))
        for i, name in enumerate(write_names):
            connect(m, writers[name], getattr(shared, f"write_{i}"))
        m.d.comb += [control.dma_busy.eq(dma.busy), control.error.eq(error)]
        for counter in counter_table(config):
            m.d.comb += control.events[counter.name].eq(counter.times(sources[counter.unit]))
        if self.observed:
            probe_events(m, self, control.events)
            probe_writes(m, self, shared)
            probe_dma_axi(m, self, dma)
        return m

    def connect_matrices(self, m: Module, control, blocks, units, readers) -> Value:
        """Connect each matrix unit to its DMA port; return whether any of them has an error.

        Adds their registers to `units` and their reads of shared memory to `readers`.
        """
        busy, errors = [], []
        dma = blocks["dma"]
        for number, (unit, config) in enumerate(self.config.named_units.items()):
            matrix = blocks[unit]
            units[unit] = matrix.registers
            connect(m, matrix.descriptor, getattr(dma, numbered("descriptor", number)))
            connect(m, matrix.drain, getattr(dma, numbered("drain", number)))
            connect(m, getattr(dma, numbered("done", number)), matrix.done)
            readers |= {numbered(port, number): getattr(matrix, port) for port in config.reads}
            busy.append(matrix.busy)
            errors.append(matrix.error)
        m.d.comb += control.matrix_busy.eq(Cat(busy).any())
        return Cat(errors).any()

    def add_cores(
        self, m: Module, control, shared, dma, unit_register_bus: UnitRegisterBus, sources
    ) -> Value:
        """Add the cores and their private blocks; return whether any core has an error.

        Adds the events of their caches to `sources`.
        """
        config = self.config
        m.submodules.run_control = run_control = RunControl(RunControlConfig.of(config))
        m.submodules.cluster_barrier = cluster_barrier = ClusterBarrier(
            ClusterBarrierConfig.of(config)
        )
        connect(m, control.cores, run_control.registers)
        m.d.comb += control.cores_run.eq(run_control.runs)
        memory_units, commands = [], []
        for number, domain in enumerate(core_domains(config)):
            core = Core(CoreBlockConfig.of(config))
            memory_unit = MemoryUnit(MemoryUnitConfig.of(config))
            m.submodules[domain] = DomainRenamer(domain)(core)
            m.submodules[f"{domain}_memory_unit"] = DomainRenamer(domain)(memory_unit)
            busy = core.busy | memory_unit.busy | ResetSignal(domain)
            self.add_core(m, number, core, memory_unit, shared, run_control, cluster_barrier)
            m.d.comb += [
                getattr(self, f"{domain}_busy").eq(busy),
                run_control.busy[number].eq(busy),
            ]
            connect(m, memory_unit.device, unit_register_bus.core[number])
            if config.units:
                connect(m, core.command, unit_register_bus.command[number])
            else:
                m.d.comb += core.command.ready.eq(1)
            memory_units.append(memory_unit)
            commands.append(core.command)
        if not config.units:
            m.d.comb += run_control.unheard.eq(Cat(c.valid for c in commands).any())
        sources["l2"] = self.share_masters(m, dma, memory_units, run_control)
        sources["l1i"] = sources["l1d"] = [memory_unit.events for memory_unit in memory_units]
        self.tell_units(m, control, run_control, unit_register_bus, commands)
        return run_control.error

    def add_core(
        self, m: Module, number: int, core, memory_unit, shared, run_control, cluster_barrier
    ):
        """Connect a core to its memory unit, and both to the rest of the cluster."""
        connect(m, core.fetch, memory_unit.fetch)
        connect(m, memory_unit.fetched, core.fetched)
        connect(m, core.request, memory_unit.request)
        connect(m, memory_unit.response, core.response)
        connect(m, memory_unit.console, run_control.console[number])
        connect(m, core.fault, run_control.fault[number])
        connect(m, core.memory_fault, run_control.memory_fault[number])
        connect(m, core.barrier, cluster_barrier.request[number])
        connect(m, cluster_barrier.release, core.release)
        ports = self.config.core_shared_ports
        for p in range(ports):
            connect(m, memory_unit.narrow[p], getattr(shared, f"narrow_{number * ports + p}"))
        m.d.comb += [
            core.number.eq(number),
            core.start.eq(run_control.start),
            core.barrier_refused.eq(cluster_barrier.refused[number]),
            run_control.exit_codes[number].eq(core.exit_code),
            memory_unit.invalidate.eq(core.invalidate),
            memory_unit.invalidate_data.eq(core.invalidate_data),
        ]
        if self.observed:
            probe_core(m, core, memory_unit, getattr(self, core_domains(self.config)[number]))
            connect(m, memory_unit.reads, flipped(getattr(self, f"l1d_reads_{number}")))

    def tell_units(self, m: Module, control, run_control, unit_register_bus, commands):
        """Drive run-end detection: a unit is busy or has a pending request."""
        told = [getattr(unit_register_bus, unit).request.valid for unit in unit_register_bus.bases]
        if self.config.units:
            told += [command.valid | ~command.ready for command in commands]
        m.d.comb += run_control.units_busy.eq(
            Cat(control.dma_busy, control.matrix_busy, *told).any()
        )

    def share_masters(self, m: Module, dma, memory_units, run_control):
        """Put an L2 slice before each AXI master and arbitrate it between the DMA and the cores.

        Return the events of all slices.
        """
        busy, slices = [], []
        for c in self.masters:
            mux, cache = AxiMux(cluster_mux(self.config)), L2Slice(cluster_l2(self.config))
            m.submodules[f"bus_{c}"] = DomainRenamer("bus")(mux)
            m.submodules[f"l2_{c}"] = DomainRenamer("bus")(cache)
            for k, source in enumerate([dma, *memory_units]):
                connect(m, getattr(source, f"axi_{c}"), getattr(mux, f"i_{k}"))
            connect(m, mux.o, cache.i)
            connect(m, cache.o, flipped(getattr(self, f"m_axi{c}")))
            m.d.comb += [
                cache.flush.eq(run_control.flush),
                run_control.flushed[c].eq(cache.flushed),
            ]
            busy += [mux.busy, cache.busy]
            slices.append(cache)
            if self.observed:
                probe_l2_reads(m, cache, getattr(self, f"l2_reads_{c}"))
        m.d.comb += [
            run_control.refused.eq(Cat(cache.failed for cache in slices).any()),
            self.bus_busy.eq(Cat(busy).any() | ResetSignal("bus")),
        ]
        return [cache.events for cache in slices]

    @property
    def masters(self) -> range:
        """Indices of the AXI4 masters."""
        return range(self.config.axi.masters)
