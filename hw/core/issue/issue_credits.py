"""Issue credits: the room of units that must not keep their operations in collectors."""

from amaranth import *
from amaranth.lib.wiring import In, Out

from ...config import PipelineConfig
from ...emit.component import Component

__all__ = ["IssueCredits"]


class IssueCredits(Component):
    """Issue credits: count the operations that each unit with credits has room for.

    An issued instruction takes a credit of its port, `released` returns one; both take effect in
    the next cycle.

    Parameters
    ----------
    config : PipelineConfig

    Members
    -------
    issued : In(len(config.credit_ports))
        Ports of the instructions issued in this cycle; only with a credit.
    released : In(len(config.credit_ports))
    exhausted : Out(len(config.credit_ports))
        Ports without a credit.
    """

    def __init__(self, config: PipelineConfig):
        self.config = config
        ports = len(config.credit_ports)
        super().__init__({
            "issued": In(ports),
            "released": In(ports),
            "exhausted": Out(ports),
        })

    def elaborate(self, platform):
        m = Module()
        for number, port in enumerate(self.config.credit_ports):
            credits = self.config.credits(port)
            left = Signal(range(credits + 1), name=f"{port.name.lower()}_left", init=credits)
            m.d.sync += left.eq(left + self.released[number] - self.issued[number])
            m.d.comb += self.exhausted[number].eq(left == 0)
        return m
