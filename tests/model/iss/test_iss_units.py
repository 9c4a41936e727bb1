"""Tests of arithmetic of the instruction-set model in every lane: QEMU and golden models."""

from itertools import product

import numpy as np
import pytest

from bench.oracle.qemu import OPERATIONS, qemu
from bench.units.operands.floats import random_bits
from spica.hw.config.formats import FP16, FP32
from spica.hw.isa.assembly import INTEGER_NAMES
from spica.hw.isa.encoding import RegisterClass
from spica.hw.isa.memory_map import ENTRY, SHARED_BASE
from spica.hw.styles.register_fed.config import RegisterFedConfig
from spica.hw.styles.shared_fed.config import SharedFedConfig
from spica.sim.golden.styles.shared_fed import hgmma as tiles
from spica.sim.golden.styles.shared_fed.operand_layout import operand_places, swizzled
from spica.sim.iss.outcome import Cause
from spica.sim.iss.program_bench import OLD, give, lanes_of, machine
from support.core.hgmma_operands import random_tiles
from support.oracle.simt_thread import INTEGER
from support.programs.corner_operands import INTEGERS

A0, A1, A2 = map(INTEGER_NAMES.index, ("a0", "a1", "a2"))


def step(iss):
    retired = iss.step(0, 0)
    assert retired.fault is None, retired.fault.sentence


def column(rng, kind, count):
    """Return operands of one register file."""
    if kind == "f":
        return random_bits(rng, FP32, count)
    return rng.integers(0, 1 << 32, count, dtype=np.uint32) >> rng.integers(0, 32, count)


@pytest.mark.parametrize("name", INTEGER)
def test_integer_instructions_on_every_pair_of_borders(name):
    pairs = np.array(list(product(INTEGERS, repeat=2)), np.uint32)
    iss = machine(f"{name} a2, a0, a1", threads=32)
    for first in range(0, len(pairs), 32):
        a, b = np.resize(pairs[first : first + 32], (32, 2)).T
        give(iss, {A0: a, A1: b})
        step(iss)
        operands = zip(a.tolist(), b.tolist(), strict=True)
        right = [int(INTEGER[name](x, y)) & 0xFFFF_FFFF for x, y in operands]
        assert lanes_of(iss, A2) == right


@pytest.mark.parametrize("threads", [5, 32])
@pytest.mark.parametrize("name", OPERATIONS)
@pytest.mark.quick(15)
def test_float_instructions_are_those_of_qemu_in_every_lane(name, threads):
    """Each lane has its own operands; flags of the active lanes are combined."""
    (_, count), source, target = OPERATIONS[name]
    rng = np.random.default_rng(threads)
    texts = [f"{source}{10 + k}" for k in range(count)]
    iss = machine(f"{name} {target}5, {', '.join(texts)}", threads=threads)
    for turn in range(60):
        mode, mask = turn % 5, int(rng.integers(1, 1 << threads))
        columns = [column(rng, source, threads) for _ in range(count)]
        offset = 32 if source == "f" else 0
        give(iss, {offset + 10 + k: values for k, values in enumerate(columns)}, mask=mask)
        iss.set_warp(0, 0, frm=mode, fflags=0)
        step(iss)
        active = mask >> np.arange(threads) & 1 == 1
        results, flags = qemu(name, *columns, rounding=mode)
        row = 5 + (32 if target == "f" else 0)
        right = np.where(active, results, OLD + row)
        assert lanes_of(iss, row) == right.tolist()
        assert iss.warp(0, 0).fflags == np.bitwise_or.reduce(flags[active])


def halves(rng, *shape):
    """Return stored FP16 numbers: mostly of medium size, some of every class."""
    some = random_bits(rng, FP16, int(np.prod(shape))).reshape(shape)
    middling = rng.normal(size=shape).astype(np.float16).view(np.uint16)
    return np.where(rng.random(shape) < 0.05, some, middling).astype(np.uint16)


def singles(rng, *shape):
    return rng.normal(size=shape).astype(np.float32).view(np.uint32)


