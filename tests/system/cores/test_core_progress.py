"""Tests of ends and progress: results in flight, polling, computing, waiting for others."""

import pytest

from spica.hw.config import CoreBlockConfig
from spica.hw.core.core import Core
from spica.hw.isa.memory_map import ENTRY, SHARED_BASE
from spica.sim.engine.testbench import require_no_loop
from spica.sim.harness.core_memory import CoreMemoryConfig
from spica.sim.harness.stop_reason import StopReason
from spica.sim.iss.program_bench import END, START, small_config
from spica.sim.machine.program_machine import ProgramMachine
from support.core.core_bench import image, run_core, run_model
from support.programs.samples import ROOM

WATCHDOG, LIMIT = 700, 20_000
ENGINES = ["verilator", pytest.param("amaranth", marks=pytest.mark.slow)]
#: A loop that polls a flag in shared memory, which nothing sets.
POLL = f"""
        li s0, {SHARED_BASE}
look:   lw a1, 0(s0)
        beqz a1, look
"""
#: Programs that poll, of two warps with four threads.
POLLS = {
    "a branch to itself": "end: j end",
    "all warps poll": START + POLL + END,
    "with a pause": f"""{START}
        li s0, {SHARED_BASE}
look:   li a2, 20
pause:  addi a2, a2, -1
        bnez a2, pause
        lw a1, 0(s0)
        beqz a1, look
{END}""",
    "and store the same": f"""{START}
        li s0, {SHARED_BASE}
look:   sw s0, 4(s0)
        lw a1, 0(s0)
        beqz a1, look
{END}""",
    "with division": f"""{START}
        li s0, {SHARED_BASE}
        li a2, 1
look:   divu s0, s0, a2
        lw a1, 0(s0)
        beqz a1, look
{END}""",
    "one polls, one waits at a barrier": f"""{START}
        csrr a0, warp_id
        beqz a0, poll
        li a1, 1
        li a2, 2
        vx_bar a1, a2
poll:   {POLL}
{END}""",
}
#: Programs that run far longer than the watchdog's time, and end.
LONG = {
    "integer arithmetic": f"""{START}
        li a0, 400
loop:   addi a0, a0, -1
        bnez a0, loop
{END}""",
    "one polls, one computes and sets the flag": f"""{START}
        csrr a0, warp_id
        beqz a0, poll
        li s0, {SHARED_BASE}
        li a0, 400
loop:   addi a0, a0, -1
        bnez a0, loop
        li a1, 1
        sw a1, 0(s0)
        j end
poll:   {POLL}
end:    nop
{END}""",
    "all wait at a barrier for one that computes": f"""{START}
        csrr a0, warp_id
        beqz a0, meet
        li a0, 400
loop:   addi a0, a0, -1
        bnez a0, loop
meet:   li a1, 1
        li a2, 2
        vx_bar a1, a2
{END}""",
    "a clock is awaited": f"""{START}
        li a1, 3000
look:   csrr a0, mcycle
        bltu a0, a1, look
{END}""",
}


@pytest.fixture(scope="module", params=ENGINES)
def run(request):
    """Return a function that runs a program of two warps on an engine."""
    config = small_config(cores=1, warps=2, threads=4)
    machines = []

    def execute(text: str):
        if not machines or request.param == "amaranth":
            options = {"engine": request.param, "optimize": 0, "watchdog": WATCHDOG}
            machines.append(ProgramMachine(config, **options))
        machine = machines[-1]
        machine.write(ENTRY, image(text, ROOM))
        machine.write(SHARED_BASE, bytes(64))
        return machine.run(LIMIT)

    yield execute
    for machine in machines:
        machine.close()


@pytest.mark.parametrize("name", POLLS)
def test_polling_forever_is_a_hang(run, name):
    outcome = run(POLLS[name])
    assert outcome.stop is StopReason.HANG
    assert WATCHDOG < outcome.cycles < 3 * WATCHDOG
    assert outcome.instructions > WATCHDOG // 20


@pytest.mark.parametrize("name", LONG)
def test_a_long_program_is_none(run, name):
    outcome = run(LONG[name])
    assert outcome.stop is StopReason.DONE
    assert outcome.cycles > 2 * WATCHDOG


@pytest.mark.full
def test_a_memory_that_seldom_answers_is_none():
    """One access takes 100,000 cycles on average, longer than the usual watchdog."""
    memory = CoreMemoryConfig(stall=0.99999, seed=1)
    config = small_config(cores=1, warps=2, threads=4)
    with ProgramMachine(config, memory=memory, optimize=0) as machine:
        machine.write(ENTRY, image(f"li a0, 1{END}", ROOM))
        outcome = machine.run(1 << 24)
    assert outcome.stop is StopReason.DONE
    assert outcome.cycles > 50_000


#: Ways to end a warp. `vx_pred` does not wait for earlier instructions.
ENDS = {"pred": "vx_pred zero, zero", "tmc": "vx_tmc zero"}
#: Warp 1 runs twice; warp 0 waits for its first end and starts it again at once.
TWO_LIVES = """
        la s0, results
        li t0, 2
        la t1, first
        vx_wspawn t0, t1
wait:   csrr t2, warp_mask
        andi t2, t2, 2
        bnez t2, wait
        la t1, second
        vx_wspawn t0, t1
        {end}

first:  la s0, results
        li a0, 7
        lw a1, 0(s0)
        li a2, 100
        div a2, a2, a0
        fcvt.s.w fa0, a0
        fmul.s fa0, fa0, fa0
        sw a0, 4(s0)
        {end}

second: add a3, a1, a2
        fcvt.w.s a4, fa0
        sw a3, 8(s0)
        lw a1, 4(s0)
        add a1, a1, a3
        sw a1, 12(s0)
        sw a4, 16(s0)
        {end}
        .word 0
results: .word 12345
"""


@pytest.mark.parametrize("snoop", [True, False])
@pytest.mark.parametrize("end", ENDS)
@pytest.mark.full
def test_a_second_life_finds_the_registers_of_the_first(end, snoop):
    config = small_config(warps=2, threads=1, snoop=snoop)
    text = TWO_LIVES.format(end=ENDS[end])
    expected = run_model(config, text, ROOM)
    run = run_core(config, text, ROOM, latency=60)
    assert run.faults == []
    assert run.memory == expected.read(ENTRY, ROOM).tobytes()


@pytest.mark.full
def test_the_core_is_busy_until_all_is_done():
    """The last warp ends with a load and a store in flight; only after them the core is idle."""
    text = """
        la s0, results
        li a0, 7
        lw a1, 0(s0)
        sw a0, 4(s0)
        vx_pred zero, zero
        .word 0
results: .word 12345
    """
    config = small_config(warps=1, threads=1)
    expected = run_model(config, text, ROOM)
    run = run_core(config, text, ROOM, latency=100)
    assert run.faults == []
    assert run.memory == expected.read(ENTRY, ROOM).tobytes()
    assert run.instructions == expected.statistics.instructions
    assert run.cycles > 100


@pytest.mark.full
def test_a_core_has_no_loop():
    require_no_loop(Core, CoreBlockConfig.of(small_config(warps=2, threads=2)))
