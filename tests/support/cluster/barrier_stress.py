"""Stress bench for the barriers of all cores of a cluster, on Verilator against their model."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from amaranth import *
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out, connect

from spica.hw.cluster.cluster_barrier import ClusterBarrier
from spica.hw.config import ClusterBarrierConfig, CoreBlockConfig
from spica.hw.core.control.barrier import Barrier
from spica.hw.core.control.faults import FaultCause
from spica.sim.engine.block_bench import BlockBench
from support.cluster.barrier_plans import Moment

__all__ = ["BarrierStress", "Barriers"]


class Barriers(wiring.Component):
    """Barriers of every core and the cluster barrier, connected as in a cluster.

    Parameters
    ----------
    config : CoreBlockConfig

    Members
    -------
    warps_{n}, number_{n}, count_{n} : In
        Arrival at the `Barrier` of core n.
    ready_{n}, refused_{n}, cause_{n}, waiting_{n}, released_{n} : Out
        Outputs of the `Barrier` of core n.
    cores_{b} : Out(cores)
        Cores that wait at barrier b.
    """

    def __init__(self, config: CoreBlockConfig):
        self.config = config
        warps = config.core.warps
        members: dict[str, Any] = {f"cores_{b}": Out(config.cores) for b in range(config.barriers)}
        inputs = {"warps": warps, "number": 32, "count": 32}
        outputs = {"ready": 1, "refused": 1, "cause": FaultCause}
        outputs |= {"waiting": warps, "released": warps}
        for n in range(config.cores):
            members |= {f"{name}_{n}": In(shape) for name, shape in inputs.items()}
            members |= {f"{name}_{n}": Out(shape) for name, shape in outputs.items()}
        super().__init__(members)

    def elaborate(self, platform):
        m = Module()
        m.submodules.cluster_barrier = cluster_barrier = ClusterBarrier(
            ClusterBarrierConfig(cores=self.config.cores, barriers=self.config.barriers)
        )
        for n in range(self.config.cores):
            m.submodules[f"core_{n}"] = barrier = Barrier(self.config)
            connect(m, barrier.cluster, cluster_barrier.core[n])
            for name in ("warps", "number", "count"):
                m.d.comb += getattr(barrier.arrival, name).eq(getattr(self, f"{name}_{n}"))
            for name in ("ready", "refused", "cause"):
                m.d.comb += getattr(self, f"{name}_{n}").eq(getattr(barrier.arrival, name))
            for name in ("waiting", "released"):
                m.d.comb += getattr(self, f"{name}_{n}").eq(getattr(barrier, name))
        for b in range(self.config.barriers):
            m.d.comb += getattr(self, f"cores_{b}").eq(cluster_barrier.waiting[b])
        return m


class BarrierStress:
    """Bench that replays the moments of a plan on the RTL and compares all outputs by cycle."""

    def __init__(self, config: CoreBlockConfig, *, optimize: int = 1):
        self.config = config
        self.bench = BlockBench(Barriers(config), optimize=optimize)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.bench.close()

    def check(self, moments: Sequence[Moment]) -> None:
        """Run the cycles of `moments` from reset; raise `AssertionError` on a difference."""
        self.bench.reset()
        inputs: dict[str, Any] = {}
        for n in range(self.config.cores):
            arrivals = [moment.coming[n] for moment in moments]
            inputs[f"warps_{n}"] = np.array([
                0 if one is None else 1 << one.warp for one in arrivals
            ])
            inputs[f"number_{n}"] = np.array([0 if one is None else one.number for one in arrivals])
            inputs[f"count_{n}"] = np.array([0 if one is None else one.count for one in arrivals])
        outputs = self.bench.run(**inputs)
        for n in range(self.config.cores):
            responses = [moment.responses[n] for moment in moments]
            arrives = inputs[f"warps_{n}"] != 0
            fails = np.array([one.cause is not None for one in responses])
            same(f"waiting_{n}", outputs, [moment.waiting[n] for moment in moments])
            same(f"released_{n}", outputs, [one.released for one in responses])
            same(f"ready_{n}", outputs, [one.ready for one in responses], where=arrives)
            same(f"refused_{n}", outputs, fails, where=arrives & outputs[f"ready_{n}"].astype(bool))
            causes = [0 if one.cause is None else one.cause.value for one in responses]
            same(f"cause_{n}", outputs, causes, where=fails)
        for b in range(self.config.barriers):
            same(f"cores_{b}", outputs, [moment.cores_waiting[b] for moment in moments])


def same(name: str, outputs, expected, *, where: np.ndarray | bool = True) -> None:
    """Compare an output with its expected values in the cycles selected by `where`."""
    differ = np.flatnonzero((outputs[name] != np.asarray(expected)) & where)
    if len(differ):
        cycle = int(differ[0])
        raise AssertionError(
            f"{name} is {outputs[name][cycle]:#x}, not {int(expected[cycle]):#x}, in cycle {cycle}"
        )
