"""Golden model of the memory order: all outcomes allowed to agents that share memory.

The model is that of ``docs/machine.md``. Memory is one place, the L2. A core holds copies of
parts of it. Its loads and stores use the copies, and its fences invalidate them. Its accesses
reach memory in any order, except that those to one beat stay in order. The DMA has no copy.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from .memory_steps import Agent, Await, Copy, Fence, FenceI, Fetch, Load, Places, Step, Store

__all__ = ["Outcome", "outcomes"]

#: Final state: registers in the order of their names, and memory in the order of places.
Outcome = tuple[tuple[int, ...], tuple[int, ...]]
Values = tuple[int | None, ...]


@dataclass(frozen=True)
class Access:
    """A step that has begun and is not complete."""

    agent: int
    step: Step
    value: int | None = None  # read by the DMA for the first word of a copy


@dataclass(frozen=True)
class State:
    """State of the machine: data copies by core and word, code copies by agent and word."""

    at: tuple[int, ...]
    memory: tuple[int, ...]
    copies: tuple[Values, ...]
    code: tuple[Values, ...]
    pending: tuple[Access, ...]
    registers: tuple[int, ...]


def put(values: tuple, index: int, value) -> tuple:
    """Return a tuple with one entry replaced."""
    return (*values[:index], value, *values[index + 1 :])


def outcomes(agents: Sequence[Agent], places: Places) -> set[Outcome]:
    """Return every outcome that the model allows."""
    return Search(agents, places).run()


class Search:
    """Exhaustive search of all states reachable from the first."""

    def __init__(self, agents: Sequence[Agent], places: Places):
        self.agents, self.places = agents, places
        self.index = {name: n for n, name in enumerate(places.names)}
        self.groups = {
            name: tuple(self.index[other] for other in places.together(name))
            for name in places.names
        }
        self.cores = max(agent.core for agent in agents) + 1
        self.registers = sorted({
            step.register
            for agent in agents
            for step in agent.steps
            if isinstance(step, Load | Fetch)
        })
        self.number = {name: n for n, name in enumerate(self.registers)}
        self.cached = [name for name, beat in places.beats.items() if beat is not None]

    def first(self) -> State:
        """Return the initial state, in which the copies equal memory."""
        memory = (0,) * len(self.index)
        return State(
            at=(0,) * len(self.agents),
            memory=memory,
            copies=(memory,) * self.cores,
            code=(memory,) * len(self.agents),
            pending=(),
            registers=(0,) * len(self.registers),
        )

    def run(self) -> set[Outcome]:
        """Return the outcomes of all final states."""
        first = self.first()
        seen, waits, outcomes = {first}, [first], set()
        while waits:
            state = waits.pop()
            if not state.pending and all(
                at == len(agent.steps) for at, agent in zip(state.at, self.agents, strict=True)
            ):
                outcomes.add((state.registers, state.memory))
                continue
            for following in self.following(state):
                if following not in seen:
                    seen.add(following)
                    waits.append(following)
        return outcomes

    def following(self, state: State) -> Iterator[State]:
        """Yield every possible next state."""
        for number, agent in enumerate(self.agents):
            if state.at[number] < len(agent.steps):
                yield from self.begin(state, number, agent.steps[state.at[number]])
        for number, access in enumerate(state.pending):
            yield from self.perform(state, number, access)
        for place in self.cached:  # other loads of a core may evict and refill any line
            for core in range(self.cores):
                if self.will_load(state, core, place) and not self.stores(state, core, place):
                    yield self.fill(state, core, place)
        for number, agent in enumerate(self.agents):  # later instructions may be prefetched
            for step in agent.steps[state.at[number] :]:
                if isinstance(step, Fetch):
                    index = self.index[step.place]
                    code = put(state.code[number], index, state.memory[index])
                    yield replace(state, code=put(state.code, number, code))

    def will_load(self, state: State, core: int, place: str) -> bool:
        """Return whether an agent of a core will load from a beat; otherwise no copy matters."""
        return any(
            isinstance(step, Load) and self.index[step.place] in self.groups[place]
            for agent, at in zip(self.agents, state.at, strict=True)
            if agent.core == core
            for step in agent.steps[at:]
        )

    def of_beat(self, state: State, core: int, place: str) -> list[Access]:
        """Return the incomplete loads and stores of a core to a beat."""
        return [
            access
            for access in state.pending
            if isinstance(access.step, Load | Store)
            and self.agents[access.agent].core == core
            and self.index[access.step.place] in self.groups[place]
        ]

    def stores(self, state: State, core: int, place: str) -> bool:
        """Return whether a store of a core to a beat is incomplete."""
        return any(isinstance(access.step, Store) for access in self.of_beat(state, core, place))

    def fill(self, state: State, core: int, place: str) -> State:
        """Return the state after a core copies a beat from memory."""
        copies = state.copies[core]
        for index in self.groups[place]:
            copies = put(copies, index, state.memory[index])
        return replace(state, copies=put(state.copies, core, copies))

    def begin(self, state: State, number: int, step: Step) -> Iterator[State]:
        """Yield the possible next states after an agent begins a step."""
        core = self.agents[number].core
        moved = replace(state, at=put(state.at, number, state.at[number] + 1))
        waits = replace(moved, pending=(*moved.pending, Access(number, step)))
        own_pending = [access.step for access in state.pending if access.agent == number]
        none: Values = (None,) * len(self.index)
        is_done = not any(isinstance(other, Load | Store) for other in own_pending)
        match step:
            case Fence():
                if is_done:
                    yield replace(moved, copies=put(state.copies, core, none))
            case FenceI():
                if is_done:
                    yield replace(moved, code=put(state.code, number, none))
            case Await():
                if not any(isinstance(other, Copy) for other in own_pending):
                    yield moved
            case Fetch():
                index = self.index[step.place]
                for value in {state.memory[index], state.code[number][index]} - {None}:
                    yield self.know(moved, step.register, value)
            case Load():
                held = state.copies[core][self.index[step.place]]
                is_near = self.places.beats[step.place] is not None
                if is_near and held is not None and not self.loads(state, core, step.place):
                    yield self.know(moved, step.register, held)
                yield waits
            case Store():
                if self.places.beats[step.place] is None:
                    yield waits
                elif not self.loads(state, core, step.place):
                    yield self.copy_store(waits, core, step)
            case Copy():
                yield waits

    def loads(self, state: State, core: int, place: str) -> bool:
        """Return whether a load of a beat is incomplete."""
        return any(isinstance(access.step, Load) for access in self.of_beat(state, core, place))

    def know(self, state: State, register: str, value: int) -> State:
        """Return the state after a register is set to a value."""
        return replace(state, registers=put(state.registers, self.number[register], value))

    def copy_store(self, state: State, core: int, step: Store) -> State:
        """Return the state after a store to a core's copy, if the core has one."""
        index = self.index[step.place]
        held = state.copies[core][index]
        if held is None:
            return state
        value = held & ~step.mask | step.value & step.mask
        return replace(state, copies=put(state.copies, core, put(state.copies[core], index, value)))

    def perform(self, state: State, number: int, access: Access) -> Iterator[State]:
        """Yield the possible next states after an access reaches memory."""
        step, core = access.step, self.agents[access.agent].core
        left = replace(state, pending=(*state.pending[:number], *state.pending[number + 1 :]))
        if isinstance(step, Copy):
            yield from self.step_copy(state, number, access)
            return
        assert isinstance(step, Load | Store)
        older = self.of_beat(replace(state, pending=state.pending[:number]), core, step.place)
        if older:
            return
        index = self.index[step.place]
        held = state.memory[index]
        if isinstance(step, Store):
            value = held & ~step.mask | step.value & step.mask
            yield replace(left, memory=put(state.memory, index, value))
        else:
            known = self.know(left, step.register, held)
            yield known
            if self.places.beats[step.place] is not None:
                yield self.fill(known, core, step.place)

    def step_copy(self, state: State, number: int, access: Access) -> Iterator[State]:
        """Yield the possible next states after the DMA reads or writes one word of a copy."""
        assert isinstance(access.step, Copy)
        words = access.step.words
        for n, (source, target) in enumerate(words):
            if access.value is None:
                read = state.memory[self.index[source]]
                rest = (words[n], *words[:n], *words[n + 1 :])
                changed = Access(access.agent, Copy(rest), read)
                yield replace(state, pending=put(state.pending, number, changed))
                continue
            memory = put(state.memory, self.index[target], access.value)
            pending = (*state.pending[:number], *state.pending[number + 1 :])
            if len(words) > 1:
                pending = put(state.pending, number, Access(access.agent, Copy(words[1:])))
            yield replace(state, memory=memory, pending=pending)
            break
