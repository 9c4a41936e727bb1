"""Tests of lockstep with port values that no core would drive."""

import ctypes
import functools
import gc
import warnings

import pytest
from amaranth.hdl import UnusedElaboratable
from amaranth.lib.wiring import In

from spica.hw.cluster.cores import Cores
from spica.hw.emit.emission import EmittedPort
from spica.hw.emit.module_ports import signature_ports
from spica.hw.isa.memory_map import DRAM_BASE, ENTRY
from spica.hw.isa.operations import Port
from spica.hw.isa.program import assemble_program
from spica.sim.engine.verilator_model import build_harness
from spica.sim.harness.binding import Layout
from spica.sim.harness.core_harness import CoreHarness
from spica.sim.harness.core_memory import CoreMemoryConfig
from spica.sim.harness.stop_reason import StopReason
from spica.sim.iss.machine import Iss
from spica.sim.iss.program_bench import small_config
from spica.sim.lockstep.lockstep import Lockstep

CONFIG = small_config(warps=2, threads=4)
#: Two requests for an instruction of both threads.
NARROW = small_config(warps=1, threads=2, memory_lanes=1)
PROGRAM = """
        lui a1, 0x80000
        lw a2, 0(a1)
        lw a3, 4(a1)
        vx_tmc zero
"""
LUI, FIRST, SECOND, TMC = range(ENTRY, ENTRY + 16, 4)


class Shown:
    """Probe outputs of a core with one warp of one thread, cycle by cycle."""

    def __init__(self, config):
        self.layout = layout = layout_of(config)
        self.places = {port.name: port.word for port in layout.outputs}
        self.inputs = (ctypes.c_uint32 * (layout.input_words + 1))()
        self.ready = next(p.word for p in layout.inputs if p.name == "core0_request_ready")
        self.iss = Iss(config)
        self.iss.write(ENTRY, assemble_program(PROGRAM).data)
        self.harness = CoreHarness(build_harness(), layout, config, CoreMemoryConfig())
        self.harness.begin_cores(True, max_cycles=1000, watchdog=1000)
        self.lockstep = Lockstep(self.harness, config, self.iss)
        self.cycle()

    def cycle(self, **values):
        """Show these ports for a cycle, named without ``core0_observed_``; the others are 0."""
        words = (ctypes.c_uint32 * (self.layout.output_words + 1))()
        words[self.places["core0_busy"]] = 1
        for name, value in values.items():
            whole = name if name.startswith("core0") else f"core0_observed_{name}"
            for place, word in enumerate(value if isinstance(value, tuple) else (value,)):
                words[self.places[whole] + place] = word
        self.inputs[self.ready] = 1
        self.harness.step(self.harness.handle, words, self.inputs)

    def collect(self, pc, port, mask=1):
        self.cycle(
            collected_0_valid=1, collected_0_pc=pc, collected_0_mask=mask, collected_0_port=port
        )

    def dispatch(self, pc, port):
        self.cycle(**{f"dispatched_{port}_valid": 1, f"dispatched_{port}_pc": pc})

    def request(self, address, tag=0):
        self.cycle(
            core0_request_valid=1, core0_request_mask=1, core0_request_address=address,
            core0_request_tag=tag,
        )  # fmt: skip

    def done(self, pc, rd=None, *values, mask=1):
        self.cycle(
            done_1_valid=1, done_1_pc=pc, done_1_mask=mask, done_1_writes=rd is not None,
            done_1_rd=rd or 0, done_1_values=values,
        )  # fmt: skip

    def control(self, pc, rd=None, *values, mask=1):
        self.collect(pc, Port.CONTROL, mask)
        self.dispatch(pc, Port.CONTROL)
        self.done(pc, rd, *values, mask=mask)

    def lui(self):
        self.collect(LUI, Port.INT)
        self.done(LUI, 11, DRAM_BASE)

    def load(self, pc, rd, address):
        self.collect(pc, Port.MEMORY)
        self.dispatch(pc, Port.MEMORY)
        self.request(address)
        self.done(pc, rd, int.from_bytes(self.iss.read(address, 4).tobytes(), "little"))

    def verdict(self, stop=StopReason.LIMIT):
        """Return the first line of the report without its location."""
        text = self.lockstep.finish(stop)
        is_mismatch = self.harness.state().stop == StopReason.MISMATCH
        assert is_mismatch == (text != "" and stop is StopReason.LIMIT)
        return text.splitlines()[0].partition(": ")[2] if text else ""


