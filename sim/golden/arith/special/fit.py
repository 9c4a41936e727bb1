"""Fit the coefficients of the special functions and write `hw/arith/special/coefficients.py`.

Run ``python -m spica.sim.golden.arith.special.fit``. All decisions are made on integers derived
from values of 120 bits, so every machine writes the same file.

Method: Pineiro, Oberman, Muller and Bruguera, "High-Speed Function Approximation Using a Minimax
Quadratic Interpolator", IEEE Transactions on Computers 54(3), 2005: coefficients are rounded one
after the other, and later ones compensate for earlier ones. Here all roundings of c2 and c1 near
the ideal are tried. For the pairs of smallest maximum error, c0 then centres the error of the
quadratic as computed, including dropped bits. The best of these rows is taken.
"""

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from .....hw.arith.special import functions as special
from .....hw.arith.special.functions import TABLES, Piece
from .truncated_products import interpolate

__all__ = ["coefficients_text", "fitted"]

PATH = Path(__file__).parents[4] / "hw" / "arith" / "special" / "coefficients.py"

PRECISION = 120
#: Bits of a function's value during the fit: errors are resolved to millionths of the result's
#: unit, and products with positions still fit 64 bits.
FIT_WIDTH = 44
#: Positions at which the error is evaluated, besides round ones and their neighbours, which have
#: the fewest and the most dropped bits.
SAMPLES = 257
#: Range of roundings of c2 tried around the ideal value.
REACH = 8
#: Number of pairs of c1 and c2 evaluated with the bits dropped by the computation.
CANDIDATES = 12


def target(name: str, v):
    """Return the value of table `name` at `v`, with mpmath's precision."""
    import mpmath as mp

    if name.startswith("log2") and v == 0:
        return 1 / mp.log(2) / 2
    if name == "sin" and v == 0:
        return mp.pi / 4
    return {
        "rcp": lambda: 1 / (1 + v),
        "rsqrt": lambda: 1 / mp.sqrt(1 + v),
        "rsqrt_odd": lambda: 1 / mp.sqrt(2 + 2 * v),
        "exp2": lambda: mp.mpf(2) ** v / 2,
        "log2": lambda: mp.log(1 + v) / mp.log(2) / v / 2,
        "log2_upper": lambda: -mp.log(1 - v) / mp.log(2) / v / 2,
        "sin": lambda: mp.sin(mp.pi * v / 4) / v,
        "cos": lambda: mp.cos(mp.pi * v / 4),
    }[name]()


def scaled(value, width: int) -> int:
    """Return `value` rounded to a multiple of ``2**-width``, as an integer."""
    import mpmath as mp

    return int(mp.nint(mp.ldexp(value, width)))


def ideal(name: str, piece: Piece, segment: int):
    """Return c1 and c2 of the quadratic through the segment's Chebyshev nodes."""
    import mpmath as mp

    length = mp.ldexp(1, -piece.index_width)
    nodes = [(1 + mp.cos(mp.pi * k / 6)) / 2 for k in (1, 3, 5)]
    values = [target(name, (segment + node) * length) for node in nodes]
    upper = (values[1] - values[0]) / (nodes[1] - nodes[0])
    lower = (values[2] - values[1]) / (nodes[2] - nodes[1])
    c2 = (lower - upper) / (nodes[2] - nodes[0])
    return upper - c2 * (nodes[0] + nodes[1]), c2


