"""Tests of FP16 conversion on the cores: every number, every midpoint, and special values."""

from dataclasses import replace
from pathlib import Path

import numpy as np

from spica.hw.config import PRESETS, CoreConfig
from support.programs.source_run import read_words, run_source

SOURCE = Path(__file__).parents[2] / "support" / "c_programs" / "halves.c"
CONFIG = replace(PRESETS["core"], core=CoreConfig(warps=4, threads=32))
NUMBERS, ROUNDED, GIVEN, VALUES = 0x9000_0000, 0xA000_0000, 0xB000_0000, 0xC000_0000


def run(numbers: np.ndarray, given: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return numbers converted to FP16, and FP16 converted to numbers."""
    iss, _ = run_source(
        SOURCE,
        CONFIG,
        arguments=[len(numbers) // 2, len(given), NUMBERS, ROUNDED, GIVEN, VALUES],
        data={NUMBERS: numbers, GIVEN: given},
    )
    rounded = read_words(iss, ROUNDED, len(numbers) // 2).view(np.float16)
    return rounded, read_words(iss, VALUES, len(given)).view(np.float32)


def assert_same(found: np.ndarray, expected: np.ndarray, nan: int):
    """Compare bits; a NaN must be the canonical one."""
    bits = f"u{found.itemsize}"
    wanted = np.where(np.isnan(expected), nan, expected.view(bits))
    np.testing.assert_array_equal(found.view(bits), wanted)


def test_every_half_and_every_border():
    every = np.arange(1 << 16, dtype=np.uint16).view(np.float16)
    values = every.astype(np.float32)
    finite = np.unique(values[np.isfinite(values)])
    borders = ((finite[1:].astype(np.float64) + finite[:-1]) / 2).astype(np.float32)
    around = [np.nextafter(x, np.float32(way)) for x in (finite, borders) for way in (-9e9, 9e9)]
    rng = np.random.default_rng(1)
    any_bits = rng.integers(0, 1 << 32, 1 << 16, np.uint32).view(np.float32)
    limits = np.array([65504, 65519.996, 65520, 65536, 131071, 1e30, np.inf, np.nan, 0, 1e-45])
    parts = [values, borders, *around, any_bits, limits.astype(np.float32)]
    numbers = np.concatenate([part for x in parts for part in (x, -x)])
    rounded, back = run(numbers, every.view(np.uint16))
    with np.errstate(over="ignore", invalid="ignore"):
        assert_same(rounded, numbers.astype(np.float16), 0x7E00)
        assert_same(back[~np.isnan(every)], values[~np.isnan(every)], 0)
        assert np.isnan(back[np.isnan(every)]).all()
