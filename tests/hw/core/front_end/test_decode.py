"""Tests of `hw.core.front_end.decode`: every instruction, every reserved word, random words."""

import random

import pytest

from spica.hw.config import CoreConfig
from spica.hw.core.front_end.decode import Decode
from spica.hw.core.front_end.decode_table import RULES
from spica.hw.isa.assembly import assemble
from spica.hw.isa.instructions import INSTRUCTIONS, find
from spica.hw.isa.operations import (
    AtomicOperation,
    ControlOperation,
    IntegerOperation,
    MemoryOperation,
    Port,
    Unit,
)
from spica.hw.isa.transaction_barrier import BarrierOperation
from spica.hw.styles.register_fed.config import RegisterFedConfig
from spica.hw.styles.shared_fed.config import SharedFedConfig
from spica.sim.engine.testbench import require_no_loop, simulate
from spica.sim.golden.core.front_end.decode import decode, is_same


def operands_of(rng, instruction) -> int:
    """Return random operand bits; registers are often x0."""
    free = 0xFFFF_FFFF & ~instruction.mask
    bits = rng.choice([0, free, rng.getrandbits(32), rng.getrandbits(32)])
    for low in (7, 15, 20, 27):
        if rng.random() < 0.2:
            bits &= ~(0x1F << low)
    return bits & free


PLAIN, TENSOR = CoreConfig(), CoreConfig(tensor=RegisterFedConfig())
BARE = CoreConfig(warp_operations=False)
AWAITING = CoreConfig(awaits_units=True)
WIDE, HGMMA = (
    CoreConfig(tensor=RegisterFedConfig(), threads=32),
    CoreConfig(tensor=SharedFedConfig()),
)
ATOMIC = CoreConfig(atomics=True)
ATOMIC_TENSOR = CoreConfig(atomics=True, tensor=RegisterFedConfig())
BARRIERS = CoreConfig(transaction_barriers=True)
TENSOR_WORD = INSTRUCTIONS["hmma"]


def words(rng) -> list[int]:
    """Return every instruction many times, neighbours at one bit's distance, and random words."""
    every_word = [0, 0xFFFF_FFFF]
    for instruction in INSTRUCTIONS.values():
        every_word += [instruction.match | operands_of(rng, instruction) for _ in range(8)]
        every_word += [instruction.match ^ 1 << bit for bit in range(32)]
    opcodes = sorted({instruction.match & 0x7F for instruction in INSTRUCTIONS.values()})
    every_word += [rng.getrandbits(25) << 7 | rng.choice(opcodes) for _ in range(1000)]
    every_word += [rng.getrandbits(32) for _ in range(300)]
    every_word += [rng.getrandbits(25) << 7 | 0x2F for _ in range(20)]
    # Fences one bit from a pause.
    every_word += [INSTRUCTIONS["pause"].match ^ 1 << bit for bit in range(20, 28)]
    return every_word


def run(cases, config=PLAIN):
    """Compare the RTL with the golden model for each of (word, failed)."""
    dut = require_no_loop(Decode(config))
    rng = random.Random(7)

    async def bench(ctx):
        for word, failed in cases:
            pc = rng.getrandbits(30) << 2
            ctx.set(dut.word, word)
            ctx.set(dut.pc, pc)
            ctx.set(dut.failed, failed)
            actual = ctx.get(dut.o.as_value())
            expected = decode(word, pc, failed=failed, config=config)
            assert is_same(actual, expected, config), (
                f"{word:#010x} {find(word)}: {expected}, not {ctx.get(dut.o)}"
            )

    simulate(dut, bench, domains=())


@pytest.mark.parametrize(
    "config",
    [PLAIN, BARE, TENSOR, WIDE, HGMMA, AWAITING, ATOMIC, ATOMIC_TENSOR, BARRIERS],
    ids=[
        *("plain", "bare", "tensor", "wide", "hgmma", "awaiting", "atomic", "atomic_tensor"),
        "barriers",
    ],
)
@pytest.mark.quick(2)
def test_instructions_and_random_words(config):
    run([(word, False) for word in words(random.Random(1))], config)


