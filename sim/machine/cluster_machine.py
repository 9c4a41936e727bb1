"""Observed cluster that runs programs: started over AXI, with program and data in DRAM."""

from collections.abc import Iterator
from typing import Any

from ...hw.base.errors import MachineError, UserError
from ...hw.cluster.cluster import Cluster
from ...hw.config import ClusterConfig
from ...kernels.commands import CommandList
from ..engine.compiler import Progress
from ..engine.engines import make_engine
from ..harness.cluster_harness import NEVER, ClusterHarness
from ..harness.dram import ChannelStatistics, DramConfig
from ..harness.load_latency import LoadLatency
from ..harness.stop_reason import CoreStopReason, StopReason
from ..iss.machine import Iss
from ..lockstep.cluster_lockstep import ClusterLockstep
from .cluster_outcome import ClusterOutcome
from .program_machine import ProgramMachine, Window
from .stop_report import RESPONSES, describe_machine
from .unit_report import describe_units

__all__ = ["ClusterMachine", "observed_cluster"]


def observed_cluster(config: ClusterConfig) -> Cluster:
    """Return a cluster with observation ports."""
    return Cluster(config, observed=True)


class ClusterMachine(ProgramMachine):
    """Observed cluster on an engine, with DRAM behind its AXI masters and a host that starts it.

    The interface is that of `CoreMachine`, with these differences. Memory is DRAM, reached over
    AXI. The back door accesses DRAM only and bypasses the caches: read it after a run, write it
    before. A core's request to DRAM that was not placed stops the run as a fault. A run ends when
    every unit is idle and the L2 is flushed. `unit_counters`, `load_latency` and `cache_latency`
    return event counts and latencies in addition to the outcome.

    Parameters
    ----------
    config : ClusterConfig
        Config with cores.
    name : str
        Name of the top module.
    engine : str
        ``verilator`` or ``amaranth``; both take the same cycles.
    dram : DramConfig
        DRAM timing.
    lockstep : bool
        Whether to compare every instruction with the instruction-set model, which is then `iss`.
    record : tuple of int
        Recorded cycles: the first, and the one after the last.
    gating : str
        ``gated``, ``ungated`` or ``random``; Amaranth's simulator never gates.
    seed : int
        Seed of random gating and of storage without an initial value.
    access_cycles : int
        Cycles from the start of one host access to the start of the next.
    watchdog : int
        Cycles without any instruction, transfer or unit event after which the run stops as a hang.
    optimize : int
        Optimization level of the C++ compiler, 0 to 3.
    vcd : str or None
        Waveform file (VCD); None writes none.
    window : tuple of int
        First cycle of the waveform and the cycle after its last; Verilator only.
    progress : callable or None
        Progress callback of builds.
    design : Component or None
        Design to run instead of the observed cluster of the config, with the same ports.

    Attributes
    ----------
    console : bytes
        Console output since the start of the run, in the order in which bytes reach the host.
    on_console : callable or None
        Callback for console output while a program runs.

    """

    def __init__(
        self,
        config: ClusterConfig,
        *,
        name: str = "observed_cluster",
        engine: str = "verilator",
        dram: DramConfig | None = None,
        lockstep: bool = False,
        record: Window | None = None,
        gating: str = "gated",
        seed: int = 0,
        access_cycles: int = 20,
        watchdog: int = 50_000,
        optimize: int = 2,
        vcd: str | None = None,
        window: Window | None = None,
        progress: Progress | None = None,
        design: Any = None,
    ):
        super().__init__(
            config,
            engine=engine,
            lockstep=lockstep,
            record=record,
            gating=gating,
            watchdog=watchdog,
        )
        self.dram = DramConfig() if dram is None else dram
        self.access_cycles = access_cycles
        self.engine, library = make_engine(
            config if design is None else design,
            name=name,
            engine=engine,
            gating=gating,
            seed=seed,
            optimize=optimize,
            vcd=vcd,
            window=window,
            progress=progress,
            kind=observed_cluster,
        )
        self.surroundings = ClusterHarness(
            library, self.engine.layout, config, self.dram, access_cycles
        )
        self.channels_before: list[ChannelStatistics] = []
        self.placed: list[tuple[int, int]] = []

    def allow(self, address: int, nbytes: int) -> None:
        """Place a region of DRAM: programs may access placed regions only.

        Lockstep compares placed regions with the model's when the program has ended.
        """
        super().allow(address, nbytes)
        self.placed.append((address, nbytes))

    @property
    def harness(self) -> ClusterHarness:
        """C++ harness around the cluster."""
        return self.surroundings

    def run(self, max_cycles: int = 1 << 40, commands: CommandList | None = None) -> ClusterOutcome:
        """Run until host, cores and units are idle, an error occurs, or `max_cycles` have passed.

        The run starts from reset, or continues a run that stopped at its limit; DRAM keeps its
        contents. The host starts the cores, then executes `commands` in parallel to them. Raises
        `MachineError` if a host access gets an error response.
        """
        if self.begins:
            self.harness.prepare(commands)
        elif commands is not None:
            raise UserError("commands must be None when a run continues")
        self.advance(max_cycles)
        if self.harness.state().stop == StopReason.HOST_ERROR:
            self.begins = True
            command, address, response = self.harness.errors()[-1]
            answer = RESPONSES.get(response, f"response {response}")
            raise MachineError(f"host access {command} to {address:#06x} got the response {answer}")
        facts = self.facts()
        self.begins = facts["stop"] is not CoreStopReason.LIMIT
        state = self.harness.state()
        return ClusterOutcome(
            **facts,
            exit_codes=tuple(core.exit_code for core in self.core_states()),
            first_command=since(state.first_command, state.start),
            last_response=since(state.last_response or NEVER, state.start),
            marks=tuple(
                (since(marks.first_begin, 0), since(marks.last_end, 0))
                for marks in self.harness.marks()
            ),
            begins=sum(marks.begins for marks in self.harness.marks()),
            ends=sum(marks.ends for marks in self.harness.marks()),
            channels=tuple(
                after.since(before)
                for after, before in zip(
                    self.harness.statistics(), self.channels_before, strict=True
                )
            ),
            marked_channels=tuple(
                after.since(before)
                for after, before in zip(
                    self.harness.statistics(), self.harness.marked(), strict=True
                )
            ),
            cores_end=self.harness.cores_end(),
            violation=self.harness.violation(),
            waits=self.waits()
            if facts["stop"] in (CoreStopReason.HANG, CoreStopReason.DEADLOCK)
            else "",
        )

    def parameters(self) -> dict[str, Any]:
        """Return the machine's parameters that affect a run."""
        return super().parameters() | {"memory": self.dram, "access_cycles": self.access_cycles}

    def run_facts(self) -> dict[str, Any]:
        """Return the state of the run that only this object holds, for a checkpoint."""
        return super().run_facts() | {"channels": self.channels_before}

    def take_facts(self, facts: dict[str, Any]) -> None:
        """Restore the state that `run_facts` returned."""
        super().take_facts(facts)
        self.channels_before = [ChannelStatistics(**each) for each in facts["channels"]]

    def begin(self) -> None:
        """Reset everything except memory to its initial state."""
        if self.has_run:
            self.harness.renew()
        super().begin()
        self.channels_before = self.harness.statistics()

    def make_lockstep(self, iss: Iss) -> ClusterLockstep:
        """Return the lockstep comparison for the run that begins."""
        return ClusterLockstep(self.harness, self.config, iss, self.placed)

    def unit_counters(self) -> dict[str, int]:
        """Return the cluster's event counters, by the names of `counter_table`."""
        return self.harness.events()

    def load_latency(self) -> dict[str, list[LoadLatency]]:
        """Return the load latencies of each core, by the place of the loaded words."""
        return self.harness.load_latency()

    def cache_latency(self) -> dict[str, list[LoadLatency]]:
        """Return the read latencies of each cache: L1I and L1D per core, L2 per slice."""
        return self.harness.cache_latency()

    def waits(self) -> str:
        """Return the wait state of each unit of a hung cluster; the reads advance the run."""
        held = held_streams(self.outputs(), self.config.cores)
        return "; ".join([
            *describe_machine(self),
            *self.waiting_caches(),
            *held,
            describe_units(self, self.config),
        ])

    def waiting_caches(self) -> Iterator[str]:
        """Yield the outstanding accesses of each core and of the L2."""
        outputs, states = self.outputs(), self.core_states()
        for core, state in enumerate(states):
            if state.owed_fetches or state.owed_requests:
                yield (
                    f"core{core} has {state.owed_fetches} outstanding fetches and "
                    f"{state.owed_requests} outstanding lanes of loads and stores"
                )
        for master in range(self.harness.channels):
            held = [
                channel
                for channel in ("aw", "w")
                if outputs[f"dma_axi_{master}_{channel}valid"]
                and not outputs[f"dma_axi_{master}_{channel}ready"]
            ]
            if held:
                yield f"L2 slice {master} stalls {', '.join(held)} of the DMA"
            _, reads, writes = self.harness.channel(master)
            if outputs["bus_busy"]:
                yield f"L2 slice {master} waits for {reads} DRAM reads and {writes} DRAM writes"
        if outputs["bus_busy"] and not any(state.busy for state in states):
            yield "all cores are idle; the L2 writes its dirty lines back to DRAM"


def held_streams(outputs: dict[str, int], cores: int) -> Iterator[str]:
    """Yield the streams of each core that are stalled: `valid` without `ready`."""
    for core in range(cores):
        names = ("fetch", "request", "command", "console")
        held = [
            name
            for name in names
            if outputs[f"core{core}_{name}_valid"] and not outputs[f"core{core}_{name}_ready"]
        ]
        if held:
            yield f"core{core} is stalled on its ports: {', '.join(held)}"


def since(cycle: int, start: int) -> int | None:
    """Return a cycle of the harness relative to `start`; None if it is not in the run."""
    return None if cycle == NEVER or cycle < start else cycle - start
