"""Machine: clusters, the L2 slices before DRAM, and the control port of a host."""

from amaranth import *
from amaranth.lib.wiring import In, Out, connect, flipped

from ..cluster import observation
from ..cluster.cluster import Cluster, ClusterPlace, unit_domains
from ..cluster.cores import core_domains
from ..cluster.counters import cluster_counters
from ..config import ClusterNetworkConfig, MachineConfig, RunControlConfig
from ..emit.component import Component
from ..isa.memory_map import SLAVE_ADDRESS_WIDTH, in_cluster
from ..lib.axi import Axi4LiteSignature, Axi4Signature
from ..lib.axi_mux import AxiMux
from ..lib.probes import relay
from ..memory.l2.l2_slice import L2Slice
from .cluster_network import ClusterNetwork
from .counters import l2_counters
from .host_control import Control, ControlConfig
from .l2_place import machine_l2, machine_mux
from .observation import observed_ports, probe_events, probe_l2_reads
from .run_control import RunControl

__all__ = ["Machine", "gated_domains"]


def gated_domains(config: MachineConfig) -> list[str]:
    """Return the clock domains that may be gated while their block is not busy."""
    clusters = range(config.clusters)
    units = [domain for cluster in clusters for domain in unit_domains(config, cluster)]
    cores = [domain for cluster in clusters for domain in core_domains(config, cluster)]
    return units + (["bus", *cores] if config.cores else [])


