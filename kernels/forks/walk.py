"""Walk through the functions of a program: what the threads have at every instruction."""

from dataclasses import dataclass, field, replace

from ...hw.isa.assembly import FLOAT_NAMES, INTEGER_NAMES
from ..bodies import RETURN_ADDRESS, Body, Step
from ..demangle import BLOCK
from ..program import Program
from .lanes import Defined, Lanes
from .state import FLOAT_BASE, PRESERVED, STACK_POINTER, State, entered
from .step import after, decided, reads

__all__ = ["Walk"]

#: The one thread that `main` and started warps have.
ALONE = 1
#: Functions that start threads and return in the thread that called them.
LAUNCH = ("spica_run_warps", "spica_spawn_tasks", "spica_run_block")
#: The function at which a parallel block ends, and the place of the address where it continues.
LEAVE, LEAVE_PLACE, LEAVE_BYTES = "spica_leave", 12, 16

CROSSES = (
    "from before other threads became active, which do not have it: compute it after that, or put "
    "what these threads do into a function of its own, as SPICA_PARALLEL and spica_launch do"
)
NESTED = (
    "starts warps from several threads: a parallel block must not be inside another or in a launch"
)


@dataclass
class Walk:
    """Walk through functions, each once for every set of active threads and defined arguments.

    Attributes
    ----------
    program : Program
    bodies : dict of int to Body
        All functions, by address; those of the runtime are included.
    every : int
        Mask of all threads of a warp.
    faults : dict of int to str
        What is wrong at an instruction, by address.
    results : dict of tuple to State or None
        State at the return of each function, None while it is not known or if it never returns.
    started : dict of int to Body
        Addresses at which other warps start, with the functions that start them.

    """

    program: Program
    bodies: dict[int, Body]
    every: int
    faults: dict[int, str] = field(default_factory=dict)
    results: dict[tuple, State | None] = field(default_factory=dict)
    started: dict[int, Body] = field(default_factory=dict)

    def function(self, body: Body, state: State) -> State | None:
        """Return the state at the return of a function that is entered in a state."""
        key = (body.function.start, state.key())
        if key not in self.results:
            self.results[key] = None
            self.results[key] = self.path(body, body.function.start, state)
        return self.results[key]

    def path(self, body: Body, start: int, state: State) -> State | None:
        """Return the joined state at all returns that are reached from an instruction."""
        states, waiting = {start: state}, [start]
        returns: State | None = None
        jumps: list[State] = []
        while waiting:
            step = body.steps[waiting.pop()]
            before = states[step.pc]
            self.check(step, before)
            if is_return(step):
                returns = before if returns is None else returns.joined(before, self.every)
            elif step.leaves and self.target(step, before) is None:
                jumps.append(before)
            for pc, following in self.followers(body, step, before):
                known = states.get(pc)
                joined = following if known is None else known.joined(following, self.every)
                if joined != known:
                    states[pc] = joined
                    waiting.append(pc)
            if not waiting and jumps:
                # A table of addresses: its targets are where nothing else leads.
                common = jumps.pop()
                unknown = [pc for pc in body.steps if pc not in states and pc - 4 in states]
                states.update(dict.fromkeys(unknown, common))
                waiting += unknown
                jumps += [common] if unknown else []
        return returns

    def check(self, step: Step, state: State) -> None:
        """Record a fault if threads read undefined values, or if several start others."""
        for place in reads(step, state):
            if not state.defined(place, self.every):
                self.faults.setdefault(step.pc, f"uses {named(place)} {CROSSES}")
        lanes = state.lanes
        if step.name == "vx_wspawn" and not isinstance(lanes, str) and lanes & (lanes - 1):
            self.faults.setdefault(step.pc, NESTED)

    def target(self, step: Step, state: State) -> int | None:
        """Return the target of a jump, None if it is not known."""
        if step.name == "jal":
            return step.pc + step.immediate("j")
        base = state.values.get(step.field("rs1"))
        return None if base is None else base + step.immediate("i") & 0xFFFF_FFFE

    def followers(self, body: Body, step: Step, state: State) -> list[tuple[int, State]]:
        """Return the instructions that can follow in this function, with their states."""
        if step.name == "vx_tmc":
            return self.after_mask(body, step, state)
        if step.name in ("jal", "jalr"):
            return self.after_jump(body, step, state)
        if step.name == "vx_wspawn":
            entry = state.values.get(step.field("rs2"))
            if entry is not None:
                self.started.setdefault(entry, body)
        following = after(step, state, self.every)
        addresses, branches = body.successors(step), decided(step, state)
        if branches is not None:
            only = step.pc + (step.immediate("b") if branches else 4)
            addresses = [pc for pc in addresses if pc == only]
        return [(pc, following) for pc in addresses]

    def after_mask(self, body: Body, step: Step, state: State) -> list[tuple[int, State]]:
        """Return what follows `vx_tmc`."""
        source = step.field("rs1")
        value = 0 if source == 0 else state.values.get(source)
        lanes: Lanes = f"{step.pc:#x}" if value is None else value & self.every
        if lanes == 0:
            return []
        return [(pc, replace(state, lanes=lanes)) for pc in body.successors(step)]

    def after_jump(self, body: Body, step: Step, state: State) -> list[tuple[int, State]]:
        """Return what follows a jump or call."""
        target = self.target(step, state)
        is_call = step.field("rd") != 0
        if not is_call and target in body.steps and target != body.function.start:
            return [(target, state)]
        if is_return(step) or (target is None and not is_call):
            return []
        if target is not None and self.program.symbols.get(LEAVE) == target:
            return self.after_block(body, state)
        state = after(step, state, self.every)
        called = None if target is None else self.bodies.get(target)
        end = entered(state.lanes)
        if called is not None and not called.function.name.startswith(LAUNCH):
            end = self.function(called, arguments(called, state))
        if end is None or not is_call or step.pc + 4 not in body.steps:
            return []
        return [(step.pc + 4, returned(state, end.lanes, self.every))]

    def after_block(self, body: Body, state: State) -> list[tuple[int, State]]:
        """Return the state after a parallel block, in the thread that continues."""
        if state.depth is None:
            return []
        place = state.values.get(LEAVE_PLACE - state.depth)
        if place not in body.steps:
            return []
        end = returned(replace(state, depth=state.depth - LEAVE_BYTES), ALONE, self.every)
        registers = {place: Defined(ALONE) for place in range(1, 2 * FLOAT_BASE)}
        return [(place, replace(end, places={**end.places, **registers}))]


