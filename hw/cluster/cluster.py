"""Cluster: cores, matrix units, shared memory and DMA, and their wiring."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

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
from ..isa.memory_map import in_cluster, unit_bases
from ..lib.axi_mux import AxiMux
from ..lib.interfaces.remote_memory import RemoteSignature
from ..lib.interfaces.shared_memory import NarrowSignature
from ..lib.register_bus import RegisterSignature
from ..memory.dma.dma import Dma
from ..memory.memory_unit.memory_unit import MemoryUnit
from ..memory.shared.shared_memory import SharedMemory, cluster_ports, port_names, tensor_ports
from ..styles.registry import matrix_style_of
from .cluster_barrier import ClusterBarrier
from .cores import core_domains, core_number
from .counters import cluster_counters, counter_events
from .memory_masters import cluster_mux, master_signature
from .observation import observed_ports, probe_core, probe_dma_axi, probe_writes
from .run_signature import RunSignature
from .sleep_counter import SleepCounter, SleepCounterConfig
from .unit_register_bus import UNIT_WIDTH, UnitRegisterBus

__all__ = ["Cluster", "ClusterPlace", "unit_domains"]


def unit_domains(config: ClusterConfig, cluster: int = 0) -> list[str]:
    """Return the clock domains of the units and of shared memory of a cluster, in its machine."""
    names = [*config.named_units, *([] if config.dma is None else ["dma"]), "shared"]
    return [in_cluster(cluster, name) for name in names]


@dataclass(frozen=True)
class ClusterPlace:
    """Number of a cluster in its machine, and the number of clusters there."""

    number: int = 0
    clusters: int = 1


class Cluster(wiring.PureInterface):
    """Cluster up to its memory masters, registers of units, events, and the state of its cores.

    ::

        registers ─┬─► matrix units ◄─── A, B ────┐
                   │      │ results, descriptors  │
                   ├────► DMA ◄──────────► shared memory
                   │       │                      │
                   │    multiplexers (bus) ─► memory_0, memory_1, …
                   │       │                      │
        run ───────┴────► cores, each with a memory unit

    Each large block has its own clock domain: those of `unit_domains`, and of `core_domains` for a
    core with its memory unit. Blocks and domains have the names that they have in the machine.
    The cluster barrier and the sleep counter are in ``sync``. Domain ``bus`` holds the multiplexers
    of the memory masters, for all clusters. Without cores the DMA drives the masters directly.
    Without a DMA there are no matrix units and no unit register bus. All domains run from one
    common clock. A domain's clock may be gated in a cycle if its ``busy`` is low once all inputs
    have settled.

    Parameters
    ----------
    config : ClusterConfig
    place : ClusterPlace
    observed : bool
        Adds the ports of `observed_ports`, for checkers and traces.

    Members
    -------
    registers : In(RegisterSignature(8)).array(units)
        Registers of each port of the DMA, then of each matrix unit, for the host.
    memory_{c} : Out(master_signature(config))
        DRAM, interleaved over the masters by `config.axi.interleave_bytes`.
    start : In(1), run : Out(RunSignature).array(cores)
        Only with cores, as `unheard` and `units_busy`: `start` starts all of them.
    entry, arguments : In(32)
        Only with several clusters, constant from the start on: see `LaunchSignature`.
    remote : Out(RemoteSignature(config.shared.port, clusters)).array(cores)
        Accesses of each core through windows; only with several clusters.
    window : In(NarrowSignature(config.shared.port))
        Those to shared memory of this cluster; likewise.
    unheard : Out(1)
        A command word of a core reached no matrix unit.
    units_busy : Out(1)
        A unit has unfinished work, or an access to one is in progress.
    events : Out(counter_events(cluster_counters(config)))
        Number of events of each counter in this cycle.
    dma_works, matrix_works, error : Out(1)
        ORed over all units.
    {domain}_busy : Out(1)
        Combinational: the domain needs its clock in this cycle, also for a reset.
    """

    def __init__(
        self, config: ClusterConfig, place: ClusterPlace | None = None, *, observed: bool = False
    ):
        self.place = place = place or ClusterPlace()
        require_rtl(config, place.clusters)
        self.config, self.observed = config, observed
        units = len(unit_bases(len(config.units), has_dma=config.dma is not None))
        members: dict[str, Any] = {
            "registers": In(RegisterSignature(UNIT_WIDTH)).array(units),
            "events": Out(counter_events(cluster_counters(config, place.clusters))),
            **dict.fromkeys(("dma_works", "matrix_works", "error"), Out(1)),
        }
        master = master_signature(config)
        members |= {f"memory_{c}": Out(master) for c in range(config.axi.masters)}
        domains = unit_domains(config, place.number)
        if config.cores:
            run = Out(RunSignature(RunControlConfig.of(config))).array(config.cores)
            members |= {"start": In(1), "run": run, "unheard": Out(1), "units_busy": Out(1)}
            domains += ["bus", *core_domains(config, place.number)]
        members |= {f"{domain}_busy": Out(1) for domain in domains}
        if place.clusters > 1:
            remote = RemoteSignature(config.shared.port, place.clusters)
            members |= {
                "entry": In(32),
                "arguments": In(32),
                "remote": Out(remote).array(config.cores),
                "window": In(NarrowSignature(config.shared.port)),
            }
        members |= observed_ports(config, place.number) if observed else {}
        super().__init__(wiring.Signature(members), path=(in_cluster(place.number, "cluster"),))

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            """Return a port: an attribute that only the signature declares."""

    def add_to(self, m: Module) -> None:
        """Add the blocks and their wiring to the module of the machine.

        So the blocks are submodules of the machine, each with its own model in a simulation, as
        the machine's other blocks.
        """
        config = self.config
        dmas = [] if config.dma is None else [Dma(DmaBlockConfig.of(config))]
        shared = SharedMemory(cluster_ports(config, self.place.clusters))
        matrices: list[Any] = [
            matrix_style_of(unit).component(MatrixUnitConfig.of(config, number))
            for number, unit in enumerate(config.units)
        ]
        units = dict(zip(config.named_units, matrices, strict=True))
        blocks = dict(zip(["dma"], dmas, strict=False)) | {"shared": shared, **units}
        for name, block in blocks.items():
            domain = self.named(name)
            m.submodules[domain] = DomainRenamer(domain)(block)
            self.keep_awake(m, domain, block.busy)

        for dma in dmas:
            self.connect_units(m, dma, matrices)
        self.connect_shared(m, shared, dmas, matrices)
        sources = {name: [block.events] for name, block in blocks.items()}
        registers = [port for dma in dmas for port in dma.registers]
        registers += [matrix.registers for matrix in matrices]
        hosts = [flipped(port) for port in self.registers]
        if config.cores:
            cores = self.add_cores(m, shared, dmas, hosts, registers, sources)
            if dmas:
                self.report_progress(m, cores, dmas, matrices)
        else:
            connect_all(m, hosts, registers)
            connect_all(m, [bus for dma in dmas for bus in dma.axi], map(flipped, self.masters))
        m.d.comb += [
            self.dma_works.eq(Cat(dma.busy for dma in dmas).any()),
            self.matrix_works.eq(Cat(matrix.busy for matrix in matrices).any()),
            self.error.eq(Cat(block.error for block in (*dmas, *matrices)).any()),
            *(
                self.events[counter.name].eq(counter.times(sources[counter.unit]))
                for counter in cluster_counters(config, self.place.clusters)
            ),
        ]
        if self.observed:
            probe_writes(m, self, shared, self.place.number)
            for dma in dmas:
                probe_dma_axi(m, self, dma, self.place.number)

    @property
    def masters(self) -> list:
        """The memory masters."""
        return [getattr(self, f"memory_{c}") for c in range(self.config.axi.masters)]

    @property
    def core_domains(self) -> list[str]:
        """Clock domain of each core."""
        return core_domains(self.config, self.place.number)

    def named(self, name: str) -> str:
        """Return the name of a part of this cluster in the machine."""
        return in_cluster(self.place.number, name)

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
        self, m: Module, shared: SharedMemory, dmas: list[Dma], hosts, registers, sources
    ) -> list[Core]:
        """Add the cores, what they share, and the multiplexers of the memory masters.

        Adds the events of the caches and tensor units to `sources`. Returns the cores.
        """
        config = self.config
        m.submodules[self.named("cluster_barrier")] = cluster_barrier = ClusterBarrier(
            ClusterBarrierConfig.of(config)
        )
        narrow, count = shared.ports("narrow"), config.core_shared_ports
        rows = shared.ports("row")
        reads = dict(zip(port_names(config)[0], shared.ports("read"), strict=True))
        m.submodules[self.named("sleep_counter")] = sleep_counter = SleepCounter(
            SleepCounterConfig(cores=config.cores, observed=self.observed)
        )
        cores, memory_units = [], []
        for number, domain in enumerate(self.core_domains):
            core = Core(CoreBlockConfig.of(config, self.place.clusters))
            memory_unit = MemoryUnit(MemoryUnitConfig.of(config, self.place.clusters))
            m.submodules[domain] = DomainRenamer(domain)(core)
            m.submodules[f"{domain}_memory_unit"] = DomainRenamer(domain)(memory_unit)
            self.keep_awake(m, domain, core.busy | memory_unit.busy)
            self.add_core(m, number, core, memory_unit, cluster_barrier, sleep_counter)
            connect_all(m, memory_unit.narrow, narrow[number * count : (number + 1) * count])
            if rows:
                connect(m, memory_unit.row, rows[number])
            cores.append(core)
            memory_units.append(memory_unit)
        if self.place.clusters > 1:
            connect(m, flipped(self.window), narrow[-1])
        for name, number, port in tensor_ports(config):
            connect(m, getattr(cores[number], port), reads[name])
        waits: list[Value] = []
        if registers:
            waits += self.add_register_bus(m, hosts, cores, memory_units, registers)
        if not config.units:
            self.refuse_commands(m, cores)
        if config.tensor is not None:
            sources["tensor"] = [core.tensor_events for core in cores]
        sources["l1i"] = sources["l1d"] = [memory_unit.events for memory_unit in memory_units]
        self.add_multiplexers(m, [*dmas, *memory_units])
        m.d.comb += self.units_busy.eq(Cat(self.dma_works, self.matrix_works, *waits).any())
        return cores

    def add_core(
        self,
        m: Module,
        number: int,
        core: Core,
        memory_unit: MemoryUnit,
        cluster_barrier: ClusterBarrier,
        sleep_counter: SleepCounter,
    ) -> None:
        """Connect a core to its memory unit, run control, and what the cores share."""
        domain, run = self.core_domains[number], flipped(self.run[number])
        index = core_number(self.config, self.place.number, number)
        connect(m, core.fetch, memory_unit.fetch)
        connect(m, memory_unit.fetched, core.fetched)
        connect(m, core.request, memory_unit.request)
        connect(m, memory_unit.response, core.response)
        connect(m, memory_unit.console, run.console)
        connect(m, core.fault, run.fault)
        connect(m, core.memory_fault, run.memory_fault)
        connect(m, core.barrier, cluster_barrier.core[number])
        connect(m, core.sleep, sleep_counter.core[number])
        m.d.comb += [
            core.number.eq(number),
            core.start.eq(self.start),
            run.busy.eq(core.runs | memory_unit.busy | ResetSignal(domain)),
            run.exit_code.eq(core.exit_code),
            memory_unit.invalidate.eq(core.invalidate),
            memory_unit.invalidate_data.eq(core.invalidate_data),
        ]
        if self.place.clusters > 1:
            connect(m, memory_unit.remote, flipped(self.remote[number]))
            m.d.comb += [
                core.launch.cluster.eq(self.place.number),
                core.launch.core.eq(index),
                core.launch.entry.eq(self.entry),
                core.launch.arguments.eq(self.arguments),
            ]
        if self.observed:
            probe_core(m, core, memory_unit, sleep_counter.pending[number], getattr(self, domain))
            connect(m, memory_unit.reads, flipped(getattr(self, f"l1d_reads_{index}")))

    def add_register_bus(
        self,
        m: Module,
        hosts: list,
        cores: list[Core],
        memory_units: list[MemoryUnit],
        registers: list,
    ) -> list[Value]:
        """Add the bus to the registers of the units; return signals of accesses in progress."""
        config = self.config
        m.submodules[self.named("unit_register_bus")] = bus = UnitRegisterBus(
            UnitRegisterBusConfig.of(config)
        )
        connect_all(m, hosts, bus.host)
        connect_all(m, bus.unit, registers)
        connect_all(m, [memory_unit.device for memory_unit in memory_units], bus.core)
        waits = [unit.request.valid for unit in bus.unit]
        if config.units:
            connect_all(m, [core.command for core in cores], bus.command)
            waits += [core.command.valid | ~core.command.ready for core in cores]
        return waits

    def report_progress(
        self, m: Module, cores: list[Core], dmas: list[Dma], matrices: list
    ) -> None:
        """Drive the registers for which warps wait, in the order of `progress_offsets`."""
        units = [port for dma in dmas for port in dma.progress]
        units += [matrix.progress for matrix in matrices]
        values = Cat(Value.cast(unit) for unit in units)
        for core in cores:
            m.d.comb += Value.cast(core.progress.values).eq(values)
            if matrices:
                m.d.comb += core.progress.is_behind.eq(~core.command.ready)

    def refuse_commands(self, m: Module, cores: list[Core]) -> None:
        """Take the command words of the cores as errors."""
        m.d.comb += [
            *(core.command.ready.eq(1) for core in cores),
            self.unheard.eq(Cat(core.command.valid for core in cores).any()),
        ]

    def add_multiplexers(self, m: Module, sources: list) -> None:
        """Put a multiplexer before each memory master, shared by the DMA, if any, and cores."""
        busy = []
        for c, master in enumerate(self.masters):
            mux = AxiMux(cluster_mux(self.config))
            m.submodules[self.named(f"bus_{c}")] = DomainRenamer("bus")(mux)
            connect_all(m, [source.axi[c] for source in sources], mux.inputs)
            connect(m, mux.o, flipped(master))
            busy.append(mux.busy)
        self.keep_awake(m, "bus", Cat(busy).any())


def connect_all(m: Module, sources: Iterable, targets: Iterable) -> None:
    """Connect as many interfaces as there are on either side, in order."""
    for source, target in zip(sources, targets, strict=True):
        connect(m, source, target)
