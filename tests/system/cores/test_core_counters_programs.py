"""Tests of performance counters after programs, against events observed in every cycle."""

from itertools import pairwise

import pytest
from amaranth import Cat, Value

from spica.hw.core import core as core_module
from spica.hw.core.issue.stall_reason import StallReason
from spica.hw.core.operands.collector_pool import Collectors
from spica.hw.core.operands.register_file import RegisterFile
from spica.hw.isa.csr import COUNTERS, CSR_NUMBERS
from spica.hw.isa.memory_map import ENTRY
from spica.hw.isa.operations import Port
from spica.hw.isa.program import assemble_program
from spica.sim.golden.core.counters import CounterModel, Cycle
from spica.sim.golden.core.front_end.decode import decode
from spica.sim.harness.core_memory import CoreMemoryConfig
from spica.sim.harness.stop_reason import StopReason
from spica.sim.iss.machine import Iss
from spica.sim.iss.program_bench import small_config
from spica.sim.machine.program_machine import ProgramMachine
from support.core.core_bench import image, run_core, run_model
from support.programs.samples import BEGIN, RESULTS, ROOM

PROGRAMS = {
    "everything": """
        addi a0, s0, 7
        fcvt.s.w fa0, a0
        fmadd.s fa1, fa0, fa0, fa0
        fdiv.s fa2, fa1, fa0
        frcp.s fa3, fa0
        fadd.s fa4, fa3, fa2
        fsw fa4, 0(s1)
        andi a1, s0, 1
        vx_split a2, a1, zero
        beqz a1, other
        addi a3, s0, 100
        j join
other:  slli a3, s0, 4
join:   vx_join a2
        vx_split a2, zero, zero
        vx_join a2
        sw a3, 4(s1)
        lw a4, 0(s1)
        add a4, a4, a3
        sh a4, 8(s1)
        lbu a5, 9(s1)
        sb a5, 12(s1)
        csrr t0, num_warps
        li t1, 0
        vx_bar t1, t0
        vx_split a2, a1, zero
    """,
    "arithmetic": "add a0, a1, a2\nadd a3, a4, a5\nfmul.s fa0, fa1, fa2\n" * 12,
}
CORES = {
    "wide": {"warps": 2, "threads": 2, "banks": 4, "collectors": 3},
    "thread": {"warps": 2, "threads": 4, "banks": 2, "bank_mapping": "thread", "issue_width": 2},
    "lanes": {"warps": 4, "threads": 4, "memory_lanes": 2, "writeback_buses": 1, "snoop": False},
}