@pytest.mark.parametrize(
    "config",
    [PLAIN, BARE, TENSOR, HGMMA, AWAITING, ATOMIC, BARRIERS],
    ids=["plain", "bare", "tensor", "hgmma", "awaiting", "atomic", "barriers"],
)
def test_every_instruction_has_been_decoded_as_itself(config):
    """Instructions that the core lacks are illegal for the golden model, no others."""
    for instruction in INSTRUCTIONS.values():
        is_tensor = instruction.unit is Unit.TENSOR
        own = [one for one in RULES.values() if config.executes(one.port, one.operation)]
        tensor = [one.instruction for one in own if one.instruction.unit is Unit.TENSOR]
        matches = any(one.matches(instruction.match) for one in tensor)
        is_missing = instruction.unit is Unit.ATOMIC and not config.atomics
        is_illegal = (is_tensor and not matches) or is_missing
        is_illegal |= instruction.unit is Unit.EXCHANGE and not config.warp_operations
        is_illegal |= instruction.name == "vx_wait" and not config.awaits_units
        is_illegal |= instruction.unit is Unit.BARRIER and not config.transaction_barriers
        decoded = decode(instruction.match, 0, config=config)
        what = (decoded["port"], decoded["operation"])
        assert (what == (Port.CONTROL, ControlOperation.ILLEGAL)) == is_illegal


@pytest.mark.parametrize("name", [n for n, i in INSTRUCTIONS.items() if "rm" in i.operands])
@pytest.mark.quick(7)
def test_reserved_rounding_modes_are_illegal(name):
    instruction = INSTRUCTIONS[name]
    words = [instruction.match | mode << 12 | 1 << 7 for mode in range(8)]
    legal = [decode(w, 0)["operation"] != ControlOperation.ILLEGAL for w in words]
    assert legal == [True] * 5 + [False, False, True]
    run([(word, False) for word in words])


def test_what_could_not_be_fetched():
    rng = random.Random(2)
    run([(word, True) for word in [0, *rng.sample(words(rng), 200)]])


def check_by_hand(config, check):
    """Call `check` with a function that returns the decode result of a line of assembly."""
    dut = Decode(config)

    async def bench(ctx):
        def decoded_word(line):
            ctx.set(dut.word, assemble(line))
            return ctx.get(dut.o)

        check(decoded_word)

    simulate(dut, bench, domains=())


def test_by_hand():
    """Fields computed by hand, in case golden model and RTL share an error."""

    def check(decoded_word):
        o = decoded_word("addi x5, x6, -3")
        assert (o.port, o.operation, o.rd, o.writes) == (Port.INT, IntegerOperation.ADD, 5, 1)
        assert (o.sources[0], o.reads, o.immediate, o.b_is_immediate) == (6, 1, 2**32 - 3, 1)
        o = decoded_word("sub x0, x0, x9")
        assert (o.operation, o.writes, o.sources[1], o.reads) == (IntegerOperation.SUB, 0, 9, 2)
        o = decoded_word("fmadd.s f0, f0, f1, f2, rtz")
        assert (o.rd, o.writes, o.reads, o.rounding) == (32, 1, 7, 1)
        assert [o.sources[k] for k in range(3)] == [32, 33, 34]
        o = decoded_word("vx_tmc x4")
        assert (o.sources[2], o.reads, o.stalls_warp, o.serialises) == (3, 5, 1, 1)
        o = decoded_word("jal x1, -4")
        assert (o.immediate, o.stalls_warp, o.serialises, o.b_is_immediate) == (2**32 - 4, 1, 0, 0)

    check_by_hand(CoreConfig(), check)


