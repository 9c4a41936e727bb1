"""Tests of atomic instructions in the instruction-set model: order, reservations, faults."""

import random
import re

import numpy as np
import pytest

from spica.base.errors import UserError
from spica.hw.config.rtl_support import require_rtl
from spica.hw.isa.assembly import INTEGER_NAMES
from spica.hw.isa.instructions import INSTRUCTIONS, SPELLINGS
from spica.hw.isa.memory_map import (
    CONSOLE_BASE,
    COUNTER_DUMP,
    DRAM_BASE,
    ENTRY,
    MATRIX_BASE,
    SHARED_BASE,
)
from spica.hw.isa.operations import AtomicOperation, Unit
from spica.hw.isa.program import assemble_program
from spica.sim.golden.memory.atomic.atomic_unit import atomic_operation
from spica.sim.harness.stop_reason import StopReason
from spica.sim.iss.machine import Iss
from spica.sim.iss.outcome import Cause
from spica.sim.iss.program_bench import END, OLD, START, give, lanes_of, machine, small_config

A0, A1, A2, A3 = map(INTEGER_NAMES.index, ("a0", "a1", "a2", "a3"))
DATA = 0x8010_0000
THREADS = 8
ATOMICS = [name for name, one in INSTRUCTIONS.items() if one.unit is Unit.ATOMIC]
#: Operands of the instructions: address in a0, rs2 in a1, rd in a2.
REGISTERS = {"rd": "a2", "rs2": "a1", "rs1": "a0"}
PAIR = ["lr.w", "sc.w"]
CORNERS = (0, 1, 0x7F, 0x80, 0xFF, 0x7FFF, 0x8000, 0xFFFF, 0x7FFF_FFFF, 0x8000_0000, 0xFFFF_FFFF)


def line_of(spelling, **registers):
    """Return the assembly of an atomic instruction; `registers` replace those of `REGISTERS`."""
    chosen = REGISTERS | registers
    syntax = SPELLINGS[spelling][0].syntax
    return f"{spelling} {re.sub(r'[a-z]+[0-9]?', lambda one: chosen[one[0]], syntax)}"


def operation_of(name):
    """Return operation and size of an instruction."""
    match = INSTRUCTIONS[name].match
    return AtomicOperation(match >> 27), match >> 12 & 7


def model(text, **config):
    config = {"threads": THREADS, "warps": 2} | config
    return machine(text, atomics=True, **config)


def word_at(iss, address):
    return int(iss.read(address, 4).view(np.uint32)[0])


def set_word(iss, address, value):
    iss.write(address, np.array([value], "<u4").view(np.uint8))


class Sequential:
    """Memory of a few words on which lanes execute one after the other, and reservations."""

    def __init__(self, contents):
        self.contents = bytearray(contents)
        self.reserved = {}

    def execute(self, name, lane, offset, operand, old_rd):
        """Execute a lane's operation; return its result."""
        operation, size = operation_of(name)
        span = slice(offset, offset + (1 << size))
        old = int.from_bytes(self.contents[span], "little")
        held = self.reserved.get(lane) == offset & ~3
        if operation in (AtomicOperation.SC, AtomicOperation.LR):
            self.reserved.pop(lane, None)
        if operation == AtomicOperation.SC and not held:
            return 1
        if operation == AtomicOperation.LR:
            self.reserved[lane] = offset & ~3
        new, result = atomic_operation(operation, size, old, operand, old_rd)
        if new is not None:
            self.contents[span] = new.to_bytes(1 << size, "little")
            for other, word in list(self.reserved.items()):
                if word == offset & ~3:
                    del self.reserved[other]
        return result


