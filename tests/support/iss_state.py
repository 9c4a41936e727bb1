"""State of the instruction-set model, to compare runs."""

from dataclasses import replace

from spica.hw.isa.memory_map import ENTRY, SHARED_BASE

__all__ = ["DATA", "state_of"]

#: Data of test programs.
DATA = 0x8010_0000


def state_of(iss) -> list:
    """Return warps, console and statistics, and memory: shared, of code and of data."""
    parts = [iss.console, iss.statistics]
    for core in range(iss.config.cores):
        for number in range(iss.core.warps):
            warp = iss.warp(core, number)
            plain = replace(warp, integers=None, floats=None)
            parts += [plain, warp.integers.tobytes(), warp.floats.tobytes()]
    regions = ((DATA, 4096), (ENTRY, 4096), (SHARED_BASE, iss.config.shared.size))
    return [*parts, *(iss.read(*region).tobytes() for region in regions)]
