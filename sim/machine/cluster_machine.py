"""A whole cluster with programs on its cores: started over AXI, everything in DRAM, observed."""

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
from ..harness.stop_reason import CoreStop, Stop
from ..iss.machine import Iss
from ..lockstep.cluster_lockstep import ClusterLockstep
from .cluster_outcome import ClusterOutcome
from .program_machine import ProgramMachine, Window
from .stop_report import RESPONSES, describe_machine
from .unit_report import describe_units

__all__ = ["ClusterMachine", "observed_cluster"]


def observed_cluster(config: ClusterConfig) -> Cluster:
    """Return a cluster that shows what happens in it."""
    return Cluster(config, observed=True)


class ClusterMachine(ProgramMachine):
    """An observed cluster on an engine, with DRAM behind its AXI masters and a host that starts it.

    Used as `CoreMachine` is. What differs: memory is DRAM, whose every access goes over AXI, and
    the back door leads there alone, past the caches: it finds everything once a run is done, and
    writes before it begins. Accesses of cores to DRAM that was not placed stop the run as a fault
    when they are requested. A run is over once every unit is idle and the L2 flushed; its outcome
    says more, `unit_counters` tells what the units counted, `load_latency` how long loads took,
    and `cache_latency` how long reads of each cache did.

    Parameters
    ----------
    config : ClusterConfig
        With cores.
    name : str
        Name of the top module.
    engine : str
        ``verilator`` or ``amaranth``; both take the same cycles.
    dram : DramConfig
        Timing of memory.
    lockstep : bool
        Whether every instruction is compared with the instruction-set model, which is then `iss`.
    record : tuple of int
        Of which cycles everything is kept: the first, and the one after the last.
    gating : str
        ``gated``, ``ungated`` or ``random``; Amaranth's simulator never gates.
    seed : int
        Of random gating and of storage without initial value.
    access_cycles : int
        Cycles from the start of one host access to the start of the next.
    watchdog : int
        Cycles without any instruction, transfer or event of a unit after which a run is given up.
    optimize : int
        0 to 3, for the C++ compiler.
    vcd : str or None
        Where to write a waveform.
    window : tuple of int
        First cycle of the waveform, and the one after its last; Verilator only.
    progress : callable or None
        Told about builds.
    design : Component or None
        What to run in place of the observed cluster of the config, with the same ports.

    Attributes
    ----------
    console : bytes
        All that was printed since the run began, in the order of the cores' bytes on their way to
        the host.
    on_console : callable or None
        Told what is printed, while a program runs.

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
        """Place something: a program may touch these bytes of DRAM, and only what was placed.

        In lockstep they are compared with the model's when the program has ended.
        """
        super().allow(address, nbytes)
        self.placed.append((address, nbytes))

    @property
    def harness(self) -> ClusterHarness:
        """What surrounds the cores."""
        return self.surroundings

    def run(self, max_cycles: int = 1 << 40, commands: CommandList | None = None) -> ClusterOutcome:
        """Run until host, cores and units are idle, something goes wrong, or for `max_cycles`.

        From reset, or where the last run stopped if that was at its limit; DRAM stays as it is.
        The host starts the cores and then carries out `commands`, beside them. Raises
        `MachineError` where an access of the host is refused.
        """
        if self.begins:
            self.harness.prepare(commands)
        elif commands is not None:
            raise UserError("a run that goes on has its commands already")
        self.advance(max_cycles)
        if self.harness.state().stop == Stop.HOST_ERROR:
            self.begins = True
            command, address, response = self.harness.errors()[-1]
            answer = RESPONSES.get(response, f"response {response}")
            raise MachineError(
                f"access {command} of the host, to {address:#06x}, was refused with {answer}"
            )
        facts = self.facts()
        self.begins = facts["stop"] is not CoreStop.LIMIT
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
            waits=self.waits() if facts["stop"] in (CoreStop.HANG, CoreStop.DEADLOCK) else "",
        )

    def parameters(self) -> dict[str, Any]:
        """Return how the machine was made, as far as it tells on a run."""
        return super().parameters() | {"memory": self.dram, "access_cycles": self.access_cycles}

    def run_facts(self) -> dict[str, Any]:
        """Return what is known of the run here alone."""
        return super().run_facts() | {"channels": self.channels_before}

    def take_facts(self, facts: dict[str, Any]) -> None:
        """Take over what `run_facts` returned."""
        super().take_facts(facts)
        self.channels_before = [ChannelStatistics(**each) for each in facts["channels"]]

    def begin(self) -> None:
        """Bring everything but memory into its first state."""
        if self.has_run:
            self.harness.renew()
        super().begin()
        self.channels_before = self.harness.statistics()

    def make_lockstep(self, iss: Iss) -> ClusterLockstep:
        """Return what compares the cores with the model in the run that begins."""
        return ClusterLockstep(self.harness, self.config, iss, self.placed)

    def unit_counters(self) -> dict[str, int]:
        """Return what each event counter of the cluster holds, by the names of `counter_table`."""
        return self.harness.events()

    def load_latency(self) -> dict[str, list[LoadLatency]]:
        """Return how long the loads of each core took, by where the words are."""
        return self.harness.load_latency()

    def cache_latency(self) -> dict[str, list[LoadLatency]]:
        """Return how long reads of each cache took: of each core, and of each slice of the L2."""
        return self.harness.cache_latency()

    def waits(self) -> str:
        """Ask the units of a cluster that stands still what they wait for; it runs on meanwhile."""
        held = held_streams(self.outputs(), self.config.cores)
        return "; ".join([
            *describe_machine(self),
            *self.waiting_caches(),
            *held,
            describe_units(self, self.config),
        ])

    def waiting_caches(self) -> Iterator[str]:
        """Yield what each core waits for behind its ports, and what the L2 does."""
        outputs, states = self.outputs(), self.core_states()
        for core, state in enumerate(states):
            if state.owed_fetches or state.owed_requests:
                yield (
                    f"core{core} waits for {state.owed_fetches} fetches and {state.owed_requests} "
                    "lanes of loads and stores, from its L1 caches or what lies behind them"
                )
        for master in range(self.harness.channels):
            held = [
                channel
                for channel in ("aw", "w")
                if outputs[f"dma_axi_{master}_{channel}valid"]
                and not outputs[f"dma_axi_{master}_{channel}ready"]
            ]
            if held:
                yield f"the DMA offers what the L2 does not take: {', '.join(held)} of {master}"
            _, reads, writes = self.harness.channel(master)
            if outputs["bus_busy"]:
                yield f"L2 slice {master} waits for {reads} reads and {writes} writes of DRAM"
        if outputs["bus_busy"] and not any(state.busy for state in states):
            yield "no core runs any more: what the L2 holds is written to DRAM"


def held_streams(outputs: dict[str, int], cores: int) -> Iterator[str]:
    """Yield which of what each core offers is not taken."""
    for core in range(cores):
        names = ("fetch", "request", "command", "console")
        held = [
            name
            for name in names
            if outputs[f"core{core}_{name}_valid"] and not outputs[f"core{core}_{name}_ready"]
        ]
        if held:
            yield f"core{core} offers what nobody takes: {', '.join(held)}"


def since(cycle: int, start: int) -> int | None:
    """Return a cycle of the harness as one of the run, None if it has not been in it."""
    return None if cycle == NEVER or cycle < start else cycle - start
