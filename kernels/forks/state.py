"""Knowledge at a point of a function: active threads, and where each value is defined."""

from dataclasses import dataclass, field, replace

from ...hw.isa.assembly import INTEGER_NAMES
from .lanes import Defined, Lanes, joined_lanes

__all__ = ["ALWAYS", "FLOAT_BASE", "PASSED", "PRESERVED", "STACK_POINTER", "State", "entered"]

#: Places of values: integer registers, float registers, and slots of the stack as negative numbers
#: (bytes from the stack pointer at the start of the function, which grows down).
FLOAT_BASE = 32
ZERO, RETURN_ADDRESS, STACK_POINTER = (INTEGER_NAMES.index(name) for name in ("zero", "ra", "sp"))
#: Registers that start-up code sets in every thread, and `zero`.
ALWAYS = (ZERO, STACK_POINTER, INTEGER_NAMES.index("gp"), INTEGER_NAMES.index("tp"))
ARGUMENTS = tuple(INTEGER_NAMES.index(f"a{number}") for number in range(8))
#: Registers with arguments of a function: a0 to a7 and fa0 to fa7, which are f10 to f17.
PASSED = (*ARGUMENTS, *range(FLOAT_BASE + 10, FLOAT_BASE + 18))
SAVED_INTEGERS = tuple(INTEGER_NAMES.index(f"s{number}") for number in range(12))
#: Registers that a function preserves: s0 to s11 and fs0 to fs11, which are f8, f9, f18 to f27.
PRESERVED = (
    *SAVED_INTEGERS,
    *(FLOAT_BASE + number for number in (8, 9, *range(18, 28))),
    *ALWAYS,
)


@dataclass(frozen=True)
class State:
    """Knowledge before an instruction.

    Attributes
    ----------
    lanes : Lanes
        Active threads.
    places : dict of int to Defined
        Registers and stack slots that are not defined in all threads.
    values : dict of int to int
        Known contents of registers and stack slots.
    depth : int or None
        Bytes by which the stack pointer is below its value at the start of the function; None if
        not known.
    warp : int or None
        Number of the warp, None if not known. Any warp but the first counts as 1.

    """

    lanes: Lanes
    places: dict[int, Defined] = field(default_factory=dict)
    values: dict[int, int] = field(default_factory=dict)
    depth: int | None = 0
    warp: int | None = None

    def defined(self, place: int, every: int) -> bool:
        """Return whether the active threads have the value of a register or stack slot."""
        return place not in self.places or self.places[place].covers(self.lanes, every)

    def with_value(self, place: int, value: int | None, every: int) -> "State":
        """Return the state after the active threads have set a register or stack slot."""
        places, values = dict(self.places), dict(self.values)
        places.pop(place, None)
        values.pop(place, None)
        if self.lanes != every:
            places[place] = Defined.of(self.lanes)
        if value is not None:
            values[place] = value
        return replace(self, places=places, values=values)

    def joined(self, other: "State", every: int) -> "State":
        """Return the known state where two paths join."""
        whole = Defined(every)
        places = {
            place: self.places.get(place, whole).joined(other.places.get(place, whole), every)
            for place in {**self.places, **other.places}
        }
        values = {
            place: value for place, value in self.values.items() if other.values.get(place) == value
        }
        return State(
            joined_lanes(self.lanes, other.lanes, every),
            places,
            values,
            self.depth if self.depth == other.depth else None,
            self.warp if self.warp == other.warp else None,
        )

    def key(self) -> tuple:
        """Return what a called function can depend on: active threads and arguments."""
        return (
            self.lanes,
            tuple((place, self.places[place]) for place in PASSED if place in self.places),
        )


def entered(lanes: Lanes, before: State | None = None) -> State:
    """Return the state at the start of a function; with arguments from the state before its call.

    Registers that it preserves count as defined: it only stores and loads them.
    """
    places = {} if before is None else before.places
    return State(lanes, {place: places[place] for place in PASSED if place in places})