def hgmma_machine(text, seed, values=None, mask=-1):
    """Return a model with operands of ``hgmma`` at a0 and a1, and A, B and C."""
    rng = np.random.default_rng(seed)
    iss = machine(text, threads=8, tensor=SharedFedConfig())
    a, b, registers = halves(rng, 16, 32), halves(rng, 32, 16), singles(rng, 32, 8)
    at_a, at_b = SHARED_BASE + 64, SHARED_BASE + 4096
    iss.write(at_a, a)
    iss.write(at_b, b)
    give(iss, {A0: at_a, A1: at_b, **(values or {})}, mask=mask)
    iss.set_warp(0, 0, floats=registers)
    return iss, a, b, registers


def test_hgmma_is_the_golden_model_s():
    for seed in range(10):
        iss, a, b, registers = hgmma_machine("hgmma a0, a1\nhgmma_wait", seed)
        retired = iss.step(0, 0)
        expected = tiles.hgmma(a, b, registers)
        assert np.array_equal(iss.warp(0, 0).floats, expected)
        assert retired.rd == (RegisterClass.FLOAT, 31)
        assert np.array_equal(np.vstack([retired.earlier, retired.values]), expected)
        step(iss)
        assert np.array_equal(iss.warp(0, 0).floats, expected)


def test_products_of_a_warp_accumulate_and_one_wait_is_for_all():
    iss, a, b, registers = hgmma_machine(
        "hgmma a0, a1\nhgmma a0, a1\nhgmma_wait\nhgmma_wait", seed=5
    )
    first = tiles.hgmma(a, b, registers)
    second = tiles.hgmma(a, b, first)
    for right in (first, second, second):
        step(iss)
        assert np.array_equal(iss.warp(0, 0).floats, right)
    assert iss.step(0, 0).fault.cause is Cause.BAD_WAIT


def test_operands_of_hgmma_are_those_of_the_last_active_lane():
    values = {A0: [4] * 7 + [SHARED_BASE + 64], A1: [4] * 7 + [SHARED_BASE + 4096]}
    iss, a, b, registers = hgmma_machine("hgmma a0, a1", 6, values)
    step(iss)
    assert np.array_equal(iss.warp(0, 0).floats, tiles.hgmma(a, b, registers))


@pytest.mark.parametrize("mask", [0b0111_1111, 0b1111_1110, 0b0110_1001, 1])
@pytest.mark.parametrize("text", ["hgmma a0, a1", "hgmma_wait"])
def test_hgmma_needs_all_threads(text, mask):
    """The model changes nothing, and its message counts the threads."""
    iss, *_ = hgmma_machine(f"hgmma a0, a1\n{text}", 7)
    step(iss)
    before = iss.warp(0, 0).floats
    iss.set_warp(0, 0, mask=mask)
    fault = iss.step(0, 0).fault
    assert (fault.cause, fault.pc, fault.lanes) == (Cause.INACTIVE_THREADS, ENTRY + 4, mask)
    assert "needs all 8 threads of its warp" in fault.sentence
    assert np.array_equal(iss.warp(0, 0).floats, before)


@pytest.mark.parametrize("threads", [8, 32])
def test_hmma_needs_all_threads(threads):
    iss = machine("hmma x0", threads=threads, tensor=RegisterFedConfig())
    for lane in range(threads):
        mask = (1 << threads) - 1 & ~(1 << lane)
        iss.set_warp(0, 0, pc=ENTRY, mask=mask)
        fault = iss.step(0, 0).fault
        assert (fault.cause, fault.lanes) == (Cause.INACTIVE_THREADS, mask)
        assert f"needs all {threads} threads of its warp" in fault.sentence


STORE = "hgmma a0, a1\nsw a3, 0(a2)\nhgmma_wait\nsw a3, 0(a2)"


