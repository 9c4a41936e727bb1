"""Tests of the instruction-set model against QEMU, and against threads that run alone."""

from collections import Counter
from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from bench.oracle.qemu import qemu
from spica.hw.config import CoreConfig
from spica.hw.isa.assembly import disassemble
from spica.hw.isa.memory_map import ENTRY
from spica.hw.isa.program import assemble_program
from spica.hw.presets import PRESETS
from spica.sim.harness.stop_reason import StopReason
from spica.sim.iss.machine import Iss
from support.oracle.qemu_rv32 import Rv32
from support.oracle.simt_thread import Thread, run_threads
from support.programs.scalar import SCALAR_NAMES, WINDOW, WINDOW_BYTES, scalar_program
from support.programs.simt import INPUT, OWN, OWN_BYTES, simt_program

ONE = replace(PRESETS["tiny"], core=CoreConfig(warps=1, threads=1), units=())
CODE_BYTES = 0x10000


class Pair:
    """The model and QEMU, on the same programs."""

    def __init__(self):
        self.iss = Iss(ONE)
        self.iss.allow(ENTRY, CODE_BYTES)
        self.iss.allow(WINDOW, WINDOW_BYTES)
        self.oracle = Rv32((ENTRY, CODE_BYTES), (WINDOW, WINDOW_BYTES))
        self.executed = Counter()

    def load(self, program, data=bytes(WINDOW_BYTES)):
        self.iss.write(ENTRY, np.array(program, "<u4").view(np.uint8))
        self.iss.write(WINDOW, data)
        self.iss.reset()
        self.oracle.load(program, data)

    def differences(self, state):
        """Return the differences to the oracle's state, as text."""
        warp = self.iss.warp(0, 0)
        messages = []
        for letter, ours, theirs in (
            ("x", warp.integers[:, 0], state.integers),
            ("f", warp.floats[:, 0], state.floats),
            ("fcsr", [warp.frm << 5 | warp.fflags], [state.fcsr]),
        ):
            messages += [
                f"{letter}{k} {int(ours[k]):#x}, not {int(theirs[k]):#x}"
                for k in np.flatnonzero(np.asarray(ours) != np.asarray(theirs))
            ]
        memory = self.iss.read(WINDOW, WINDOW_BYTES)
        wrong = np.flatnonzero(memory != np.frombuffer(state.memory, np.uint8))
        return messages + [f"memory at {WINDOW + k:#x}" for k in wrong[:4]]

    def run(self, program):
        """Run a program on both; return the differences at its end."""
        self.load(program.words, program.data)
        state = self.oracle.run(program.end)
        outcome = self.iss.run(1_000_000)
        counts = self.oracle.executed()
        counts[disassemble(program.words[-1])] += 1
        messages = self.differences(state)
        if outcome.stop is not StopReason.DONE:
            messages.append(f"stopped by {outcome.stop}: {outcome.fault}")
        if outcome.instructions != counts.total():
            messages.append(f"{outcome.instructions} instructions, not {counts.total()}")
        if outcome.exit_code & 0xFFFF_FFFF != int(state.integers[3]):
            messages.append(
                f"exit code {outcome.exit_code:#x}, not gp, {int(state.integers[3]):#x}"
            )
        self.executed += counts
        return messages

    def first_difference(self, words, data, end):
        """Step both from the start; return the first instruction that differs, as text."""
        self.load(words, data)
        pc = ENTRY
        while pc != end:
            state = self.oracle.step()
            retired = self.iss.step(0, 0)
            messages = self.differences(state)
            if retired is None or retired.fault is not None or messages:
                word = words[(pc - ENTRY) // 4]
                return f"{pc:#x} {disassemble(word)}: {retired} {', '.join(messages)}"
            pc = state.pc
        return "no difference when stepped"

    def compare(self, seeds, length=150):
        """Run the programs of some seeds until the first difference; show its location."""
        for seed in seeds:
            program = scalar_program(seed, length)
            messages = self.run(program)
            if messages:
                where = self.first_difference(program.words, program.data, program.end)
                pytest.fail(f"seed {seed}: {', '.join(messages[:6])}; first at {where}")


@pytest.fixture(scope="module")
def pair():
    return Pair()


def test_random_programs_end_in_the_state_of_qemu():
    pair = Pair()
    pair.compare(range(120))
    assert pair.executed.total() > 100_000
    # A random fence may have the word of a pause.
    assert set(pair.executed) - {"pause"} == set(SCALAR_NAMES)
    rare = {name: n for name, n in pair.executed.items() if n < 100}
    assert set(rare) <= {"ecall", "ebreak", "pause"}
    # Both deviations of QEMU from the standard occurred and were corrected.
    assert min(pair.oracle.corrections[case] for case in ("minimum", "fused")) > 10


@pytest.mark.slow
def test_ten_million_random_instructions():
    pair = Pair()
    pair.compare(range(10_000, 17_000))
    assert pair.executed.total() > 10_000_000
    assert set(pair.executed) == set(SCALAR_NAMES)
    rare = {name: n for name, n in pair.executed.items() if n < 10_000}
    assert set(rare) <= {"ecall", "ebreak", "pause"}
    assert min(pair.executed[name] for name in ("ecall", "ebreak")) > 3000
    assert min(pair.oracle.corrections[case] for case in ("minimum", "fused")) > 1000


def test_difference_is_traced_to_its_instruction(pair):
    """The search finds an instruction that was changed on one side."""
    program = scalar_program(3)
    pair.run(program)
    executed = {
        (address - ENTRY) // 4 + k for address, size in pair.oracle.blocks for k in range(size // 4)
    }
    place = next(
        k
        for k, word in enumerate(program.words)
        if k > 200 and k in executed and word & 0x7F == 0x37 and word >> 7 & 31
    )
    words = list(program.words)
    words[place] ^= 1 << 31  # another number for `lui`
    original = pair.load

    def load_changed(words_of_both, data):
        original(words_of_both, data)
        pair.iss.write(ENTRY, np.array(words, "<u4").view(np.uint8))

    pair.load = load_changed
    try:
        shown = pair.first_difference(program.words, program.data, program.end)
    finally:
        pair.load = original
    assert shown.startswith(f"{ENTRY + 4 * place:#x} {disassemble(program.words[place])}: ")
    assert pair.first_difference(program.words, program.data, program.end) == (
        "no difference when stepped"
    )


def test_programs_are_the_same_for_a_seed_and_others_for_another():
    assert scalar_program(7) == scalar_program(7)
    assert scalar_program(7) != scalar_program(8)


def test_oracle_is_corrected_as_the_oracle_of_arithmetic_is():
    """Whole programs and loops over arrays need and get the same corrections of QEMU."""
    specials = (0, 0x8000_0000, 0x7F80_0000, 0xFF80_0000, 0x7FC0_0000, 0x7F80_0001, 0x3F80_0000)
    oracle = Rv32((ENTRY, CODE_BYTES), (WINDOW, WINDOW_BYTES))
    for operation in ("fmin.s", "fmax.s", "fmadd.s", "fmsub.s", "fnmadd.s", "fnmsub.s"):
        third = "" if operation in ("fmin.s", "fmax.s") else ", f3"
        for a, b in product(specials, repeat=2):
            operands = (a, b, 0x7FC0_0000) if third else (a, b)
            loads = [f"li t0, {x}\nfmv.w.x f{k}, t0" for k, x in enumerate(operands, 1)]
            program = assemble_program(
                "\n".join(loads) + f"\n{operation} f1, f1, f2{third}\nfadd.s f4, f1, f5\nend: ecall"
            )
            oracle.load(list(program), bytes(WINDOW_BYTES))
            state = oracle.run(program.labels["end"])
            (result,), (flags,) = qemu(operation, *operands)
            # A sum with zero shows that later instructions use the corrected register.
            (total,), _ = qemu("fadd.s", result, 0)
            assert (state.floats[1], state.floats[4], state.fcsr) == (result, total, flags)
    assert min(oracle.corrections[case] for case in ("minimum", "fused")) >= 16


def test_instructions_are_counted_block_by_block():
    oracle = Rv32((ENTRY, CODE_BYTES), (WINDOW, WINDOW_BYTES))
    program = assemble_program(
        "li a0, 5\nloop: addi a0, a0, -1\nbnez a0, loop\nj end\nxor a0, a0, a0\nend: ecall"
    )
    oracle.load(list(program), bytes(WINDOW_BYTES))
    oracle.run(program.labels["end"])
    assert oracle.executed() == {"addi": 6, "bne": 5, "jal": 1}


#: Cores, warps, threads: the smallest, odd ones, wide ones.
SHAPES = ((1, 1, 1), (1, 1, 8), (1, 4, 4), (2, 2, 4), (1, 3, 5), (3, 2, 2), (1, 1, 32), (2, 4, 8))


def machine_of(shape, scope="cluster", divergent_branch="error"):
    cores, warps, threads = shape
    core = CoreConfig(warps=warps, threads=threads, divergent_branch=divergent_branch)
    return replace(PRESETS["tiny"], cores=cores, core=core, barrier_scope=scope, units=())


def threads_of(program, config, memory):
    """Return every thread of a machine, with the control registers it sees."""
    threads = []
    places = product(range(config.cores), range(config.core.warps), range(config.core.threads))
    for core, warp, lane in places:
        hart = (core << config.core.warp_width | warp) << config.core.thread_width | lane
        csrs = {
            **{"thread_id": lane, "warp_id": warp, "core_id": core, "mhartid": hart},
            **{"num_warps": config.core.warps, "num_threads": config.core.threads},
            **{"num_cores": config.cores, "thread_mask": 0},
        }
        threads.append(Thread(list(program.program), memory, program.memory[0], csrs))
    return threads


def expected_memory(program, config):
    """Return memory after each thread ran alone, and the threads."""
    start, size = program.memory
    memory = bytearray(size)
    memory[INPUT - start : INPUT - start + len(program.inputs)] = program.inputs
    threads = threads_of(program, config, memory)
    run_threads(threads)
    return np.frombuffer(memory, np.uint8), threads


def run_on(iss, program):
    """Run a program on the model; return the outcome and memory."""
    start, size = program.memory
    iss.allow(ENTRY, len(program.program.data))
    iss.allow(start, size)
    iss.write(start, bytes(size))
    iss.write(ENTRY, program.program.data)
    iss.write(INPUT, program.inputs)
    iss.reset()
    outcome = iss.run(5_000_000)
    return outcome, np.asarray(iss.read(start, size))


def thread_instructions(config, threads):
    """Return the instructions of active lanes; at first only lanes 0, or one lane, run."""
    count = len(threads)
    alone = sum(thread.instructions for thread in threads)
    lanes_of_zero = config.cores * config.core.warps
    return alone - 4 * (count - config.cores) - 2 * (count - lanes_of_zero)


def check_program(seed, config, counts):
    """Run one program in both schedules; compare memory and the lanes' instructions."""
    program = simt_program(seed, config)
    expected, threads = expected_memory(program, config)
    for schedule in ("round_robin", "random"):
        iss = Iss(config, schedule=schedule, seed=seed)
        outcome, memory = run_on(iss, program)
        assert outcome.stop is StopReason.DONE, f"seed {seed}: {outcome}"
        wrong = np.flatnonzero(memory != expected)
        harts = sorted({(program.memory[0] + k - OWN) // OWN_BYTES for k in wrong.tolist()})
        assert not harts, f"seed {seed}, {config.core}: harts {harts}\n{program.text}"
        statistics = iss.statistics
        assert statistics.thread_instructions == thread_instructions(config, threads), seed
        for name in ("instructions", "divergent_splits", "barriers"):
            counts[name] += getattr(statistics, name)


def check(seeds, shapes, divergent_branch="error"):
    """Run programs on machines of every shape, with both barrier scopes; return the counts."""
    counts = Counter()
    for seed in seeds:
        scope = ("cluster", "core")[seed // len(shapes) % 2]
        check_program(seed, machine_of(shapes[seed % len(shapes)], scope, divergent_branch), counts)
    return counts


@pytest.mark.full
def test_each_thread_computes_what_it_computes_alone():
    counts = check(range(112), SHAPES)
    assert counts["instructions"] > 200_000
    assert counts["divergent_splits"] > 2000
    assert counts["barriers"] > 2000


def test_branches_that_agree_are_the_same_under_either_rule():
    counts = check(range(200, 216), SHAPES, "vortex")
    assert counts["divergent_splits"] > 300


@pytest.mark.slow
def test_thousands_of_random_programs():
    shapes = (*SHAPES, (4, 8, 8), (1, 32, 2), (4, 3, 31), (2, 7, 3))
    counts = check(range(1000, 2800), shapes)
    assert counts["divergent_splits"] > 100_000
