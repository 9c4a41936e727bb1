"""`sim.golden.floats` against QEMU's soft-float, NumPy's conversions and Python's integers."""

import numpy as np
import pytest

from spica.hw.formats import FP16, FP32, INT8, INT32
from spica.sim.golden import floats, operands

unicorn = pytest.importorskip("unicorn")
from unicorn.riscv_const import (  # noqa: E402  # only after the skip
    UC_RISCV_REG_A0,
    UC_RISCV_REG_A1,
    UC_RISCV_REG_A2,
    UC_RISCV_REG_A3,
    UC_RISCV_REG_A4,
    UC_RISCV_REG_MSTATUS,
)

CODE, DATA = 0x1000, 0x100000
FADD, FMUL, FMADD = "fadd.s", "fmul.s", "fmadd.s"


def instructions(name):
    """Return a loop that applies `name` to f0, f1, f2 from arrays a0, a1, a2, a4 times, into a3."""
    a0, a1, a2, a3, a4 = range(10, 15)

    def immediate(opcode, funct3, rd, rs1, value):
        return (value & 0xFFF) << 20 | rs1 << 15 | funct3 << 12 | rd << 7 | opcode

    operation = {
        FADD: 0x00 << 25 | 1 << 20 | 0 << 15 | 3 << 7 | 0x53,
        FMUL: 0x08 << 25 | 1 << 20 | 0 << 15 | 3 << 7 | 0x53,
        FMADD: 2 << 27 | 1 << 20 | 0 << 15 | 3 << 7 | 0x43,
    }[name]
    loads = [immediate(0x07, 2, f, base, 0) for f, base in enumerate((a0, a1, a2))]
    store = 3 << 20 | a3 << 15 | 2 << 12 | 0x27
    steps = [immediate(0x13, 0, register, register, 4) for register in (a0, a1, a2, a3)]
    body = [*loads, operation, store, *steps, immediate(0x13, 0, a4, a4, -1)]
    back = -4 * len(body) & 0x1FFF
    branch = (
        (back >> 12 & 1) << 31 | (back >> 5 & 0x3F) << 25 | a4 << 15 | 1 << 12
        | (back >> 1 & 0xF) << 8 | (back >> 11 & 1) << 7 | 0x63
    )  # fmt: skip
    return np.array([*body, branch], np.uint32)


def qemu(name, a, b, c=None):
    """Return what QEMU computes for arrays of stored FP32."""
    count = len(a)
    size = 4 * count + 0xFFF & ~0xFFF
    machine = unicorn.Uc(unicorn.UC_ARCH_RISCV, unicorn.UC_MODE_RISCV32)
    code = instructions(name).tobytes()
    machine.mem_map(CODE, 0x1000)
    machine.mem_write(CODE, code)
    machine.mem_map(DATA, 4 * size)
    arrays = (a, b, np.zeros(count) if c is None else c)
    for k, (register, array) in enumerate(
        zip((UC_RISCV_REG_A0, UC_RISCV_REG_A1, UC_RISCV_REG_A2), arrays, strict=True)
    ):
        machine.mem_write(DATA + k * size, np.asarray(array).astype(np.uint32).tobytes())
        machine.reg_write(register, DATA + k * size)
    machine.reg_write(UC_RISCV_REG_A3, DATA + 3 * size)
    machine.reg_write(UC_RISCV_REG_A4, count)
    machine.reg_write(UC_RISCV_REG_MSTATUS, 0x6000)
    machine.emu_start(CODE, CODE + len(code))
    return np.frombuffer(machine.mem_read(DATA + 3 * size, 4 * count), np.uint32)


def joined(one, other):
    return [np.concatenate(pair) for pair in zip(one, other, strict=True)]


def test_add_agrees_with_qemu():
    corners = operands.crossed(*[floats.corners(FP32)] * 2)
    a, b = joined(corners, operands.add_operands(np.random.default_rng(1), 100_000))
    assert np.array_equal(floats.add(a, b), qemu(FADD, a, b))


def test_multiply_agrees_with_qemu():
    corners = operands.crossed(*[floats.corners(FP32)] * 2)
    a, b = joined(corners, operands.multiply_operands(np.random.default_rng(2), 100_000))
    assert np.array_equal(floats.multiply(a, b), qemu(FMUL, a, b))


def test_multiply_add_of_fp16_agrees_with_qemu():
    corners = operands.crossed(*[floats.corners(FP16)] * 2, floats.corners(FP32))
    a, b, c = joined(corners, operands.multiply_add_operands(np.random.default_rng(3), 100_000))
    wide_a, wide_b = (
        h.astype(np.uint16).view(np.float16).astype(np.float32).view(np.uint32) for h in (a, b)
    )
    assert np.array_equal(floats.multiply_add(a, b, c), qemu(FMADD, wide_a, wide_b, c))


def test_multiply_add_of_fp32_agrees_with_qemu():
    corners = operands.crossed(*[floats.corners(FP32)] * 3)
    random = operands.multiply_add_operands(np.random.default_rng(4), 100_000, operand=FP32)
    a, b, c = joined(corners, random)
    assert np.array_equal(floats.multiply_add(a, b, c, operand=FP32), qemu(FMADD, a, b, c))


def test_decode_and_encode_of_every_fp16():
    stored = np.arange(1 << 16, dtype=np.uint32)
    values = stored.astype(np.uint16).view(np.float16).astype(np.float64)
    decoded = floats.decode(stored, FP16)
    assert np.array_equal(decoded, values, equal_nan=True)
    is_nan = np.isnan(values)
    assert np.array_equal(np.signbit(decoded[~is_nan]), np.signbit(values[~is_nan]))
    encoded = floats.encode(decoded, FP16)
    assert np.array_equal(encoded, np.where(is_nan, 0x7E00, stored))


def test_convert_agrees_with_numpy():
    rng = np.random.default_rng(5)
    every_fp16 = np.arange(1 << 16, dtype=np.uint16).view(np.float16).astype(np.float32)
    # Each FP16 number, the middle to its neighbour, and one to either side of both.
    around = every_fp16.view(np.uint32)[:, None] + np.array([0, 1, -1, 4095, 4096, 4097])
    stored = np.concatenate([
        (around.ravel() & 0xFFFFFFFF).astype(np.uint32),
        floats.corners(FP32),
        rng.integers(0, 1 << 32, 200_000, dtype=np.uint32),
    ])
    values = stored.view(np.float32)
    with np.errstate(all="ignore"):
        expected = values.astype(np.float16).view(np.uint16)
    expected = np.where(np.isnan(values), 0x7E00, expected)
    assert np.array_equal(floats.convert(stored), expected)


def test_general_rounding_agrees_with_the_fast_one():
    a, b = operands.multiply_operands(np.random.default_rng(6), 100_000)
    with np.errstate(invalid="ignore"):
        products = floats.decode(a, FP32) * floats.decode(b, FP32)
    assert np.array_equal(floats.encode(products, FP32), floats.round_to(products, FP32))


def test_integers_wrap():
    random = operands.multiply_add_operands(np.random.default_rng(7), 1000, INT8, INT32)
    corners = operands.crossed(*[floats.corners(INT8)] * 2, floats.corners(INT32))
    a, b, c = joined(corners, random)

    def signed(value):
        return int(value) - (int(value) >> 7 << 8)

    expected = [
        (signed(x) * signed(y) + int(z)) % (1 << 32) for x, y, z in zip(a, b, c, strict=True)
    ]
    assert floats.multiply_add(a, b, c, operand=INT8, accumulator=INT32).tolist() == expected
