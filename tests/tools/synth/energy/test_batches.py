"""Batches of windows: their rows in words, and the standard error of the energy from them."""

import numpy as np
import pytest

from spica.synth.energy.batches import BatchSums, layout_of, standard_error
from spica.synth.energy.evaluator import WORD
from spica.synth.energy.sampling import sampled_windows

CYCLES = 20_000


def windows_of(count, length, distance=100):
    return tuple(range(1 + distance * k, 1 + distance * k + length) for k in range(count))


@pytest.mark.parametrize(
    ("count", "length", "batches", "words"),
    [
        (1, 1, 1, 1),
        (7, 8, 1, 1),
        (8, 8, 2, 2),
        (128, 8, 19, 19),
        (5, 63, 5, 5),
        (5, 64, 5, 10),
        (2, 400, 2, 14),
    ],
)
def test_a_batch_has_words_of_its_own(count, length, batches, words):
    windows = windows_of(count, length, distance=1000)
    layout = layout_of(windows)
    assert layout.batch[-1] + 1 == batches
    assert (len(layout.batch), len(layout.rows)) == (words, words * WORD)
    own = {(int(w), int(b)) for w, b in zip(layout.window, layout.batch.repeat(WORD), strict=True)}
    assert len(own) == count  # each window is in one batch
    sizes = np.bincount([b for _, b in own])
    assert sizes.max() - sizes.min() <= 1
    is_counted = ~layout.is_first & ~layout.is_fill
    assert layout.rows[is_counted].tolist() == [cycle for window in windows for cycle in window]
    assert layout.rows[layout.is_first].tolist() == [window.start - 1 for window in windows]
    assert layout.rows[layout.is_last].tolist() == [window[-1] for window in windows]
    # The cycle before each counted one is the row before it.
    assert (np.diff(layout.rows)[is_counted[1:]] == 1).all()


def test_errors_are_those_of_the_mean_over_clocked_cycles():
    sums = BatchSums(
        energy=np.array([10.0, 30.0]),
        clocked_cycles=np.array([4.0, 4.0]),
        cycles=np.array([8.0, 8.0]),
    )
    assert sums.errors(is_clocked=True).tolist() == [-20.0, 20.0]
    # Energy in proportion to clocked cycles is no error, in proportion to all cycles it is.
    idle = BatchSums(energy=sums.energy, clocked_cycles=sums.energy / 5, cycles=sums.cycles)
    assert idle.errors(is_clocked=True).tolist() == [0.0, 0.0]
    assert idle.errors(is_clocked=False).tolist() == [-20.0, 20.0]
    both = sums + idle
    assert both.energy.tolist() == [20.0, 60.0]
    assert both.clocked_cycles.tolist() == [6.0, 10.0]
    assert both.cycles.tolist() == [16.0, 16.0]


def test_a_few_batches_have_no_standard_error():
    assert standard_error([]) is None
    assert standard_error([3.0, 5.0] * 3 + [3.0]) is None
    assert standard_error([3.0, 5.0] * 4) == pytest.approx((7 * 4 / (2 * 8 * 7)) ** 0.5)


def powers(kind):
    """Return the energy of each cycle of a made-up run, and whether it has a clock edge."""
    rng = np.random.default_rng(2)
    energy = rng.gamma(2.0, 1.0, CYCLES)
    is_clocked = np.ones(CYCLES, bool)
    if kind == "phases":
        energy[: CYCLES // 3] *= 5.0
    elif kind == "tiles":  # periods of load and compute
        energy *= 1 + 4 * (np.arange(CYCLES) % 173 < 60)
    elif kind == "idle":
        is_clocked = np.arange(CYCLES) % 311 < 100
        energy *= is_clocked
    return energy, is_clocked


@pytest.mark.parametrize("is_scaled", [False, True])
@pytest.mark.parametrize("kind", ["constant", "phases", "tiles", "idle"])
@pytest.mark.quick(1)
def test_standard_error_is_the_spread_of_samples(kind, is_scaled):
    """Over many samples of a run, the root mean square of the estimates is the true spread.

    A jump between phases counts as an error in one of 18 differences, which makes it larger.
    """
    energy, is_clocked = powers(kind)
    extent = is_clocked if is_scaled else np.ones(CYCLES, bool)
    truth, totals, errors = energy.sum(), [], []
    for seed in range(400):
        layout = layout_of(
            tuple(range(a + 1, b) for a, b in sampled_windows(CYCLES, 128, 8, seed=seed))
        )
        is_counted = ~layout.is_first & ~layout.is_fill
        rows, batch = layout.rows[is_counted], layout.batch.repeat(WORD)[is_counted]
        sums = BatchSums(
            energy=np.bincount(batch, energy[rows]),
            clocked_cycles=np.bincount(batch, is_clocked[rows].astype(float)),
            cycles=np.bincount(batch).astype(float),
        )
        rate = extent.sum() / extent[rows].sum()
        totals.append(rate * sums.energy.sum())
        errors.append(standard_error(rate * sums.errors(is_scaled)))
    spread = np.sqrt(np.mean((np.array(totals) - truth) ** 2))
    estimate = np.sqrt(np.mean(np.array(errors) ** 2))
    print(f"{kind}: spread {spread / truth:.4f}, estimated {estimate / truth:.4f}")
    assert 0.85 < estimate / spread < (2.2 if kind == "phases" else 1.3)