@functools.cache
def layout_of(config):
    with warnings.catch_warnings():
        # It is only observed, so its warning appears when it is collected, which is here.
        warnings.simplefilter("ignore", UnusedElaboratable)
        ports = list(signature_ports(Cores(config), "_"))
        gc.collect()
    return Layout(
        [
            EmittedPort(name, "input" if flow is In else "output", len(value))
            for name, flow, value in ports
        ],
        ("sync", "core0"),
    )


@pytest.fixture
def shown(request):
    shown = Shown(getattr(request, "param", CONFIG))
    yield shown
    shown.harness.close()


def test_what_a_core_should_do_is_no_difference(shown):
    shown.lui()
    shown.load(FIRST, 12, DRAM_BASE)
    shown.load(SECOND, 13, DRAM_BASE + 4)
    shown.control(TMC)
    assert shown.verdict(StopReason.DONE) == ""


def test_results_may_overtake_each_other(shown):
    shown.collect(LUI, Port.INT)
    for pc in (FIRST, SECOND):
        shown.collect(pc, Port.MEMORY)
        shown.dispatch(pc, Port.MEMORY)
    shown.request(DRAM_BASE)
    shown.request(DRAM_BASE + 4)
    words = [int.from_bytes(shown.iss.read(DRAM_BASE + at, 4).tobytes(), "little") for at in (0, 4)]
    shown.done(SECOND, 13, words[1])
    shown.done(LUI, 11, DRAM_BASE)
    shown.done(FIRST, 12, words[0])
    assert shown.verdict() == ""
    assert shown.iss.instructions == 3


def test_the_model_loads_when_memory_accepts_the_request(shown):
    shown.lui()
    shown.collect(FIRST, Port.MEMORY)
    shown.dispatch(FIRST, Port.MEMORY)
    assert shown.iss.instructions == 1
    shown.iss.write(DRAM_BASE, (7).to_bytes(4, "little"))
    shown.request(DRAM_BASE)
    assert shown.iss.instructions == 2
    shown.iss.write(DRAM_BASE, (8).to_bytes(4, "little"))
    shown.done(FIRST, 12, 7)
    assert shown.verdict() == ""


#: Steps in turn, and the difference that the comparison names.
MISMATCHES = {
    "never collected": ([("done", LUI, 11, DRAM_BASE)], "completed, but not in flight"),
    "done twice": ([("lui",), ("done", LUI, 11, DRAM_BASE)], "completed, but not in flight"),
    "a load done before its request": (
        [("lui",), ("collect", FIRST, Port.MEMORY), ("done", FIRST, 12, 0)],
        "completed before it was executed",
    ),
    "control done before it is dispatched": (
        [("collect", LUI, Port.CONTROL), ("done", LUI)],
        "completed before it was executed",
    ),
    "loads that change places": (
        [
            *(("lui",), ("collect", FIRST, Port.MEMORY), ("collect", SECOND, Port.MEMORY)),
            ("dispatch", SECOND, Port.MEMORY),
        ],
        "pc of the next load or store dispatched",
    ),
    "dispatched to memory": (
        [("collect", LUI, Port.INT), ("dispatch", LUI, Port.MEMORY)],
        "dispatched to memory, but not collected for it",
    ),
    "dispatched to control": (
        [("collect", LUI, Port.INT), ("dispatch", LUI, Port.CONTROL)],
        "dispatched to control, but not last collected for it",
    ),
    "a request that nobody made": (
        [("request", DRAM_BASE)],
        "a request without a load or store dispatched",
    ),
    "more threads than are active": ([("collect", LUI, Port.INT, 3)], "mask"),
    "skipped": ([("collect", FIRST, Port.INT)], "pc"),
}