class Witness:
    """Observer of a core in every cycle: of its probes and blocks, not of its event outputs."""

    def __init__(self, monkeypatch, config):
        self.config = config.core
        self.boxes = {}
        for kind in (RegisterFile, Collectors):
            monkeypatch.setattr(core_module, kind.__name__, self.remember(kind))

    def remember(self, kind):
        def build(config):
            self.boxes[kind] = kind(config)
            return self.boxes[kind]

        return build

    def observe(self, dut):
        """Return the observed values; `named` has them by name."""
        observed = dut.observed
        registers, collectors = self.boxes[RegisterFile], self.boxes[Collectors]
        named = {
            "counters": observed.counters,
            "busy": dut.busy,
            "slots": Cat(observed.slots),
            "fetches": dut.fetch.valid & dut.fetch.ready,
            "requests": dut.request.valid & dut.request.ready,
            "occupied": collectors.events.occupied,
            "snooped": collectors.events.snooped,
            "events": Value.cast(registers.events),
        }
        for port in self.config.ports:
            shown = observed.dispatched[port]
            named |= {f"port {port}": shown.valid, f"pc {port}": shown.pc}
        for number, bus in enumerate(observed.done):
            named |= {f"done {number}": bus.valid, f"mask {number}": bus.mask}
            named |= {f"done pc {number}": bus.pc}
        for number, request in enumerate(registers.request):
            named |= {f"read {number}": request.valid, f"read ready {number}": request.ready}
            named[f"read row {number}"] = request.payload.warp + request.payload.register
        for number, write in enumerate(registers.write):
            valid = write.valid & write.payload.writes
            named |= {f"write {number}": valid, f"write ready {number}": write.ready}
            named[f"write row {number}"] = write.payload.warp + write.payload.rd
        offered = observed.offered[Port.CONTROL]
        named |= {"offered": offered.valid, "offered pc": offered.pc}
        self.names = [*named]
        return list(named.values())

    def cycles(self, run):
        """Return the events of each cycle; the last two of a run only settle."""
        seen = [dict(zip(self.names, values, strict=True)) for values in run.seen]
        assert [cycle["busy"] for cycle in seen] == [1] * (len(seen) - 1) + [0]
        width = self.config.issue_width
        return seen, [
            self.cycle(now, [after["slots"] >> 4 * slot & 15 for slot in range(width)], run)
            for now, after in pairwise(seen[:-2])
        ]

    def cycle(self, now, slots, run):
        ports = [port for port in self.config.ports if now[f"port {port}"]]
        buses = [bus for bus in range(self.config.writeback_buses) if now[f"done {bus}"]]
        word = word_at(run, now[f"pc {Port.MEMORY}"]) if Port.MEMORY in ports else 0
        return Cycle(
            slots=slots,
            operations=ports,
            is_store=bool(word & 0x20),  # opcodes of stores are 0x23 and 0x27
            requests=now["requests"],
            fetches=now["fetches"],
            done=[now[f"mask {bus}"] for bus in buses],
            occupied=now["occupied"],
            snooped=now["snooped"],
            **(
                self.at_wide_banks(now)
                if self.config.bank_mapping == "warp"
                else self.of_banks(now)
            ),
        )

    def of_banks(self, now):
        """Return the conflict outputs of register banks; other tests verify them."""
        names, banks = ("reads", "writes", "read_conflicts", "write_conflicts"), self.config.banks
        return {
            name: (now["events"] >> place * banks & (1 << banks) - 1).bit_count()
            for place, name in enumerate(names)
        }

    def at_wide_banks(self, now):
        """Return the events at register banks, from requests and grants."""
        counts = {}
        for kind, count in ("read", self.config.collectors), ("write", self.config.writeback_buses):
            banks = {}
            for number in range(count):
                if now[f"{kind} {number}"]:
                    bank = now[f"{kind} row {number}"] % self.config.banks
                    banks.setdefault(bank, []).append(bool(now[f"{kind} ready {number}"]))
            counts[f"{kind}s"] = sum(any(served) for served in banks.values())
            counts[f"{kind}_conflicts"] = sum(not all(served) for served in banks.values())
        return counts


def word_at(run, pc):
    return int.from_bytes(run.memory[pc - ENTRY : pc - ENTRY + 4], "little")


def shown(value):
    """Return the counters shown by a core, by name."""
    return {name: value >> 64 * k & (1 << 64) - 1 for k, name in enumerate(COUNTERS)}


def slots_of(held):
    """Return the number of issue slots."""
    return sum(held[f"slots_{reason.name.lower()}"] for reason in StallReason)


#: Slow combinations.
SLOW = [("arithmetic", "wide"), ("everything", "thread"), ("everything", "lanes")]


@pytest.mark.parametrize(
    ("name", "shape"),
    [
        ("everything", "wide"),
        ("arithmetic", "thread"),
        *(pytest.param(*case, marks=pytest.mark.slow) for case in SLOW),
    ],
)
@pytest.mark.full
def test_programs(name, shape, monkeypatch):
    """Counters equal the events up to the third cycle before, and those known to the model."""
    config = small_config(**CORES[shape])
    text = BEGIN + PROGRAMS[name] + RESULTS
    witness, model = Witness(monkeypatch, config), CounterModel()
    timing = {"latency": 3, "jitter": 5, "stall": 0.3, "silence": 0.2, "split": 0.3}
    run = run_core(config, text, ROOM, observe=witness.observe, **timing)
    iss = run_model(config, text, ROOM).statistics
    seen, cycles = witness.cycles(run)
    *during, held = (shown(now["counters"]) for now in seen[2:])
    for cycle, there in zip(cycles, during, strict=True):
        assert there == model.counters | {"divergent_splits": there["divergent_splits"]}
        model.step(cycle)
    assert held == model.counters | {"divergent_splits": iss.divergent_splits}

    core = witness.config
    assert slots_of(held) == held["cycles"] * core.issue_width
    operations = sum(value for name, value in held.items() if name.startswith("operations_"))
    assert held["slots_none"] == operations + held["loads"] + held["stores"]
    assert held["instructions"] == held["slots_none"] == iss.instructions
    assert held["thread_instructions"] == iss.thread_instructions
    assert (held["loads"], held["stores"]) == (iss.loads, iss.stores)
    if core.bank_mapping == "warp":
        done = [
            decode(word_at(run, now[f"done pc {bus}"]), 0)
            for now in seen
            for bus in range(core.writeback_buses)
            if now[f"done {bus}"]
        ]
        operands = sum(event["reads"].bit_count() for event in done)
        assert held["register_writes"] == sum(event["writes"] for event in done)
        assert held["register_reads"] + held["operands_snooped"] == operands
    if name == "everything":
        never = {"slots_inactive_set", "slots_dual_issue" if core.issue_width == 1 else ""}
        never |= {"operations_tensor"} | (set() if core.snoop else {"operands_snooped"})
        rare = {"read_conflicts", "write_conflicts", "slots_collectors_full", "slots_barrier"}
        assert {name for name, value in held.items() if not value} <= never | rare


