"""Transfers of the DMA: beats, lines and bursts of a load, and of a store of results."""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from ...hw.config import AxiConfig

__all__ = ["Load", "Store", "load_of", "phase_of", "store_of"]


@dataclass(frozen=True, kw_only=True)
class Load:
    """Work of a load from DRAM to shared memory.

    Parameters
    ----------
    bursts : tuple of int
        Read bursts of each AXI master.
    beats : int
        Beats read by all masters.
    lines : int
        Writes to shared memory, each within a beat.
    steps : tuple of int
        Least cycles of each master: for every piece of a row its beats, or its lines if more.
    is_aligned : bool
        Whether each row has the same place within a beat in DRAM and in shared memory.

    """

    bursts: tuple[int, ...]
    beats: int
    lines: int
    steps: tuple[int, ...]
    is_aligned: bool


@dataclass(frozen=True, kw_only=True)
class Store:
    """Work of the store of a column block of results to DRAM.

    Parameters
    ----------
    lines : tuple of int
        Writes of each AXI master, each within a beat.
    cycles : int
        Least cycles: one for each line that a beat of results touches.

    """

    lines: tuple[int, ...]
    cycles: int


def phase_of(axi: AxiConfig, address: int) -> int:
    """Return an address modulo a turn of all masters: the work of a transfer depends on no more."""
    return address % (axi.masters * axi.interleave_bytes)


@lru_cache(maxsize=4096)
def load_of(
    axi: AxiConfig,
    *,
    dram: int,
    pitch: int,
    local_pitch: int,
    rows: int,
    row_bytes: int,
    fill_rows: int,
) -> Load:
    """Return the work of a load from an address in DRAM, as `phase_of` returns it.

    Rows of `row_bytes` are filled with zeros up to `local_pitch`, the distance of rows in shared
    memory; rows of zeros follow up to `fill_rows`. Pieces of rows end at blocks of the interleaving
    and where zeros begin.
    """
    masters, interleave, beat = axi.masters, axi.interleave_bytes, axi.beat_bytes
    row = np.arange(fill_rows)
    starts, places = dram + row * pitch, row * local_pitch
    ends = np.where(row < rows, starts + row_bytes, starts)
    bursts, steps = np.zeros(masters, int), np.zeros(masters, int)
    beats = lines = 0
    for number in range((interleave - 1 + local_pitch) // interleave + 1):
        block = (starts // interleave + number) * interleave
        master = block // interleave % masters
        for is_read, first, last in ((1, starts, ends), (0, ends, starts + local_pitch)):
            begin = np.maximum(first, block)
            end = np.minimum(last, block + interleave)
            is_piece = end > begin
            place = places + begin - starts
            written = touched(place, end - begin, beat) * is_piece
            read = touched(begin, end - begin, beat) * is_piece * is_read
            bursts += np.bincount(master, is_piece * is_read, masters).astype(int)
            steps += np.bincount(master, np.maximum(written, read), masters).astype(int)
            beats += int(read.sum())
            lines += int(written.sum())
    return Load(
        bursts=tuple(bursts.tolist()),
        beats=beats,
        lines=lines,
        steps=tuple(steps.tolist()),
        is_aligned=not ((starts - places) % beat).any(),
    )


@lru_cache(maxsize=4096)
def store_of(
    axi: AxiConfig,
    *,
    dram: int,
    pitch: int,
    rows: int,
    row_bytes: int,
    drain_bytes: int,
    beats: int,
) -> Store:
    """Return the work of the store of a column block to an address in DRAM, as in `load_of`.

    A row of results has `beats` beats of `drain_bytes`, of which `row_bytes` are within the matrix.
    """
    masters, interleave, beat = axi.masters, axi.interleave_bytes, axi.beat_bytes
    starts = dram + np.arange(rows) * pitch
    lines, cycles = np.zeros(masters, int), 0
    for number in range(beats):
        size = min(drain_bytes, row_bytes - number * drain_bytes)
        if size <= 0:  # beyond the matrix: not written
            cycles += rows
            continue
        place = starts + number * drain_bytes
        first, last = place // beat, (place + size - 1) // beat
        for line, is_line in ((first, first == first), (last, last > first)):
            lines += np.bincount(line * beat // interleave % masters, is_line, masters).astype(int)
            cycles += int(is_line.sum())
    return Store(lines=tuple(lines.tolist()), cycles=cycles)


def touched(place: np.ndarray, size: np.ndarray, beat: int) -> np.ndarray:
    """Return the beats that ranges of bytes touch."""
    return (place + size - 1) // beat - place // beat + 1
