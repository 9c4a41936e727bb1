"""Cores of a cluster without memories, with the memory ports of each core as ports."""

from dataclasses import replace
from typing import Any

from amaranth import *
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out, connect

from ..config import ClusterBarrierConfig, ClusterConfig, CoreBlockConfig
from ..core.clock_control import SLEEP_WIDTH
from ..core.core import Core
from ..core.observation import ObservationSignature
from ..emit.component import Component
from ..lib.interfaces.core_memory import (
    data_request_layout,
    data_response_layout,
    fetch_request_layout,
    fetch_response_layout,
)
from ..lib.probes import (
    FlattenedResponseSignature,
    FlattenedStreamSignature,
    flatten,
    relay,
    unflatten,
)
from .cluster_barrier import ClusterBarrier
from .sleep_counter import SleepCounter, SleepCounterConfig

__all__ = ["CoreSignature", "Cores", "core_domains", "core_number"]


def core_number(config: ClusterConfig, cluster: int, core: int) -> int:
    """Return the number in the machine of a core of a cluster."""
    return cluster * config.cores + core


def core_domains(config: ClusterConfig, cluster: int = 0) -> list[str]:
    """Return the clock domain of each core of a cluster, in its machine."""
    return [f"core{core_number(config, cluster, core)}" for core in range(config.cores)]


class CoreSignature(wiring.Signature):
    """Ports of one of the `Cores`; every field is a separate port.

    Members
    -------
    fetch, fetched, request, response : as in `Core`
    command : Out(FlattenedStreamSignature)
        Word for a matrix unit.
    exit_code, runs, slept : as in `CoreMonitorSignature`
    observed : Out(ObservationSignature)
    """

    def __init__(self, config: ClusterConfig):
        core = config.core
        assert core is not None
        super().__init__({
            "fetch": Out(FlattenedStreamSignature(fetch_request_layout(core))),
            "fetched": In(FlattenedResponseSignature(fetch_response_layout(core))),
            "request": Out(FlattenedStreamSignature(data_request_layout(core))),
            "response": In(FlattenedResponseSignature(data_response_layout(core))),
            "exit_code": Out(32),
            "runs": Out(1),
            "slept": Out(SLEEP_WIDTH),
            "observed": Out(ObservationSignature(core)),
        })


class Cores(Component):
    """The cores of a cluster and their cluster barrier, without memories.

    Core studies use it: instruction and data ports are ports of the component, so that a
    simulation chooses the memory behind them. A core's clock domain is ``core{c}``; it may be
    gated while ``core{c}_busy`` is low. The cluster barrier and the sleep counter are in
    ``sync``. There are no units: command words are accepted and dropped, and warps cannot wait
    for units.

    Parameters
    ----------
    config : ClusterConfig
        With cores.

    Members
    -------
    start : In(1)
        Starts all cores.
    core{c} : Out(CoreSignature(config))
    core{c}_busy : Out(1)
        Combinational: core c needs its clock in this cycle, also for a reset.
    """

    def __init__(self, config: ClusterConfig):
        if not config.cores:
            raise ValueError("cores must be at least 1, not 0")
        if config.core is not None and config.core.tensor_reads:
            raise ValueError("core.tensor must not read shared memory, as there is none")
        self.config = config = replace(config, dma=None, units=())
        ports: dict[str, Any] = {"start": In(1)}
        for domain in core_domains(config):
            ports |= {domain: Out(CoreSignature(config)), f"{domain}_busy": Out(1)}
        super().__init__(ports)

    def elaborate(self, platform):
        m = Module()
        m.submodules.cluster_barrier = cluster_barrier = ClusterBarrier(
            ClusterBarrierConfig.of(self.config)
        )
        m.submodules.sleep_counter = sleep_counter = SleepCounter(
            SleepCounterConfig(cores=self.config.cores, observed=True)
        )
        for number, domain in enumerate(core_domains(self.config)):
            core = Core(CoreBlockConfig.of(self.config))
            m.submodules[domain] = DomainRenamer(domain)(core)
            outside = getattr(self, domain)
            flatten(m, core.fetch, outside.fetch)
            unflatten(m, outside.fetched, core.fetched)
            flatten(m, core.request, outside.request)
            unflatten(m, outside.response, core.response)
            connect(m, core.barrier, cluster_barrier.core[number])
            connect(m, core.sleep, sleep_counter.core[number])
            m.d.comb += [
                core.number.eq(number),
                core.start.eq(self.start),
                core.command.ready.eq(1),
                outside.exit_code.eq(core.exit_code),
                outside.runs.eq(core.runs),
                outside.slept.eq(sleep_counter.pending[number]),
                getattr(self, f"{domain}_busy").eq(core.busy | ResetSignal(domain)),
            ]
            relay(m, core.observed, outside.observed)
        return m
