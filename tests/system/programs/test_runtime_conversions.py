"""Tests of conversions to 16 bits, and of the whole runtime in warps of up to 32 threads."""

import numpy as np
import pytest

from support.programs.source_run import PROGRAMS, cluster, read_words, run_source

SOURCE, WIDE = PROGRAMS / "halves.c", PROGRAMS / "wide.c"
CONFIG = cluster(1, 4, 32)
NUMBERS, GIVEN = 0x9000_0000, 0x9800_0000
PACKED, SINGLE, VALUES = (
    tuple(start + 0x0800_0000 * k for k in range(2))
    for start in (0xA000_0000, 0xB000_0000, 0xC000_0000)
)
CODES = np.arange(1 << 16, dtype=np.uint16)


def run(numbers: np.ndarray, given: np.ndarray) -> list[tuple[np.ndarray, ...]]:
    """Return for each format the packed and the single 16-bit numbers, and the widened ones."""
    pairs = len(numbers) // 2, len(given) // 2
    iss, _ = run_source(
        SOURCE,
        CONFIG,
        arguments=[*pairs, NUMBERS, *PACKED, *SINGLE, GIVEN, *VALUES],
        data={NUMBERS: numbers, GIVEN: given},
    )
    return [
        (
            read_words(iss, PACKED[k], pairs[0]).view(np.uint16),
            read_words(iss, SINGLE[k], pairs[0]).view(np.uint16),
            read_words(iss, VALUES[k], 2 * pairs[1]),
        )
        for k in range(2)
    ]


def numbers_around(values: np.ndarray) -> np.ndarray:
    """Return values of a format, the borders between them, and the FP32 numbers beside both."""
    finite = np.unique(values[np.isfinite(values)])
    borders = ((finite[1:].astype(np.float64) + finite[:-1]) / 2).astype(np.float32)
    around = [np.nextafter(x, np.float32(way)) for x in (finite, borders) for way in (-9e9, 9e9)]
    return np.concatenate([values, borders, *around])


def require_same(results: np.ndarray, expected: np.ndarray, nan: int):
    """Compare bits; a NaN must be the canonical one."""
    stored = np.where(np.isnan(expected.astype(np.float32)), nan, expected.view(results.dtype))
    np.testing.assert_array_equal(results, stored)


def test_every_16_bit_number_and_every_border():
    ml_dtypes = pytest.importorskip("ml_dtypes")
    formats = (np.dtype(np.float16), 0x7E00), (np.dtype(ml_dtypes.bfloat16), 0x7FC0)
    rng = np.random.default_rng(1)
    any_bits = rng.integers(0, 1 << 32, 1 << 16, np.uint32).view(np.float32)
    limits = np.array([65504, 65519.996, 65520, 65536, 131071, 1e30, np.inf, np.nan, 0, 1e-45])
    with np.errstate(all="ignore"):
        every = [CODES.view(kind).astype(np.float32) for kind, _ in formats]
        parts = [*map(numbers_around, every), any_bits, limits.astype(np.float32)]
        numbers = np.concatenate([part for x in parts for part in (x, -x)])
        results = run(numbers, CODES)
        for (packed, single, values), (kind, nan), widened in zip(
            results, formats, every, strict=True
        ):
            require_same(packed, numbers.astype(kind), nan)
            require_same(single, numbers.astype(kind), nan)
            require_same(values, widened, 0x7FC0_0000)


def printed(threads: int) -> str:
    """Return what every thread, all threads, some of them and the last one print."""
    last = threads - 1
    some = [lane for lane in range(threads) if lane % 2 or lane == last]
    return "".join([
        *(f"alone {lane}\n" for lane in range(threads)),
        *(f"all {lane} of {(1 << threads) - 1:x}\n" for lane in range(threads)),
        "some\n" * len(some),
        *(f"{lane:x}" for lane in some),
        "\n" * len(some),
        "1.50last|4\n",
    ])


@pytest.mark.parametrize("schedule", ["round_robin", "random"])
@pytest.mark.parametrize("optimize", [0, 3])
@pytest.mark.parametrize("shape", [(1, 32), (2, 31), (3, 1), (32, 32)])
@pytest.mark.quick(4)
def test_every_function_in_every_thread(shape, optimize, schedule):
    options = {"optimize": optimize, "schedule": schedule, "arguments": [1025], "exit_code": 77}
    iss, _ = run_source(WIDE, cluster(1, *shape), garbage=True, **options)
    assert iss.console.decode() == printed(shape[1])


@pytest.mark.parametrize("tasks", [1 << 31, (1 << 31) + 1, (1 << 32) - 1])
@pytest.mark.parametrize("shape", [(1, 1), (1, 32), (32, 32)])
@pytest.mark.quick(3)
def test_the_largest_numbers_of_tasks_start(shape, tasks):
    run_source(WIDE, cluster(1, *shape), arguments=[tasks], exit_code=99)
