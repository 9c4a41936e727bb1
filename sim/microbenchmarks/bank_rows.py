"""Rows: stalls by conflicts at the register banks."""

from ...hw.config import CoreConfig
from ...hw.core.operands.register_map import RegisterMap
from .row import Row, Workbench, exactly
from .unrolled_code import Stream, by_warp, repeated

__all__ = ["bank_rows"]

#: Two warps on four warp-wide banks; a source register with a multiple of the banks as number.
NARROW = {"warps": 2, "banks": 4}
REGISTER = 8
#: Warps with more threads than word-wide banks.
THREADS = {
    "warps": 2,
    "threads": 32,
    "banks": 16,
    "bank_mapping": "thread",
    "integer_lanes": 16,
    "fp32_lanes": 8,
    "memory_lanes": 8,
}
#: By kind: number of source registers, and a stream.
READERS = {
    "sum with an immediate": (1, repeated("addi x{d}, x9, 1")),
    "sum": (2, repeated("add x{d}, x8, x9")),
    "multiply-add": (3, repeated("fmadd.s f{d}, f1, f2, f3")),
}


def twice(register: int) -> Stream:
    """Return a stream of sums that read one register twice."""
    return repeated(f"add x{{d}}, x{register}, x{register}")


def farthest(values: list[float], expected: float) -> float:
    """Return the value with the largest distance from `expected`."""
    return max(values, key=lambda value: abs(value - expected))


def between_warps(distance: int) -> Row:
    """Return the row of two warps that read banks at a distance, for all positions."""
    banks = NARROW["banks"]
    expected = 0.5 if distance % banks == 0 else 1.0

    def measure(bench: Workbench) -> float:
        # Register r of warp w is in bank (w + r) mod banks.
        pairs = [(bank, (bank + distance - 1) % banks) for bank in range(banks)]
        streams = [[twice(REGISTER + a), twice(REGISTER + b)] for a, b in pairs]
        return farthest([bench.run(by_warp(each)).ipc for each in streams], expected)

    return Row(
        group="banks of warps",
        name=f"2 warps read banks b and b + {distance}, each twice per sum",
        unit="per cycle",
        limits=exactly(expected),
        why="4 reads of a bank for 2 sums" if expected < 1 else "2 reads of each bank for 2 sums",
        measure=measure,
        change=NARROW,
    )


def in_warp(distance: int) -> Row:
    """Return the row of sums of two registers at a distance."""
    expected = 0.5 if distance % NARROW["banks"] == 0 else 1.0
    registers = [(REGISTER + n, REGISTER + n + distance) for n in range(NARROW["banks"])]

    def measure(bench: Workbench) -> float:
        streams = [repeated(f"add x{{d}}, x{a}, x{b}") for a, b in registers]
        return farthest([bench.run(each, warps=1).ipc for each in streams], expected)

    return Row(
        group="banks of warps",
        name=f"one warp reads registers r and r + {distance}",
        unit="per cycle",
        limits=exactly(expected),
        why="2 reads of a bank for a sum" if expected < 1 else "one read of each bank for a sum",
        measure=measure,
        change=NARROW,
    )


def of_threads(name: str) -> Row:
    """Return the row of an instruction with operands in word-wide banks."""
    operands, stream = READERS[name]
    parts = RegisterMap(CoreConfig(**THREADS)).parts
    return Row(
        group="banks of threads",
        name=name,
        unit="cycles",
        limits=exactly(parts * operands),
        why=f"{operands} x ceil(32 threads / 16 banks)",
        measure=lambda bench: bench.run(stream).cost,
        change=THREADS,
    )


def bank_rows() -> list[Row]:
    """Return all rows of banks."""
    banks = NARROW["banks"]
    return [
        *(between_warps(distance) for distance in range(banks)),
        *(in_warp(distance) for distance in range(banks + 1)),
        *(of_threads(name) for name in READERS),
    ]