@pytest.mark.full
def test_programs_read_what_is_shown(monkeypatch):
    """A counter read returns the value shown in the cycle before the result is offered."""
    config = small_config(warps=2, threads=1)
    names = [*COUNTERS, "cycles_high", "slots_none_high", "divergent_splits_high"]
    reads = "".join(f"csrr a0, {csr}\nsw a0, {4 * k}(s1)\n" for k, csr in enumerate(names))
    text = BEGIN.replace("slli s1, s0, 5", "slli s1, s0, 8") + reads + RESULTS
    witness = Witness(monkeypatch, config)
    run = run_core(config, text, ROOM, observe=witness.observe)
    seen, _ = witness.cycles(run)
    held = {number: [] for number in CSR_NUMBERS.values()}
    for now, after in pairwise(seen):
        if after["offered"] and not now["offered"]:
            number = word_at(run, after["offered pc"]) >> 20
            held.get(number, []).append(shown(now["counters"]))
    results = len(assemble_program(text).data) - 4
    for k, csr in enumerate(names):
        half = 32 if csr.endswith("_high") else 0
        name = csr.removesuffix("_high")
        expected = sorted(one[name] >> half & 0xFFFF_FFFF for one in held[CSR_NUMBERS[csr]])
        at = [results + 256 * warp + 4 * k for warp in range(2)]
        assert sorted(int.from_bytes(run.memory[a : a + 4], "little") for a in at) == expected, csr
        assert len(expected) == 2


@pytest.mark.full
def test_a_warp_alone_finds_all_of_its_instructions_counted():
    reads = "".join(
        f"lw a1, 0(s1)\nfmul.s fa0, fa1, fa2\ncsrr a0, minstret\nsw a0, {4 * k}(s1)\n"
        for k in range(1, 4)
    )
    text = "la s1, results\n" + reads + RESULTS
    config = small_config(warps=1, threads=1)
    expected = run_model(config, text, ROOM).read(ENTRY, ROOM).tobytes()
    assert run_core(config, text, ROOM, latency=4).memory == expected


@pytest.mark.full
def test_cores_on_verilator():
    """A run's totals equal those counted otherwise, for every clock gating."""
    config = small_config(cores=2, warps=2, threads=2)
    slow = CoreMemoryConfig(latency=3, jitter=5, stall=0.3, silence=0.2, split=0.3, seed=3)
    contents = image(BEGIN + PROGRAMS["everything"] + RESULTS, ROOM)
    iss = Iss(config)
    iss.write(ENTRY, contents)
    assert iss.run(10_000).stop is StopReason.DONE
    runs = []
    for gating in ("gated", "ungated", "random"):
        with ProgramMachine(config, memory=slow, gating=gating, optimize=0) as machine:
            machine.write(ENTRY, contents)
            outcome = machine.run()
            runs.append(machine.counters())
            states = machine.core_states()
    assert outcome.stop is StopReason.DONE
    counters = runs[0]
    assert runs == [counters] * 3
    for held, slots, state in zip(counters, outcome.slots, states, strict=True):
        for reason in {*StallReason} - {StallReason.IDLE}:
            assert held[f"slots_{reason.name.lower()}"] == slots[reason.name]
        assert held["instructions"] == state.instructions
        assert held["fetches"] == state.fetches
        assert held["memory_requests"] == state.loads + state.stores
        assert slots_of(held) == held["cycles"]
    total = {name: sum(held[name] for held in counters) for name in COUNTERS}
    counted = iss.statistics
    assert total["thread_instructions"] == counted.thread_instructions
    assert total["divergent_splits"] == counted.divergent_splits
    assert (total["loads"], total["stores"]) == (counted.loads, counted.stores)