def arguments(called: Body, state: State) -> State:
    """Return the state at the start of a called function.

    A parallel block has no arguments in float registers. Its own code may seem to read one, on a
    path that never runs: accumulators of tensor instructions are such registers.
    """
    start = entered(state.lanes, state)
    if not called.function.name.startswith(BLOCK):
        return start
    places = {place: where for place, where in start.places.items() if place < FLOAT_BASE}
    return replace(start, places=places)


def is_return(step: Step) -> bool:
    """Return whether an instruction returns to the address in `ra`."""
    return step.leaves and step.field("rs1") == RETURN_ADDRESS


def returned(state: State, lanes: Lanes, every: int) -> State:
    """Return the state after a call, when these threads are active."""
    places = {
        place: where for place, where in state.places.items() if place < 0 or place in PRESERVED
    }
    if lanes != every:
        lost = (place for place in range(1, 2 * FLOAT_BASE) if place not in PRESERVED)
        places.update(dict.fromkeys(lost, Defined.of(lanes)))
    values = {place: v for place, v in state.values.items() if place < 0 or place in PRESERVED}
    return replace(state, lanes=lanes, places=places, values=values)


def named(place: int) -> str:
    """Return the name of a place in a message."""
    if place < 0:
        return "a value on the stack"
    if place == STACK_POINTER:
        return "the stack"
    names = INTEGER_NAMES if place < FLOAT_BASE else FLOAT_NAMES
    return f"the value in {names[place % FLOAT_BASE]}"
