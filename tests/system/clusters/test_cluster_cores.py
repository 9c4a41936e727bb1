"""Tests of clusters with cores: programs over AXI give the model's results; host and console."""

from dataclasses import replace

import pytest
from amaranth.back import rtlil

from spica.base.errors import MachineError, UserError
from spica.hw.config import AxiConfig, CoreConfig, MachineConfig
from spica.hw.config.rtl_support import require_rtl
from spica.hw.isa.memory_map import CONSOLE_BASE, CORES, CORES_BASE, ENTRY
from spica.hw.machine.machine import Machine
from spica.hw.presets import PRESETS
from spica.kernels.commands import CommandList
from spica.kernels.gemm.problem import GemmProblem
from spica.sim.harness.dram import DramConfig
from spica.sim.iss.program_bench import END, START, small_config
from spica.sim.machine.command_machine import CommandMachine
from spica.sim.run.product_run import run_gemm
from support.cluster.host_run import run_program
from support.cluster.two_cores import TWO
from support.core.core_bench import image, run_model
from support.programs.samples import sample

ROOM = 4096
QUICK = DramConfig(latency=10)
SLOW = DramConfig(latency=30, stall=0.2, seed=3)
#: Without a matrix unit; the variants have one, and two cores.
SMALL = small_config(warps=2, threads=2)

HELLO = f"""
        li gp, 0
        li a0, {CONSOLE_BASE}
        li a1, 72
        sb a1, 0(a0)
        li a1, 105
        sb a1, 1(a0)
        la a2, code
        la a3, other
        lw a3, 0(a3)
        li a4, 2
again:  la a5, code
        jalr ra, 0(a5)
        sw a3, 0(a2)        # the next time around there is another instruction
        fence.i
        addi a4, a4, -1
        bnez a4, again
        add gp, gp, a6
        vx_tmc zero
code:   addi gp, gp, 7
        ret
other:  addi gp, gp, 100
        .word 0
"""


@pytest.mark.full
def test_it_converts():
    # Converted in one piece, so that loops through blocks are detected.
    rtlil.convert(Machine(small_config(warps=1, threads=1)))


@pytest.mark.full
def test_a_program_runs_over_axi():
    with CommandMachine(SMALL, name="small", engine="amaranth", memory=QUICK) as machine:
        run = run_program(machine, sample("shared memory"), ROOM)
    model = run_model(SMALL, sample("shared memory"), ROOM)
    assert run.memory == model.read(ENTRY, ROOM).tobytes()
    assert run.execution.cycles < 3000


@pytest.mark.full
def test_new_instructions_are_seen_after_a_fence_and_the_host_reads_the_console():
    config = small_config(warps=1, threads=1)
    with CommandMachine(config, name="one", engine="amaranth", memory=QUICK) as machine:
        run = run_program(machine, HELLO, ROOM, console=3)
    assert run.console == b"Hi"
    assert run.exit_codes == [107]


@pytest.fixture(scope="module")
def machine():
    """Return a cluster of two cores with a matrix unit; DRAM is slow and stalls."""
    with CommandMachine(TWO, name="two_cores", optimize=1, memory=SLOW, watchdog=5000) as machine:
        yield machine


@pytest.mark.slow
@pytest.mark.parametrize(
    "options",
    [
        {"gating": "ungated"},
        {"gating": "random"},
        {"gating": "gated", "composed": True, "optimize": 0},
        {"gating": "random", "composed": True, "optimize": 0},
        {"engine": "amaranth"},
    ],
    ids=str,
)
def test_gating_blocks_and_engines_change_nothing(machine, options):
    machine.reset()
    run = run_program(machine, sample("shared memory"), ROOM)
    options = {"name": "two_cores", "optimize": 1, "memory": SLOW} | options
    with CommandMachine(TWO, **options) as other:
        again = run_program(other, sample("shared memory"), ROOM)
    assert (again.memory, again.execution.cycles) == (run.memory, run.execution.cycles)
    assert run.execution.clocked["core0"] < run.execution.cycles


@pytest.mark.slow
def test_the_host_multiplies_while_cores_run(machine):
    machine.reset()
    text = f"""{START}
        la a0, room
        li a1, 60
loop:   lw a2, 0(a0)
        addi a2, a2, 1
        sw a2, 0(a0)
        addi a1, a1, -1
        bnez a1, loop
        {END}
        .word 0
room:   .word 0
"""
    problem = GemmProblem.placed(m=24, n=20, k=40)
    bases = {name: getattr(problem, name) + 0x10_0000 for name in ("a_base", "b_base", "c_base")}
    problem = replace(problem, **bases)  # not in the program's place
    machine.write(ENTRY, image(text, ROOM))
    start = CommandList()
    start.write(CORES_BASE + CORES["start"].offset, 1)
    machine.harness.begin(start.array(), max_cycles=40, watchdog=5000, stop_on_error=True)
    while not machine.harness.state().stop:
        machine.engine.run(machine.harness, 40)
    check = run_gemm(machine, TWO, problem).c_check
    assert check.passed, check


@pytest.mark.slow
@pytest.mark.parametrize(
    "body, sentence",
    [
        ("li a0, 0x10\nlw a1, 0(a0)", "fault UNADDRESSABLE in threads 0x1 of warp 0 at 0x80"),
        (
            "li a0, 0xFF023000\nsw a1, 0(a0)",
            "fault REFUSED in threads 0x1 of warp 0 at 0x800",
        ),
        (".word 0", "fault ILLEGAL in threads 0x1 of warp 0 at 0x80000000"),
    ],
)
def test_a_fault_is_reported(machine, body, sentence):
    machine.reset()
    with pytest.raises(MachineError, match=sentence):
        run_program(machine, body + END, ROOM)


@pytest.mark.slow
def test_command_words_of_cores_reach_the_matrix_unit(machine):
    machine.reset()
    commands = CommandList()
    run = run_program(machine, "csrw 0xACC, zero\nli a0, 63\ncsrw 0xACC, a0" + END, ROOM)
    assert run.exit_codes
    commands.read(0x3038)
    commands.read(0x303C)
    error, word = machine.execute(commands.array()).reads
    assert error & 1 and word in (0, 63)


def test_the_most_ports_of_rtl_are_accepted():
    most = replace(PRESETS["core"], cores=32, core=CoreConfig(threads=32, shared_ports=8))
    require_rtl(most)
    with pytest.raises(UserError, match="must give 32 cores at most 255 ports of shared memory"):
        require_rtl(most, clusters=2)


def test_limits_of_paths():
    with pytest.raises(ValueError, match="transactions must be a power of two, not 3"):
        CoreConfig(transactions=3)
    with pytest.raises(ValueError, match="shared_ports must divide 8 memory lanes, not 3"):
        CoreConfig(shared_ports=3)
    with pytest.raises(ValueError, match="data_width must be at least 64 bits, two instructions"):
        MachineConfig(cores=1, core=CoreConfig(), units=(), axi=AxiConfig(data_width=32))