@pytest.mark.parametrize("name", MISMATCHES)
@pytest.mark.quick(9)
def test_the_difference_is_named(shown, name):
    steps, what = MISMATCHES[name]
    for step, *arguments in steps:
        getattr(shown, step)(*arguments)
    assert shown.verdict() == what


def test_an_instruction_that_is_never_done(shown):
    shown.collect(LUI, Port.INT)
    assert shown.verdict() == ""
    assert shown.verdict(StopReason.DONE) == "collected, but never completed"


@pytest.mark.parametrize("shown", [NARROW], indirect=True)
def test_a_request_for_another_part(shown):
    shown.lui()
    shown.collect(FIRST, Port.MEMORY)
    shown.dispatch(FIRST, Port.MEMORY)
    # Above the slot number, the tag holds the threads of the request.
    assert NARROW.core
    shown.request(DRAM_BASE, tag=NARROW.core.accesses)
    assert shown.verdict() == "part of the instruction requested"


def test_many_instructions_in_flight(shown):
    """More than the queue first has room for, behind a load that memory does not accept."""
    program = "        lui a1, 0x80000\n        lw a2, 0(a1)\n" + 40 * "        addi a3, zero, 1\n"
    shown.iss.write(ENTRY, assemble_program(program).data)
    shown.lui()
    shown.collect(FIRST, Port.MEMORY)
    shown.dispatch(FIRST, Port.MEMORY)
    for number in range(40):
        shown.collect(SECOND + 4 * number, Port.INT)
        shown.done(SECOND + 4 * number, 13, 1 + (number == 30))
    assert shown.verdict() == ""
    assert shown.iss.instructions == 1
    shown.request(DRAM_BASE)
    # Results that precede the model are compared when the model reaches them.
    assert shown.verdict() == "result"
    report = shown.lockstep.finish(StopReason.LIMIT)
    assert f"  at {SECOND + 120:#010x}: addi a3, zero, 1" in report.splitlines()
    assert "and 28 more" not in report
    assert len(report.splitlines()) <= 40


def test_nothing_is_executed_with_a_counter_that_is_not_known_yet(shown):
    program = "        csrr a1, mcycle\n        addi a2, a1, 1\n"
    shown.iss.write(ENTRY, assemble_program(program).data)
    shown.collect(ENTRY, Port.CONTROL)
    shown.dispatch(ENTRY, Port.CONTROL)
    shown.collect(ENTRY + 4, Port.INT)
    assert shown.iss.instructions == 1
    shown.done(ENTRY, 11, 12345)
    shown.done(ENTRY + 4, 12, 12346)
    assert shown.verdict() == ""
    assert shown.iss.warp(0, 0).integers[11:13, 0].tolist() == [12345, 12346]


def test_of_several_at_one_pc_that_of_the_same_threads_is_done(shown):
    program = """
        addi a2, zero, 3
        vx_tmc a2
        csrr a3, thread_id
again:  nop
        vx_split a4, a3, zero
        j again
    """
    shown.iss.write(ENTRY, assemble_program(program).data)
    first, tmc, number, again, split, back = range(ENTRY, ENTRY + 24, 4)
    shown.collect(first, Port.INT)
    shown.done(first, 12, 3)
    shown.control(tmc)
    shown.control(number, 13, 0, 1, mask=3)
    shown.collect(again, Port.INT, mask=3)
    shown.control(split, 14, 1, 1, mask=3)
    shown.collect(back, Port.INT, mask=2)
    shown.collect(again, Port.INT, mask=2)
    shown.done(again, mask=2)
    shown.done(back, mask=2)
    shown.done(again, mask=3)
    assert shown.verdict() == ""
    assert shown.verdict(StopReason.DEADLOCK) == ""
