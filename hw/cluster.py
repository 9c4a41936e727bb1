"""The cluster: control port, matrix unit, shared memory, DMA, and how they are wired."""

from typing import Any

from amaranth import *
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from .address_map import SLAVE_ADDRESS_WIDTH
from .axi import Axi4LiteSignature, Axi4Signature
from .config import ClusterConfig
from .control import Control
from .counters import counter_table
from .matrix.unit import MatrixUnit
from .memory.dma import Dma
from .memory.shared import SharedMemory, cluster_ports, port_names
from .rtl import require_rtl

__all__ = ["Cluster", "gated_domains"]


def gated_domains(config: ClusterConfig) -> list[str]:
    """Return the clock domains that may be withheld while their block is not busy."""
    return [*(["matrix"] if config.matrix else []), "dma", "shared"]


class Cluster(wiring.Component):
    """A whole cluster: driven over AXI4-Lite, with its operands and results in DRAM over AXI4.

    ::

        s_axil ─► control ─┬─► matrix unit ◄──── A, B ────┐
                           │      │ results, jobs         │
                           └────► DMA ◄──────────► shared memory
                                   │
                                   └─► m_axi0, m_axi1, …

    Each large block lives in a clock domain of its own, named as in `gated_domains`; control is
    in ``sync``. All run from one common clock. A domain's clock may be withheld in a cycle in
    which its ``busy`` is low when all inputs have settled.

    Parameters
    ----------
    config : ClusterConfig

    Members
    -------
    s_axil : In(Axi4LiteSignature)
        Registers of `address_map`.
    m_axi{c} : Out(Axi4Signature)
        DRAM, interleaved over the masters by `config.axi.interleave_bytes`.
    {domain}_busy : Out(1)
        Combinational: the domain needs its clock in this cycle, be it for a reset.
    """

    s_axil: Any

    def __init__(self, config: ClusterConfig):
        require_rtl(config)
        self.config = config
        axi = config.axi
        bus = Axi4Signature(address_width=32, data_width=axi.data_width, id_width=axi.id_width)
        super().__init__(
            {"s_axil": In(Axi4LiteSignature(address_width=SLAVE_ADDRESS_WIDTH))}
            | {f"m_axi{c}": Out(bus) for c in range(axi.masters)}
            | {f"{domain}_busy": Out(1) for domain in gated_domains(config)}
        )

    def elaborate(self, platform):
        m = Module()
        config = self.config
        m.submodules.control = control = Control(config)
        blocks: dict[str, Any] = {
            "dma": Dma(config),
            "shared": SharedMemory(cluster_ports(config)),
        }
        if config.matrix:
            blocks["matrix"] = MatrixUnit(config)
        for domain, block in blocks.items():
            m.submodules[domain] = DomainRenamer(domain)(block)
            m.d.comb += getattr(self, f"{domain}_busy").eq(block.busy | ResetSignal(domain))
        dma, shared = blocks["dma"], blocks["shared"]

        connect(m, flipped(self.s_axil), control.s_axil)
        connect(m, control.dma, dma.registers)
        readers: dict[str, Any] = {f"dma{c}": getattr(dma, f"read_{c}") for c in self.masters}
        writers: dict[str, Any] = {f"dma{c}": getattr(dma, f"write_{c}") for c in self.masters}
        for c in self.masters:
            connect(m, getattr(dma, f"axi_{c}"), flipped(getattr(self, f"m_axi{c}")))
        error = dma.error
        if config.matrix:
            matrix = blocks["matrix"]
            connect(m, control.matrix, matrix.registers)
            connect(m, matrix.job, dma.job)
            connect(m, matrix.drain, dma.drain)
            connect(m, dma.done, matrix.done)
            readers |= {"a": matrix.a, "b": matrix.b}
            error |= matrix.error
            m.d.comb += control.matrix_busy.eq(matrix.busy)

        read_names, write_names = port_names(config)
        for i, name in enumerate(read_names):
            connect(m, readers[name], getattr(shared, f"read_{i}"))
        for i, name in enumerate(write_names):
            connect(m, writers[name], getattr(shared, f"write_{i}"))
        m.d.comb += [control.dma_busy.eq(dma.busy), control.error.eq(error)]
        for counter in counter_table(config):
            event = counter.happened(blocks[counter.unit].events)
            m.d.comb += control.events[counter.name].eq(event)
        return m

    @property
    def masters(self) -> range:
        """Numbers of the AXI4 masters."""
        return range(self.config.axi.masters)
