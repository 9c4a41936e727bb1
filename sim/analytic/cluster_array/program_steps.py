"""Steps of the program ``gemm`` for the cores: the sequence of ``gemm_steps.h``, in Python."""

from collections.abc import Iterator
from dataclasses import dataclass

from ....hw.config import MachineConfig
from ....kernels.gemm.cluster_array.tiles import ProgramTiles, program_tiles
from ....kernels.gemm.problem import GemmProblem, ceil_div

__all__ = ["ProgramStep", "program_steps"]


@dataclass(frozen=True, slots=True)
class ProgramStep:
    """One compute of the program, with the loads that it needs besides earlier ones.

    Parameters
    ----------
    row, column, k : int
        First row, column and product index of its tiles.
    m, n, depth : int
        Extents of the tiles.
    a, b : int
        Addresses of the tiles in shared memory.
    loads_a, loads_b : bool
        Whether the tile of A, of B is loaded for this step.
    after : int
        Computes from the start that must be done before the loads: they use the same slots.
    accumulates : bool
        Whether the compute adds to the accumulator.
    last : bool
        Whether the tile of C is complete.

    """

    row: int
    column: int
    k: int
    m: int
    n: int
    depth: int
    a: int
    b: int
    loads_a: bool
    loads_b: bool
    after: int
    accumulates: bool
    last: bool


class OperandSlots:
    """Slots of one operand: a ring if no panel fits, otherwise as many panels as fit."""

    def __init__(self, first: int, room: int, tile_bytes: int, depth: int, others: int):
        slots = room // tile_bytes
        self.panels = slots // depth
        used = self.panels * depth if self.panels else slots
        self.first, self.end, self.bytes = first, first + used * tile_bytes, tile_bytes
        self.back = (depth - 1) * tile_bytes
        self.distance = used
        if others and self.panels:
            self.distance = ((self.panels - 1) * others + 1) * depth

    def following(self, place: int) -> int:
        """Return the slot after `place`."""
        place += self.bytes
        return self.first if place == self.end else place

    def again(self, place: int) -> int:
        """Return the first slot of the panel whose last slot is `place`."""
        return place - self.back if self.panels else self.following(place)

    def preceding(self, place: int) -> int:
        """Return the first slot of the panel before the one whose last slot is `place`."""
        if not self.panels:
            return self.following(place)
        place -= self.back
        return (self.end if place == self.first else place) - self.back - self.bytes


def keeps_b(tiles: ProgramTiles, problem: GemmProblem) -> bool:
    """Return whether the program keeps panels of B rather than of A."""
    depth = ceil_div(problem.k, tiles.k)
    rows, columns = ceil_div(problem.m, tiles.m), ceil_div(problem.n, tiles.n)
    a_panels = tiles.a_room // tiles.a_bytes // depth
    b_panels = tiles.b_room // tiles.b_bytes // depth

    def loaded(resident, swept, outer, inner, fits, held):
        return (resident if fits else resident * inner) + swept * outer - held * (outer - 1)

    b_held, a_held = min(b_panels * tiles.n, problem.n), min(a_panels * tiles.m, problem.m)
    keeping_a = loaded(problem.m, problem.n, rows, columns, a_panels, b_held)
    keeping_b = loaded(problem.n, problem.m, columns, rows, b_panels, a_held)
    return keeping_b < keeping_a


def program_steps(
    config: MachineConfig, problem: GemmProblem, *, is_finished: bool = False
) -> Iterator[ProgramStep]:
    """Yield the computes of a product in the order of the program, with their loads.

    If `is_finished`, the program is one whose cores finish C.
    """
    tiles = program_tiles(config, is_finished=is_finished)
    keeps = keeps_b(tiles, problem)
    depth = ceil_div(problem.k, tiles.k)
    rows, columns = ceil_div(problem.m, tiles.m), ceil_div(problem.n, tiles.n)
    a_slots = OperandSlots(0, tiles.a_room, tiles.a_bytes, depth, 0 if keeps else columns)
    b_slots = OperandSlots(tiles.a_room, tiles.b_room, tiles.b_bytes, depth, rows if keeps else 0)
    resident, swept = (b_slots, a_slots) if keeps else (a_slots, b_slots)
    outer, inner = (columns, rows) if keeps else (rows, columns)
    resident_at, swept_at, position, step = resident.first, swept.first, 0, 0
    for panel in range(outer):
        for sweep in range(inner):
            if sweep:
                resident_at = resident.again(resident_at)
                swept_at = (swept.preceding if panel & 1 else swept.following)(swept_at)
                position += -1 if panel & 1 else 1
            elif panel:
                resident_at, swept_at = resident.following(resident_at), swept.again(swept_at)
            loads_resident = not resident.panels or sweep == 0
            loads_swept = panel == 0 or sweep >= swept.panels
            distance = resident.distance if loads_resident else swept.distance
            if loads_swept:
                distance = min(distance, swept.distance)
            row, column = (position, panel) if keeps else (panel, position)
            for k in range(0, problem.k, tiles.k):
                if k:
                    resident_at, swept_at = (
                        resident.following(resident_at),
                        swept.following(swept_at),
                    )
                yield ProgramStep(
                    row=row * tiles.m,
                    column=column * tiles.n,
                    k=k,
                    m=min(tiles.m, problem.m - row * tiles.m),
                    n=min(tiles.n, problem.n - column * tiles.n),
                    depth=min(tiles.k, problem.k - k),
                    a=swept_at if keeps else resident_at,
                    b=resident_at if keeps else swept_at,
                    loads_a=loads_swept if keeps else loads_resident,
                    loads_b=loads_resident if keeps else loads_swept,
                    after=max(0, step + 1 - distance),
                    accumulates=k > 0,
                    last=k + tiles.k >= problem.k,
                )
                step += 1