@pytest.mark.parametrize("place", [DATA, SHARED_BASE + 64])
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.quick(2)
def test_lanes_on_few_words_execute_in_their_order(place, seed):
    """Random operations of random lanes on four words; rd, x0 included, is any register."""
    rng = random.Random(seed)
    names = [spelling for name in ATOMICS for spelling in INSTRUCTIONS[name].mnemonics]
    chosen = [one for _ in range(300) for one in rng.choice([[rng.choice(names)], PAIR, PAIR])]
    registers = [rng.choice(("a2", "a1", "a0", "zero")) for _ in chosen]
    lines = [line_of(name, rd=rd) for name, rd in zip(chosen, registers, strict=True)]
    iss = model("\n".join(lines))
    before = bytes(rng.getrandbits(8) for _ in range(16))
    iss.write(place, np.frombuffer(before, np.uint8))
    reference = Sequential(before)
    conditional, offsets = [0, 0], [0] * THREADS
    for number, (spelling, rd) in enumerate(zip(chosen, registers, strict=True)):
        name = SPELLINGS[spelling][0].name
        step = 1 << operation_of(name)[1]
        if name != "sc.w" or rng.random() < 0.2:
            offsets = [rng.randrange(0, 16, step) for _ in range(THREADS)]
        offsets = [offset & -step for offset in offsets]
        operands, others = (
            [rng.choice([*CORNERS, rng.getrandbits(32)]) for _ in range(THREADS)] for _ in range(2)
        )
        addresses = [place + offset for offset in offsets]
        old_rds = {"a0": addresses, "a1": operands, "a2": others, "zero": [0] * THREADS}[rd]
        mask = rng.choice([0xFF, rng.randrange(1, 256)])
        give(iss, {A0: addresses, A1: operands, A2: others}, mask=mask, pc=ENTRY + 4 * number)
        retired = iss.step(0, 0)
        assert retired.fault is None, retired.fault.sentence
        expected = list(old_rds)
        for lane in range(THREADS):
            if mask >> lane & 1:
                values = (name, lane, offsets[lane], operands[lane], old_rds[lane])
                expected[lane] = reference.execute(*values)
                if name == "sc.w":
                    conditional[expected[lane]] += 1
        assert iss.read(place, 16).tobytes() == bytes(reference.contents), lines[number]
        if rd != "zero" and "rd" in INSTRUCTIONS[name].operands:
            assert lanes_of(iss, INTEGER_NAMES.index(rd)) == expected, lines[number]
            assert retired.values.tolist() == expected
    assert min(conditional) > 10


@pytest.mark.parametrize("name", ATOMICS)
@pytest.mark.quick(3)
def test_only_active_lanes_have_an_effect(name):
    iss = model(line_of(name))
    addresses = [DATA + 4 * lane for lane in range(THREADS)]
    before = np.arange(4 * THREADS, dtype=np.uint8) + 100
    iss.write(DATA, before)
    mask = 0b0101_0010
    # Inactive lanes would fault.
    places = [address if mask >> lane & 1 else 3 for lane, address in enumerate(addresses)]
    give(iss, {A0: places, A1: [7] * THREADS}, mask=mask)
    assert iss.step(0, 0).fault is None
    after = iss.read(DATA, 4 * THREADS)
    for lane in range(THREADS):
        span = slice(4 * lane, 4 * lane + 4)
        if not mask >> lane & 1:
            assert after[span].tolist() == before[span].tolist()
            assert lanes_of(iss, A2)[lane] == OLD + A2


# Reservations


def reserved(text="lr.w a2, (a0)\nsc.w a2, a1, (a0)\nsc.w a2, a1, (a0)", address=DATA):
    """Return a model whose lane 0 has reserved a word."""
    iss = model(text, cores=2)
    give(iss, {A0: address, A1: 5}, mask=1)
    iss.step(0, 0)
    return iss


def succeeds(iss):
    """Return whether the next store-conditional of lane 0 writes."""
    result = iss.step(0, 0).values[0]
    assert result in (0, 1)
    return result == 0


def test_a_reservation_serves_one_store_conditional():
    iss = reserved()
    assert [succeeds(iss), succeeds(iss)] == [True, False]
    assert word_at(iss, DATA) == 5


