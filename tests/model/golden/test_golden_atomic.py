"""Golden model of atomic operations against QEMU, for words, and NumPy, for bytes and halves."""

import random
from itertools import product

import numpy as np
import pytest

from spica.hw.isa.operations import AtomicOperation
from spica.hw.isa.program import assemble_program
from spica.sim.golden.memory.atomic.atomic_unit import atomic_operation
from support.oracle.qemu_rv32 import Rv32

CODE, WINDOW = 0x8000_0000, 0x8010_0000
#: Zero, one and the ends of the ranges of bytes, halves and words.
CORNERS = (0, 1, 0x7F, 0x80, 0xFF, 0x7FFF, 0x8000, 0xFFFF, 0x7FFF_FFFF, 0x8000_0000, 0xFFFF_FFFF)
#: Operations of rs2 and memory that QEMU has as instructions of words.
COMBINED = {
    operation: f"amo{operation.name.lower()}.w"
    for operation in AtomicOperation
    if operation.name in ("ADD", "SWAP", "XOR", "OR", "AND", "MIN", "MAX", "MINU", "MAXU")
}
#: A compare-and-swap of a3, whose instruction QEMU does not have.
LOOPS = {
    AtomicOperation.CAS: """
        lr.w a1, (s0)
        bne a1, a3, store
        sc.w a2, a0, (s0)""",
    AtomicOperation.LR: "lr.w a1, (s0)",
    AtomicOperation.SC: "lr.w a1, (s0)\nsc.w a1, a0, (s0)",
}


def operand_rows(count, seed):
    """Return (old, operand, expected) of every pair of corners, and random ones, often equal."""
    rng = random.Random(seed)
    rows = [(a, b, c) for a, b in product(CORNERS, repeat=2) for c in (a, rng.choice(CORNERS))]
    for _ in range(count):
        old = rng.getrandbits(32)
        near = old ^ 1 << rng.randrange(32)
        rows.append((old, rng.getrandbits(32), rng.choice([old, near, rng.getrandbits(32)])))
    return rows


def by_qemu(lines, rows):
    """Return old value or result, and new value, of instructions on the word at s0."""
    program = f"""
        li s0, {WINDOW}
        li t0, {len(rows)}
loop:   lw a0, 4(s0)
        lw a3, 8(s0)
        {lines}
store:  sw a1, 12(s0)
        addi s0, s0, 16
        addi t0, t0, -1
        bne t0, zero, loop
"""
    words = np.frombuffer(assemble_program(program).data, "<u4").tolist()
    data = np.array([(*row, 0) for row in rows], "<u4")
    qemu = Rv32((CODE, 0x1000), (WINDOW, (data.nbytes + 0xFFF) & ~0xFFF))
    qemu.load(words, data.tobytes())
    state = qemu.run(CODE + 4 * len(words))
    after = np.frombuffer(state.memory, "<u4")[: data.size].reshape(-1, 4)
    return after[:, 3].tolist(), after[:, 0].tolist()


@pytest.mark.parametrize("operation", [*COMBINED, *LOOPS], ids=lambda operation: operation.name)
def test_words_are_those_of_qemu(operation):
    pytest.importorskip("unicorn")
    rows = operand_rows(500, seed=operation)
    line = LOOPS.get(operation) or f"{COMBINED[operation]} a1, a0, (s0)"
    for row, result, new in zip(rows, *by_qemu(line, rows), strict=True):
        written, expected = atomic_operation(operation, 2, *row)
        assert (row[0] if written is None else written, expected) == (new, result), row


#: NumPy's functions of memory and rs2, both in the type of the operation.
NUMPY = {
    "ADD": np.add,
    "SWAP": lambda old, operand: operand,
    "XOR": np.bitwise_xor,
    "OR": np.bitwise_or,
    "AND": np.bitwise_and,
    "MIN": np.minimum,
    "MAX": np.maximum,
    "MINU": np.minimum,
    "MAXU": np.maximum,
}


@pytest.mark.parametrize("size", [0, 1, 2])
@pytest.mark.parametrize("operation", AtomicOperation, ids=lambda operation: operation.name)
def test_parts_of_words_are_those_of_numpy(operation, size):
    rows = np.array(operand_rows(500, seed=operation), np.uint32)
    kind = np.dtype(f"{'u' if operation.name.endswith('U') else 'i'}{1 << size}")
    old, operand, expected = (np.ascontiguousarray(column) for column in rows.T)
    low = [column.view(kind)[:: 4 >> size] for column in (old, operand, expected)]
    results = low[0].view(f"i{1 << size}").astype(np.int32).view(np.uint32)
    new, writes = low[1], np.full(len(rows), operation.name not in ("LR", "LOAD"))
    if operation.name == "CAS":
        writes = low[0] == low[2]
    elif operation.name in NUMPY:
        new = NUMPY[operation.name](*low[:2])
    elif operation.name in ("SC", "STORE"):
        results = np.zeros_like(results)
    new = new.view(f"u{1 << size}")
    for row, written, value, result in zip(rows.tolist(), writes, new, results, strict=True):
        assert atomic_operation(operation, size, *row) == (int(value) if written else None, result)
