"""Complaints about values that cross the start of threads."""

from ..bodies import Body, bodies_of, location
from ..program import Program
from .lanes import Defined
from .state import ALWAYS, FLOAT_BASE, STACK_POINTER, State, entered
from .walk import ALONE, Walk

__all__ = ["crossing_values"]

#: A warp that starts within a function: its registers are undefined, and its stack is another one.
NOTHING = State(
    ALONE,
    {register: Defined(0) for register in range(1, 2 * FLOAT_BASE) if register not in ALWAYS},
    depth=None,
    warp=1,
)
NOTHING.places[STACK_POINTER] = Defined(0)
#: Threads of a warp that programs from elsewhere may have.
MOST_THREADS = 32


def crossing_values(program: Program, threads: int = MOST_THREADS) -> list[str]:
    """Return a sentence for each function in which threads use what only others have.

    Registers of threads that become active are undefined, and their stacks hold nothing of the
    thread that starts them. `main` and warps that it starts have one thread; all other functions
    are entered by all threads, unless they start warps. Pointers to a thread's stack, arguments of
    a launch and variables in memory may cross. `threads` is the number of threads of a warp.
    """
    bodies = bodies_of(program, with_runtime=True)
    own = [body for start, body in bodies.items() if start not in program.runtime]
    if not any(body.count("vx_tmc") for body in own):
        return []
    walk = Walk(program, bodies, (1 << threads) - 1)
    main = bodies.get(program.symbols.get("main", 0))
    if main is not None:
        walk.function(main, entered(ALONE))
    follow_starts(walk)
    for body in own:
        if not any(start == body.function.start for start, _ in walk.results):
            lanes = ALONE if body.count("vx_wspawn") else walk.every
            walk.function(body, entered(lanes))
            follow_starts(walk)
    return sentences(program, own, walk.faults)


def follow_starts(walk: Walk) -> None:
    """Walk from every place at which a warp is started."""
    seen: set[int] = set()
    while waiting := walk.started.keys() - seen:
        entry = min(waiting)
        seen.add(entry)
        body = walk.started[entry]
        if entry in walk.bodies:
            walk.function(walk.bodies[entry], entered(ALONE))
        elif entry in body.steps:
            walk.path(body, entry, NOTHING)


def sentences(program: Program, own: list[Body], faults: dict[int, str]) -> list[str]:
    """Return the first fault of each function, with its place."""
    texts = []
    for body in own:
        at = min((pc for pc in faults if pc in body.steps), default=None)
        if at is not None:
            what = f"{body.function.name} {faults[at]}"
            texts.append(f"{what}, at {location(program, body.steps[at])}")
    return texts