def test_a_store_conditional_elsewhere_ends_the_reservation():
    iss = reserved("lr.w a2, (a0)\nsc.w a2, a1, (a3)\nsc.w a2, a1, (a0)")
    give(iss, {A0: DATA, A1: 5, A3: DATA + 4}, mask=1, pc=ENTRY + 4)
    assert [succeeds(iss), succeeds(iss)] == [False, False]
    assert (word_at(iss, DATA), word_at(iss, DATA + 4)) == (0, 0)


def test_only_the_latest_load_reserves():
    iss = model("lr.w a2, (a0)\nlr.w a2, (a3)\nsc.w a2, a1, (a0)\nsc.w a2, a1, (a3)")
    give(iss, {A0: DATA, A1: 5, A3: DATA + 4}, mask=1)
    iss.step(0, 0), iss.step(0, 0)
    assert not succeeds(iss)


#: Stores of another warp by whether they end the reservation of `DATA`; a0 is `DATA`, a1 is 0,
#: which the word contains.
OTHERS = {
    "sb a1, 3(a0)": True,
    "sw a1, 4(a0)": False,
    "sb a1, -1(a0)": False,
    "amoadd.w zero, a1, (a0)": True,
    "amocas.w zero, a1, (a0)": True,
    "amocas.w a0, a1, (a0)": False,  # it does not write
    "sw.rl a1, (a0)": True,
    "lw.aq a2, (a0)": False,
    "lr.w a2, (a0)": False,
    "sc.w a2, a1, (a0)": False,  # without a reservation it does not write
    "lw a2, 0(a0)": False,
}


@pytest.mark.parametrize("line", OTHERS)
@pytest.mark.parametrize(("core", "warp"), [(0, 1), (1, 0)])
@pytest.mark.quick(6)
def test_what_ends_the_reservation_of_another_thread(line, core, warp):
    iss = reserved(f"lr.w a2, (a0)\nsc.w a2, a1, (a0)\n{line}")
    give(iss, {A0: DATA, A1: 0}, core=core, warp=warp, mask=0b10, pc=ENTRY + 8)
    assert iss.step(core, warp).fault is None
    assert succeeds(iss) != OTHERS[line]


def test_stores_of_several_lanes_end_reservations_of_their_words_only():
    iss = reserved("lr.w a2, (a0)\nsc.w a2, a1, (a0)\nsw a1, 0(a0)")
    lanes = [DATA - 4, DATA + 4, *(DATA + 64 + 4 * lane for lane in range(2, THREADS))]
    give(iss, {A0: lanes}, warp=1, pc=ENTRY + 8)
    iss.step(0, 1)
    assert succeeds(iss)


def test_a_write_of_the_host_ends_reservations_of_its_words():
    iss = reserved("lr.w a2, (a0)\nsc.w a2, a1, (a0)\nlr.w a2, (a0)\nsc.w a2, a1, (a0)", DATA + 8)
    iss.write(DATA + 12, b"a")
    iss.write(DATA + 7, b"a")
    assert succeeds(iss)
    iss.step(0, 0)
    iss.write(DATA + 6, b"\0\0\5")  # the last byte is in the word, and equal
    assert not succeeds(iss)


def test_one_lane_of_a_warp_wins_a_word():
    iss = model("lr.w a2, (a0)\nsc.w a3, a1, (a0)")
    give(iss, {A0: DATA, A1: range(10, 18)}, mask=0b1010_1100)
    iss.step(0, 0), iss.step(0, 0)
    assert word_at(iss, DATA) == 12
    assert lanes_of(iss, A3) == [OLD + A3] * 2 + [0, 1, OLD + A3, 1, OLD + A3, 1]


def test_a_reset_ends_reservations():
    iss = reserved()
    iss.reset()
    give(iss, {A0: DATA, A1: 5}, mask=1, pc=ENTRY + 4)
    assert not succeeds(iss)