@pytest.mark.parametrize("offset", [64, 64 + 1020, 4096, 4096 + 1020])
def test_a_store_to_an_operand_before_the_wait_is_a_race(offset):
    places = [0x8010_0000] * 4 + [SHARED_BASE + offset] + [0x8010_0000] * 3
    iss, *_ = hgmma_machine(STORE, 8, {A2: places})
    step(iss)
    fault = iss.step(0, 0).fault
    assert (fault.cause, fault.pc, fault.warp) == (Cause.RACE, ENTRY + 4, 0)
    assert (fault.lanes, fault.address) == (0b1_0000, SHARED_BASE + offset)
    assert f"{ENTRY:#010x}" in fault.sentence  # the product's pc


@pytest.mark.parametrize("offset", [60, 64 + 1024, 4092, 4096 + 1024])
def test_stores_beside_operands_and_after_the_wait_are_not(offset):
    iss, *_ = hgmma_machine(STORE, 9, {A2: SHARED_BASE + offset})
    for _ in range(3):
        step(iss)
    give(iss, {A2: SHARED_BASE + 64}, pc=ENTRY + 12)
    step(iss)


CHAIN = "hgmma a0, a1\nhgmma a4, a5\nsw a3, 0(a2)\nhgmma_wait"
OTHERS = {A0 + 4: SHARED_BASE + 8192, A0 + 5: SHARED_BASE + 9216}


def test_the_next_product_ends_the_use_of_operands():
    iss, *_ = hgmma_machine(CHAIN, 13, {A2: SHARED_BASE + 64, **OTHERS})
    step(iss)
    step(iss)
    iss.write(SHARED_BASE + 4096, bytes(100))
    step(iss)
    step(iss)


@pytest.mark.parametrize(
    ("text", "steps", "place", "at"), [(STORE, 1, 4096 + 1000, 8), (CHAIN, 0, 64, 4)]
)
def test_the_wait_and_the_next_product_report_an_operand_that_a_unit_wrote(text, steps, place, at):
    iss, *_ = hgmma_machine(text, 10, {A2: 0x8010_0000, **OTHERS})
    step(iss)
    iss.write(SHARED_BASE + place, bytes(100))
    for _ in range(steps):
        step(iss)
    fault = iss.step(0, 0).fault
    assert (fault.cause, fault.pc, fault.address) == (Cause.RACE, ENTRY + at, SHARED_BASE + place)


def test_operands_of_the_next_product_are_held():
    iss, *_ = hgmma_machine(CHAIN, 15, {A2: SHARED_BASE + 8192, **OTHERS})
    step(iss)
    step(iss)
    assert iss.step(0, 0).fault.cause is Cause.RACE


def test_a_snapshot_keeps_the_operands_of_products():
    iss, *_ = hgmma_machine(STORE, 11, {A2: SHARED_BASE + 64})
    step(iss)
    saved = iss.native.save()
    assert iss.step(0, 0).fault.cause is Cause.RACE
    iss.reset()
    assert iss.native.restore(saved)
    assert iss.step(0, 0).fault.cause is Cause.RACE


def test_a_warp_that_ends_drops_its_products():
    text = "hgmma a0, a1\nvx_tmc zero\nsw a3, 0(a2)\nhgmma_wait"
    iss, *_ = hgmma_machine(text, 12)
    step(iss)
    step(iss)
    give(iss, {A2: SHARED_BASE + 64}, pc=ENTRY + 8)
    step(iss)
    assert iss.step(0, 0).fault.cause is Cause.BAD_WAIT


def swizzled_machine(operand, text, place_a, place_b, seed=12):
    """Return a model with operands in rows of 128 bytes, and A, B and C."""
    config = SharedFedConfig(numerics="nvidia(hopper)", operand=operand, layout="swizzle128")
    iss = machine(text, threads=8, tensor=config)
    memory, registers = random_tiles(config, np.random.default_rng(seed), 1)
    for place, is_a, operand_bytes in ((place_a, True, memory[0]), (place_b, False, memory[1])):
        for address, byte in zip(
            operand_places(config, place, is_a), operand_bytes[0], strict=True
        ):
            iss.write(int(address), bytes([byte]))
    give(iss, {A0: place_a, A1: place_b}, mask=-1)
    iss.set_warp(0, 0, floats=registers[0])
    a, b = tiles.hgmma_operands(memory[0, 0], memory[1, 0], config)
    return iss, tiles.hgmma(a, b, registers[0], config)


