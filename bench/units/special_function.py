"""Special function unit."""

import numpy as np

from spica.hw.arith.special.special_function import SpecialFunction, SpecialFunctionConfig
from spica.hw.config.formats import FP32
from spica.hw.isa.operations import SpecialOperation
from spica.sim.golden.arith.float import floats
from spica.sim.golden.arith.special.special_function import special_function

from .operands import floats as operands
from .unit import Unit

__all__ = ["special_operands", "units"]


def units() -> list[Unit]:
    """Return the unit, with all of its functions."""
    config = SpecialFunctionConfig()
    return [
        Unit(
            name="special_function",
            group="Special function",
            component=lambda: SpecialFunction(config),
            latency=config.latency,
            operands=special_operands,
            golden=lambda operation, a: {"o": special_function(operation, a)},
            oracle="mpmath, within a unit in the last place",
        )
    ]


def special_operands(rng: np.random.Generator, count: int) -> dict[str, np.ndarray]:
    """Return functions and operands: random, and near zeros, range ends and segment borders."""
    sign = rng.integers(0, 2, count) * -2.0 + 1
    kinds = [
        # Exponents for which no function is trivial.
        sign * np.ldexp(1 + rng.random(count), rng.integers(-16, 12, count)),
        # Powers from below the smallest number to above the largest, and integers among them.
        rng.uniform(-155, 132, count),
        np.rint(rng.uniform(-155, 132, count)),
        # Multiples of 22.5 degrees: octants, and segment borders of the sine.
        sign * np.rint(np.exp2(rng.uniform(0, 40, count))) * (np.pi / 8),
        # Borders of the other segments.
        sign * np.ldexp(1 + rng.integers(0, 128, count) / 128, rng.integers(-8, 8, count)),
        # Subnormal numbers.
        sign * np.exp2(rng.uniform(-149, -126, count)),
        # Powers of two.
        sign * np.exp2(np.rint(rng.uniform(-149, 127, count))),
        # Near 1, where log2 changes tables and is smallest.
        1 + sign * np.exp2(rng.uniform(-24, -1, count)),
        np.full(count, 1.40625),
    ]
    near = floats.encode(np.choose(rng.integers(0, len(kinds), count), kinds), FP32)
    moved = (near.astype(np.int64) + rng.integers(-2, 3, count)) & 0xFFFF_FFFF
    anywhere = operands.random_bits(rng, FP32, count)
    return {
        "operation": rng.integers(0, len(SpecialOperation), count),
        "a": np.where(rng.random(count) < 0.3, anywhere, moved).astype(np.uint32),
    }