def test_reservations_are_part_of_a_saved_state():
    iss = reserved()
    saved = iss.native.save()
    other = model("nop", cores=2)
    other.native.restore(saved)
    assert succeeds(other)


# Faults

WINDOW = SHARED_BASE + small_config().shared.size
REFUSED = {
    "console": (CONSOLE_BASE, Cause.OUTSIDE_MEMORY, "the console, which has only stores"),
    "register": (
        WINDOW + MATRIX_BASE,
        Cause.OUTSIDE_MEMORY,
        "a unit register, which has only loads and stores",
    ),
    "print buffer": (WINDOW, Cause.OUTSIDE_MEMORY, "neither DRAM nor shared memory"),
    "counters": (COUNTER_DUMP, Cause.OUTSIDE_MEMORY, "neither DRAM nor shared memory"),
    "below": (DRAM_BASE - 4, Cause.OUTSIDE_MEMORY, "neither DRAM nor shared memory"),
    "not placed": (DATA + 4096, Cause.OUTSIDE_MEMORY, "outside all placed regions"),
}


@pytest.mark.parametrize("place", REFUSED)
@pytest.mark.parametrize("name", ["amoadd.w", "amocas.h", "lr.w", "sc.w", "lb.aq", "sh.rl"])
@pytest.mark.quick(8)
def test_addresses_without_atomics_are_faults(name, place):
    address, cause, says = REFUSED[place]
    iss = model(line_of(name), cores=1)
    iss.allow(DATA, 4096)
    iss.allow(ENTRY, 4096)
    places = [DATA, DATA + 4, address, address, *[DATA] * 4]
    give(iss, {A0: places, A1: [1] * THREADS}, mask=0xFF)
    fault = iss.step(0, 0).fault
    assert (fault.cause, fault.address, fault.lanes) == (cause, address, 0b1100)
    assert says in fault.sentence and name in fault.sentence
    assert not iss.read(DATA, 64).any()  # no lane before it had an effect
    assert lanes_of(iss, A2) == [OLD + A2] * THREADS


@pytest.mark.parametrize(
    ("name", "offset"),
    [("amoadd.w", 1), ("amoswap.w", 2), ("amoor.h", 1), ("lr.w", 2), ("sc.w", 3), ("lh.aq", 1)],
)
@pytest.mark.parametrize("place", [DATA, SHARED_BASE, CONSOLE_BASE])
@pytest.mark.quick(3)
def test_misaligned_atomics_are_faults(name, offset, place):
    iss = model(line_of(name))
    give(iss, {A0: place + offset, A1: 1}, mask=0b100)
    fault = iss.step(0, 0).fault
    assert (fault.cause, fault.address) == (Cause.MISALIGNED_ACCESS, place + offset)


@pytest.mark.parametrize("name", ATOMICS)
@pytest.mark.quick(3)
def test_a_core_without_atomics_refuses_them(name):
    iss = machine(line_of(name))
    give(iss, {A0: DATA, A1: 1})
    fault = iss.step(0, 0).fault
    assert fault.cause is Cause.ILLEGAL_INSTRUCTION
    assert "atomic instruction" in fault.sentence and "is not supported" in fault.sentence


@pytest.mark.parametrize("atomics", [False, True])
def test_a_reserved_word_of_the_opcode_is_illegal(atomics):
    iss = machine(f".word {INSTRUCTIONS['amoadd.w'].match | 3 << 12:#x}", atomics=atomics)
    give(iss, {})
    fault = iss.step(0, 0).fault
    assert fault.cause is Cause.ILLEGAL_INSTRUCTION
    assert ("is not supported" in fault.sentence) == (not atomics)


@pytest.mark.parametrize(("atomics", "counted"), [(False, "fence"), (True, "pause")])
def test_a_pause_is_a_fence_of_cores_without_it(atomics, counted):
    iss = machine("pause", atomics=atomics)
    give(iss, {}, mask=1)
    assert iss.step(0, 0).fault is None
    assert iss.statistics.mnemonics == {counted: 1}


