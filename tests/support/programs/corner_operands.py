"""Corner-case operands of instructions."""

import random

__all__ = ["FLOAT_CLASSES", "INTEGERS", "float_operand", "integer_operand"]

#: Words around the limits of every size, signed or not.
INTEGERS = (
    *(0, 1, 2, 3, 31, 32, 33, 0x7F, 0x80, 0xFF, 0x7FFF, 0x8000, 0xFFFF, 0x1_0000),
    *(0x7FFF_FFFF, 0x8000_0000, 0x8000_0001, 0xFFFF_FFFF, 0xFFFF_FFFE, 0xFFFF_8000, 0xFFFF_FF80),
    *(0x5555_5555, 0xAAAA_AAAA, 0x0100_0001),
)
#: One or two encodings of each float class, to cross them more often than by chance.
FLOAT_CLASSES = (
    *(0, 0x8000_0000, 1, 0x807F_FFFF, 0x80_0000, 0x3F80_0000, 0xBFC0_0000, 0x7F7F_FFFF),
    *(0x7F80_0000, 0xFF80_0000, 0x7FC0_0000, 0xFFC0_1234, 0x7F80_0001, 0xFFA0_0000),
    *(0x4F00_0000, 0xCF80_0000),
)
#: Encoded magnitudes: zero, subnormal, normal, around integers and their limits, infinity, quiet
#: and signalling NaN with payloads.
FLOATS = (
    *(0, 1, 2, 0x40_0000, 0x7F_FFFE, 0x7F_FFFF, 0x80_0000, 0x80_0001, 0x100_0000),
    *(0x3F80_0000, 0x3F7F_FFFF, 0x3F80_0001, 0x3F00_0000, 0x3EFF_FFFF, 0x3F00_0001, 0x4000_0000),
    *(0x3FC0_0000, 0x4020_0000, 0x4060_0000, 0x4B00_0000, 0x4B00_0001, 0x4B7F_FFFF, 0x4AFF_FFFF),
    *(0x4EFF_FFFF, 0x4F00_0000, 0x4F00_0001, 0x4F7F_FFFF, 0x4F80_0000, 0x5F00_0000),
    *(0x1F80_0000, 0x2000_0000, 0x5F80_0000, 0x7F7F_FFFF, 0x7F7F_FFFE, 0x7F00_0000),
    *(0x7F80_0000, 0x7F80_0000, 0x7FC0_0000, 0x7FC0_1234, 0x7FFF_FFFF),
    *(0x7F80_0001, 0x7FA0_0000, 0x7FBF_FFFF),
)


def integer_operand(rng: random.Random) -> int:
    """Return a 32-bit word: a corner, a small number of either sign, a power of two, or any."""
    kind = rng.random()
    if kind < 0.5:
        return rng.choice(INTEGERS)
    if kind < 0.65:
        return rng.randrange(-100, 100) & 0xFFFF_FFFF
    if kind < 0.8:
        return (1 << rng.randrange(32)) + rng.randrange(-1, 2) & 0xFFFF_FFFF
    return rng.getrandbits(32)


def float_operand(rng: random.Random) -> int:
    """Return an encoded FP32 number: a corner, one of medium size, or any word."""
    kind, sign = rng.random(), rng.getrandbits(1) << 31
    if kind < 0.35:
        return sign | rng.choice(FLOATS)
    if kind < 0.85:
        # Sums and products of these neither overflow nor underflow, so that rounding shows.
        return sign | rng.randrange(110, 145) << 23 | rng.getrandbits(23)
    return rng.getrandbits(32)