@pytest.mark.parametrize("operand", ["fp16", "tf32"])
@pytest.mark.parametrize(("at_a", "at_b"), [(0, 64), (128 * 3 + 64, 128 * 5), (32, 8192)])
def test_swizzled_operands(operand, at_a, at_b):
    iss, expected = swizzled_machine(
        operand, "hgmma a0, a1", SHARED_BASE + at_a, SHARED_BASE + at_b
    )
    step(iss)
    assert np.array_equal(iss.warp(0, 0).floats, expected)


def test_the_swizzle_permutes_units_of_16_bytes():
    """Row r of 128 bytes has unit u at u ^ (r mod 8), as in the PTX ISA's 128-byte swizzle."""
    for row in (0, 1, 7, 8, 13):
        for unit in range(8):
            stored = swizzled(SHARED_BASE + 128 * row + 16 * unit + 5)
            assert stored == SHARED_BASE + 128 * row + 16 * (unit ^ row % 8) + 5


@pytest.mark.parametrize("operand", ["fp16", "tf32"])
def test_stores_to_swizzled_operands_are_races_and_others_are_not(operand):
    """Each word of the rows that hold A: half of them are B's or nobody's."""
    at_a, at_b = SHARED_BASE + 1024 + 64, SHARED_BASE + 8192
    text = "hgmma a0, a1\nsw a3, 0(a2)"
    iss, _ = swizzled_machine(operand, text, at_a, at_b)
    config = SharedFedConfig(numerics="nvidia(hopper)", operand=operand, layout="swizzle128")
    places = set(operand_places(config, at_a, is_a=True).tolist())
    assert len(places) == 1024
    step(iss)
    races = set()
    for address in range(SHARED_BASE + 1024 - 64, SHARED_BASE + 1024 + 2048 + 64, 4):
        give(iss, {A2: address}, pc=ENTRY + 4)
        fault = iss.step(0, 0).fault
        if fault is not None:
            assert (fault.cause, fault.address) == (Cause.RACE, address)
            races.add(address)
    assert races == {address for address in places if address % 4 == 0}


def test_a_unit_s_write_to_a_swizzled_operand_is_reported():
    at_a, at_b = SHARED_BASE, SHARED_BASE + 8192
    for first, is_race in ((64, False), (0, True), (128 + 48, True), (2048, False)):
        iss, _ = swizzled_machine("fp16", "hgmma a0, a1\nhgmma_wait", at_a, at_b)
        step(iss)
        iss.write(SHARED_BASE + first, bytes(48))  # row 1 has its first units at 16, 0, 48, 32
        fault = iss.step(0, 0).fault
        assert (fault is not None) == is_race
        if fault is not None:
            assert (fault.cause, fault.address) == (Cause.RACE, SHARED_BASE + first)


@pytest.mark.parametrize(
    ("place", "cause", "says"),
    [
        (SHARED_BASE + 96, Cause.MISALIGNED_ACCESS, "rows of 64 bytes cross a multiple of 128"),
        (SHARED_BASE + 16, Cause.MISALIGNED_ACCESS, "not a multiple of 32"),
        (SHARED_BASE + 14 * 1024 + 128, Cause.OUTSIDE_MEMORY, "operand of 2048 bytes"),
    ],
)
def test_misplaced_swizzled_operands(place, cause, says):
    text = "hgmma a0, a1"
    iss = machine(text, threads=8, tensor=SharedFedConfig(layout="swizzle128"))
    give(iss, {A0: place, A1: SHARED_BASE}, mask=-1)
    fault = iss.step(0, 0).fault
    assert (fault.cause, fault.address) == (cause, place)
    assert says in fault.sentence