# Programs, with and without checks

HISTOGRAM = """
        la a0, bins
        csrr a1, mhartid
        andi a2, a1, 3
        slli a2, a2, 2
        add a0, a0, a2
        li a3, 1
        amoadd.w zero, a3, (a0)
        amomaxu.w zero, a1, (a0)"""
#: Every thread of every core and warp takes a ticket, then a lock of lr and sc, one lane at a time.
LOCK = """
        la a0, lock
        la a3, counter
        csrr t0, thread_id
        li t1, 0
lanes:  sub t2, t0, t1
        sltiu t2, t2, 1
        vx_split t3, t2, zero
        beq t2, zero, past
again:  lr.w.aq a1, (a0)
        bne a1, zero, again
        li a2, 1
        sc.w a1, a2, (a0)
        bne a1, zero, again
        lw a4, 0(a3)
        addi a4, a4, 1
        sw a4, 0(a3)
        amoswap.w.rl zero, zero, (a0)
past:   vx_join t3
        addi t1, t1, 1
        li t2, 4
        bne t1, t2, lanes"""


def run_program(text, *, schedule="round_robin", seed=1, checks=False, cores=2):
    """Run code as every thread; return the model and how it ended."""
    data = "\n.word 0\nlock: .word 0\ncounter: .word 0\nbins: .word 0, 0, 0, 0\n"
    program = assemble_program(START + text + END + data)
    config = small_config(cores=cores, warps=4, threads=4, atomics=True)
    iss = Iss(config, schedule=schedule, seed=seed, checks_races=checks, checks_memory=checks)
    iss.write(ENTRY, program.data)
    return iss, iss.run(1_000_000), program.labels


@pytest.mark.parametrize("schedule", ["round_robin", "random"])
@pytest.mark.parametrize("checks", [False, True])
def test_threads_of_all_cores_update_words(schedule, checks):
    text = HISTOGRAM.replace("amomaxu.w zero, a1, (a0)", "")
    iss, outcome, labels = run_program(text, schedule=schedule, checks=checks)
    assert outcome.stop is StopReason.DONE, outcome
    assert iss.read(labels["bins"], 16).view(np.uint32).tolist() == [8] * 4


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("checks", [False, True])
@pytest.mark.quick(2)
def test_a_lock_of_reservations_excludes_others(seed, checks):
    """With races checked too: acquire and release order the plain accesses of the counter."""
    iss, outcome, labels = run_program(LOCK, schedule="random", seed=seed, checks=checks)
    assert outcome.stop is StopReason.DONE, outcome.fault
    assert word_at(iss, labels["counter"]) == 32
    assert word_at(iss, labels["lock"]) == 0


@pytest.mark.parametrize("after", [".rl", ""])
@pytest.mark.parametrize("before", [".aq", ""])
def test_a_lock_without_its_ordering_is_a_race(before, after):
    text = LOCK.replace("lr.w.aq", f"lr.w{before}").replace("amoswap.w.rl", f"amoswap.w{after}")
    _, outcome, _ = run_program(text, schedule="random", checks=True)
    is_ordered = before and after
    assert outcome.stop is (StopReason.DONE if is_ordered else StopReason.FAULT)
    assert is_ordered or outcome.fault.cause is Cause.RACE


def test_an_atomic_load_of_unwritten_memory_is_found():
    config = small_config(cores=1, atomics=True)
    iss = Iss(config, checks_memory=True)
    text = f"li a0, {SHARED_BASE}\namoadd.w a1, zero, (a0)\namoadd.w a2, a1, (a0)"
    iss.write(ENTRY, assemble_program(text + END).data)
    assert iss.run().stop is StopReason.DONE
    (finding,) = iss.memory_check.findings()
    assert finding.address == SHARED_BASE


def test_rtl_refuses_atomics():
    with pytest.raises(UserError, match=r"core\.atomics must be False in RTL, not True"):
        require_rtl(small_config(atomics=True))
