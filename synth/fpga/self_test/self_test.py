"""Cluster, host and memory on one chip, with a verdict on LEDs and a serial line."""

from dataclasses import dataclass
from typing import Any

from amaranth import *
from amaranth.lib.wiring import Out, connect

from ....hw.config import MachineConfig
from ....hw.emit.component import Component
from ....hw.machine.machine import Machine, gated_domains
from .axi_ram import AxiRam, AxiRamConfig, Window
from .host_player import HostPlayer, HostPlayerConfig
from .report import Report, ReportConfig

__all__ = ["SelfTest", "SelfTestConfig"]


@dataclass(frozen=True, kw_only=True)
class SelfTestConfig:
    """A cluster and its test program.

    Parameters
    ----------
    cluster : MachineConfig
        Cluster under test.
    windows : tuple of Window
        DRAM before and after the test.
    host : HostPlayerConfig
        Commands of the host.
    report : ReportConfig
        Serial line of the result.

    """

    cluster: MachineConfig
    windows: tuple[Window, ...]
    host: HostPlayerConfig
    report: ReportConfig


class SelfTest(Component):
    """Self-test: plays the commands from reset on, then compares all of memory.

    Members
    -------
    running, passed, failed : Out(1)
        Exactly one of them is high.
    cycles : Out(32)
        Duration of the commands; constant after their end.
    tx : Out(1)
        Serial line: `report_of`, repeated.
    """

    def __init__(self, config: SelfTestConfig):
        self.config = config
        super().__init__({
            "running": Out(1),
            "passed": Out(1),
            "failed": Out(1),
            "cycles": Out(32),
            "tx": Out(1),
        })

    def elaborate(self, platform):
        m = Module()
        config = self.config
        domains = dict.fromkeys(gated_domains(config.cluster), "sync")
        cluster: Any = Machine(config.cluster)
        m.submodules.cluster = DomainRenamer(domains)(cluster)
        m.submodules.host = host = HostPlayer(config.host)
        connect(m, host.axil, cluster.s_axil)
        rams = []
        for channel in range(config.cluster.axi.masters):
            master = getattr(cluster, f"m_axi{channel}")
            ram = AxiRam(
                AxiRamConfig(
                    axi=config.cluster.axi,
                    id_width=len(master.arid),
                    channel=channel,
                    windows=config.windows,
                )
            )
            m.submodules[f"ram_{channel}"] = ram
            connect(m, master, ram.axi)
            m.d.comb += ram.verify.eq(host.done)
            rams.append(ram)
        ends = Cat(ram.verified for ram in rams).all()
        differs = Cat(ram.differs for ram in rams).any()
        m.d.comb += self.running.eq(~self.passed & ~self.failed)
        with m.If(~host.done & ~host.failed):
            m.d.sync += self.cycles.eq(self.cycles + 1)
        with m.Elif(self.running):
            m.d.sync += [
                self.passed.eq(~host.failed & ends & ~differs),
                self.failed.eq(host.failed | (ends & differs)),
            ]
        m.submodules.report = report = Report(config.report)
        m.d.comb += [
            report.passed.eq(self.passed),
            report.failed.eq(self.failed),
            report.cycles.eq(self.cycles),
            self.tx.eq(report.tx),
        ]
        return m