class Machine(Component):
    """Machine: controlled over AXI4-Lite, with operands and results in DRAM over AXI4.

    ::

        s_axil ─► control ─┬─ registers, events ─► clusters ─► L2 slices (bus) ─► m_axi0, m_axi1, …
                           └─► run control ── run ──┘               ▲
                                    └───────── flush ───────────────┘

    Control and run control are in ``sync``, the slices in the domain ``bus`` of the clusters'
    multiplexers, one before each master, with a multiplexer of several clusters. In ``sync`` is
    also the network by which cores reach the shared memory of several clusters. Without cores the
    DMA drives the masters directly, uncached. The domains of a cluster and their clocks: see
    `Cluster`.

    When the cores have ended and the units are idle, the slices write all dirty data back to
    DRAM. The run ends after that (`RunControl`).

    Parameters
    ----------
    config : MachineConfig
    observed : bool
        Adds the ports of `observed_ports`, for checkers and traces.

    Members
    -------
    s_axil : In(Axi4LiteSignature)
        Registers of `address_map`.
    m_axi{c} : Out(Axi4Signature)
        DRAM, interleaved over the masters by `config.axi.interleave_bytes`. With cores, read IDs
        number the pending requests of a slice and all writes have ID 0 (`L2Slice`).
    irq : Out(1)
        An enabled event is pending: the machine has become idle, or an error has appeared
        (`Interrupts`). In ``sync``.
    {domain}_busy : Out(1)
        Combinational: the domain needs its clock in this cycle, also for a reset.
    """

    def __init__(self, config: MachineConfig, *, observed: bool = False):
        self.config, self.observed = config, observed
        axi = config.axi
        id_width = machine_l2(config).mshr_width if config.cores else axi.id_width
        bus = Axi4Signature(address_width=32, data_width=axi.data_width, id_width=id_width)
        super().__init__(
            {"s_axil": In(Axi4LiteSignature(address_width=SLAVE_ADDRESS_WIDTH))}
            | {f"m_axi{c}": Out(bus) for c in range(axi.masters)}
            | {"irq": Out(1)}
            | {f"{domain}_busy": Out(1) for domain in gated_domains(config)}
            | (observed_ports(config) if observed else {})
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.control = control = Control(ControlConfig.of(self.config))
        clusters = self.add_clusters(m)
        connect(m, flipped(self.s_axil), control.s_axil)
        registers = [port for cluster in clusters for port in cluster.registers]
        for inner, outer in zip(control.units, registers, strict=True):
            connect(m, inner, outer)
        m.d.comb += [
            self.irq.eq(control.irq),
            control.dma_busy.eq(Cat(cluster.dma_works for cluster in clusters).any()),
            control.matrix_busy.eq(Cat(cluster.matrix_works for cluster in clusters).any()),
            *(
                control.events[in_cluster(number, counter.name)].eq(cluster.events[counter.name])
                for number, cluster in enumerate(clusters)
                for counter in cluster_counters(self.config, self.config.clusters)
            ),
        ]
        if self.config.clusters > 1:
            self.add_network(m, clusters)
        if self.config.cores:
            self.add_run_control(m, control, clusters)
        else:
            (cluster,) = clusters
            m.d.comb += control.error.eq(cluster.error)
            for inner, outer in zip(cluster.masters, self.masters, strict=True):
                connect(m, inner, flipped(outer))
        if self.observed:
            probe_events(m, self, control.events)
        return m

    def add_clusters(self, m: Module) -> list[Cluster]:
        """Add the clusters, with their probes and the `busy` of their own clock domains."""
        clusters = []
        for number in range(self.config.clusters):
            place = ClusterPlace(number, self.config.clusters)
            cluster = Cluster(self.config.cluster, place, observed=self.observed)
            cluster.add_to(m)
            domains = unit_domains(self.config, number) + core_domains(self.config, number)
            m.d.comb += [
                getattr(self, f"{domain}_busy").eq(getattr(cluster, f"{domain}_busy"))
                for domain in domains
            ]
            for name in observation.observed_ports(self.config, number) if self.observed else ():
                relay(m, getattr(cluster, name), getattr(self, name))
            clusters.append(cluster)
        return clusters

    def add_network(self, m: Module, clusters: list[Cluster]) -> None:
        """Add the network by which the cores of all clusters reach the shared memory of each."""
        m.submodules.cluster_network = network = ClusterNetwork(
            ClusterNetworkConfig.of(self.config)
        )
        remotes = [remote for cluster in clusters for remote in cluster.remote]
        for remote, port in zip(remotes, network.core, strict=True):
            connect(m, remote, port)
        for port, cluster in zip(network.shared, clusters, strict=True):
            connect(m, port, cluster.window)

    @property
    def masters(self) -> list:
        """The AXI4 masters."""
        return [getattr(self, f"m_axi{c}") for c in range(self.config.axi.masters)]

    def add_run_control(self, m: Module, control: Control, clusters: list[Cluster]) -> None:
        """Add run control, and the L2, which writes dirty data back before the end of a run."""
        several = self.config.clusters > 1
        m.submodules.run_control = run_control = RunControl(
            RunControlConfig.of(self.config, self.config.clusters)
        )
        connect(m, control.cores, run_control.registers)
        cores = [core for cluster in clusters for core in cluster.run]
        for core, shown in zip(cores, run_control.cores, strict=True):
            connect(m, core, shown)
        slices = self.add_l2(m, run_control, clusters)
        for number, cluster in enumerate(clusters):
            m.d.comb += cluster.start.eq(run_control.start[number])
            for name in ("entry", "arguments") if several else ():
                m.d.comb += getattr(cluster, name).eq(getattr(run_control, name)[number])
        m.d.comb += [
            run_control.unheard.eq(Cat(cluster.unheard for cluster in clusters).any()),
            run_control.units_busy.eq(Cat(cluster.units_busy for cluster in clusters).any()),
            control.cores_run.eq(run_control.runs),
            control.error.eq(Cat(block.error for block in (*clusters, run_control)).any()),
            *(
                control.events[counter.name].eq(counter.times([cache.events for cache in slices]))
                for counter in l2_counters(self.config)
            ),
        ]

    def add_l2(self, m: Module, run_control: RunControl, clusters: list[Cluster]) -> list[L2Slice]:
        """Put an L2 slice between each master of the clusters and DRAM; return the slices."""
        slices, busy = [], [cluster.bus_busy for cluster in clusters]
        for c, outer in enumerate(self.masters):
            cache = L2Slice(machine_l2(self.config))
            m.submodules[f"l2_{c}"] = DomainRenamer("bus")(cache)
            inner = [cluster.masters[c] for cluster in clusters]
            if len(inner) > 1:
                mux = AxiMux(machine_mux(self.config))
                m.submodules[f"clusters_{c}"] = DomainRenamer("bus")(mux)
                for master, port in zip(inner, mux.inputs, strict=True):
                    connect(m, master, port)
                inner = [mux.o]
                busy.append(mux.busy)
            connect(m, inner[0], cache.i)
            connect(m, cache.o, flipped(outer))
            m.d.comb += [
                cache.flush.eq(run_control.slices.flush),
                run_control.slices.flushed[c].eq(cache.flushed),
            ]
            slices.append(cache)
            if self.observed:
                probe_l2_reads(m, cache, getattr(self, f"l2_reads_{c}"))
        m.d.comb += [
            run_control.refused.eq(Cat(cache.failed for cache in slices).any()),
            self.bus_busy.eq(Cat(*busy, *(cache.busy for cache in slices)).any()),
        ]
        return slices