def test_barriers_by_hand():
    def check(decoded_word):
        o = decoded_word("mbarrier.arrive.expect_tx x5, x7, x6")
        assert (o.port, o.operation) == (Port.MEMORY, MemoryOperation.BARRIER)
        assert (o.rd, o.writes, o.reads, o.stalls_warp) == (5, 1, 3, 0)
        assert [o.sources[k] for k in range(2)] == [7, 6]
        assert o.immediate >> 5 & 15 == BarrierOperation.ARRIVE_EXPECT_TX
        o = decoded_word("mbarrier.inval x7")
        assert (o.writes, o.reads, o.immediate >> 5 & 15) == (0, 1, BarrierOperation.INVAL)
        o = decoded_word("mbarrier.wait.parity x7, x6")
        assert (o.port, o.operation) == (Port.CONTROL, ControlOperation.BARRIER_WAIT)
        assert (o.writes, o.reads, o.stalls_warp, o.serialises) == (0, 3, 1, 0)

    check_by_hand(BARRIERS, check)


def test_atomics_by_hand():
    def check(decoded_word):
        o = decoded_word("amomaxu.h.aq x5, x6, (x7)")
        assert (o.port, o.operation) == (Port.MEMORY, MemoryOperation.ATOMIC_H)
        assert (o.rd, o.writes, o.reads, o.stalls_warp) == (5, 1, 3, 0)
        assert [o.sources[k] for k in range(2)] == [7, 6]
        assert (o.immediate >> 7 & 31, o.immediate >> 5 & 3) == (AtomicOperation.MAXU, 2)
        o = decoded_word("amocas.w.rl x5, x6, (x7)")
        assert (o.rd, o.writes, o.reads) == (5, 1, 7)
        assert [o.sources[k] for k in range(3)] == [7, 6, 5]
        assert (o.immediate >> 7 & 31, o.immediate >> 5 & 3) == (AtomicOperation.CAS, 1)
        o = decoded_word("amocas.b x0, x6, (x7)")
        assert (o.writes, o.reads) == (0, 3)
        o = decoded_word("lr.w x5, (x7)")
        assert (o.operation, o.writes, o.reads) == (MemoryOperation.ATOMIC_W, 1, 1)
        o = decoded_word("sb.rl x6, (x7)")
        assert (o.operation, o.writes, o.reads) == (MemoryOperation.ATOMIC_B, 0, 3)
        o = decoded_word("pause")
        assert (o.port, o.operation) == (Port.CONTROL, ControlOperation.PAUSE)
        assert (o.stalls_warp, o.serialises, o.reads) == (1, 0, 0)

    check_by_hand(ATOMIC, check)


@pytest.mark.parametrize(
    ("config", "firsts"),
    [(TENSOR, [48, 56]), (WIDE, [48, 52, 56, 60])],
    ids=["tensor", "wide"],
)
def test_register_groups_by_hand(config, firsts):
    dut = Decode(config)

    async def bench(ctx):
        for accumulators in range(32):
            ctx.set(dut.word, TENSOR_WORD.match | accumulators << 7)
            o = ctx.get(dut.o)
            if accumulators >= len(firsts):
                assert (o.port, o.operation) == (Port.CONTROL, ControlOperation.ILLEGAL)
                continue
            first = firsts[accumulators]
            assert (o.port, o.operation, o.rd, o.writes) == (Port.TENSOR, 0, first, 1)
            assert [o.sources[k] for k in range(3)] == [32, 40, first]
            assert (o.reads, o.grouped, o.last) == (7, 15, 16 // len(firsts) - 1)

    simulate(dut, bench, domains=())


def test_hgmma_by_hand():
    def check(decoded_word):
        o = decoded_word("hgmma x5, x6")
        assert (o.port, o.operation, o.rd, o.writes) == (Port.TENSOR, 1, 32, 1)
        assert [o.sources[k] for k in range(3)] == [5, 6, 32]
        assert (o.reads, o.grouped, o.last) == (7, 0b1001, 31)
        o = decoded_word("hgmma_wait")
        assert (o.port, o.operation) == (Port.CONTROL, ControlOperation.HGMMA_WAIT)
        assert (o.stalls_warp, o.serialises, o.last) == (1, 1, 0)
        o = decoded_word("hmma x1")
        assert (o.port, o.operation) == (Port.CONTROL, ControlOperation.ILLEGAL)

    check_by_hand(HGMMA, check)