def samples(name: str, piece: Piece, segment: int) -> tuple[np.ndarray, np.ndarray]:
    """Return positions in a segment, and the exact values of the quadratic there."""
    import mpmath as mp

    length = special.ARGUMENT_WIDTH - piece.index_width
    last = (1 << length) - 1
    step = 1 << (length - 6)
    round_ones = {k + d for k in range(step, last, step) for d in (-1, 0)}
    uneven = {last * k // (SAMPLES - 1) for k in range(SAMPLES)}
    positions = sorted(round_ones | uneven)
    middle = mp.mpf(1 if TABLES[name].centred else 0) / 2
    arguments = [
        mp.ldexp((segment << length) + position + middle, -special.ARGUMENT_WIDTH)
        for position in positions
    ]
    values = [scaled(target(name, v), FIT_WIDTH) for v in arguments]
    x = np.array(positions, np.int64) << (special.OFFSET_WIDTH - length)
    return x, np.array(values, np.int64)


def candidates(name: str, piece: Piece, segment: int, x, values) -> list[tuple[int, int]]:
    """Return the c1 and c2 with the error closest to a constant, best first."""
    ideal_c1, ideal_c2 = ideal(name, piece, segment)
    middle = scaled(ideal_c2, special.C2_WIDTH)
    squares = x * x >> special.OFFSET_WIDTH
    spreads = []
    for rounded_c2 in range(middle - REACH, middle + REACH + 1):
        # The linear term compensates the rounding of the quadratic one: fully at the segment's
        # ends.
        lost = scaled(ideal_c1 + ideal_c2, special.C2_WIDTH + 20) - (rounded_c2 << 20)
        below = lost >> (special.C2_WIDTH + 20 - special.C1_WIDTH)
        for rounded_c1 in range(below - 1, below + 3):
            rest = (
                values
                - (rounded_c1 * x << (FIT_WIDTH - special.C1_WIDTH - special.OFFSET_WIDTH))
                - (rounded_c2 * squares >> (special.C2_WIDTH + special.OFFSET_WIDTH - FIT_WIDTH))
            )
            spreads.append((int(rest.max() - rest.min()), rounded_c1, rounded_c2))
    return [(c1, c2) for _, c1, c2 in sorted(spreads)[:CANDIDATES]]


def best_row(name: str, piece: Piece, segment: int) -> tuple[int, int, int]:
    """Return c0, c1 and c2 of one segment."""
    x, values = samples(name, piece, segment)
    rows = []
    for c1, c2 in candidates(name, piece, segment, x, values):
        rest = values - (interpolate(0, c1, c2, x) << (FIT_WIDTH - special.VALUE_WIDTH))
        low, high = int(rest.min()), int(rest.max())
        unit = FIT_WIDTH - special.C0_WIDTH
        c0 = (low + high + (1 << unit)) >> (unit + 1)  # their middle, rounded to nearest
        if name == "exp2" and segment == 0:
            # At most 1/2 for an integer: half the smallest number rounds to zero.
            c0 = 1 << (special.C0_WIDTH - 1)
        rows.append((max(high - (c0 << unit), (c0 << unit) - low), c0, c1, c2))
    return min(rows)[1:]


def fitted(name: str) -> Iterator[tuple[int, int, int]]:
    """Yield c0, c1 and c2 of every segment of table `name`."""
    import mpmath as mp

    with mp.workprec(PRECISION):
        for piece in TABLES[name].pieces:
            for segment in range(piece.first, piece.last + 1):
                yield best_row(name, piece, segment)


def inverse_turn() -> tuple[int, int]:
    """Return 1 / (2 pi), rounded down, and its fraction bits, as needed for FP32 angles."""
    import mpmath as mp

    width = special.WINDOW_WIDTH + 127 - 23
    with mp.workprec(width + PRECISION):
        return int(mp.floor(mp.ldexp(1 / (2 * mp.pi), width))), width


def coefficients_text(names=tuple(TABLES)) -> str:
    """Return the text of the data file."""
    bits, width = inverse_turn()
    lines = [
        '"""Coefficients of the special functions: '
        "``python -m spica.sim.golden.arith.special.fit``.",
        "",
        "A row per segment: c0, c1, c2 in units of ``2**-C0_WIDTH``, ``2**-C1_WIDTH`` and",
        "``2**-C2_WIDTH`` of `functions`.",
        '"""',
        "",
        '__all__ = ["COEFFICIENTS", "INVERSE_TURN", "INVERSE_TURN_WIDTH"]',
        "",
        "#: 1 / (2 pi), rounded down, in units of ``2**-INVERSE_TURN_WIDTH``.",
        f"INVERSE_TURN = 0x{bits:X}",
        f"INVERSE_TURN_WIDTH = {width}",
        "",
        "COEFFICIENTS = {",
    ]
    for name in names:
        lines += [f'    "{name}": (']
        lines += [f"        ({c0}, {c1}, {c2})," for c0, c1, c2 in fitted(name)]
        lines += ["    ),"]
    return "\n".join([*lines, "}", ""])


if __name__ == "__main__":
    PATH.write_text(coefficients_text())
