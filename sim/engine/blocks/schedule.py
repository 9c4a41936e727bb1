"""Order of evaluation of the parts of a partition, fixed by their combinational paths."""

from collections.abc import Mapping
from dataclasses import dataclass

from ....hw.emit.emission import TOP
from .partition import Part, Partition

__all__ = ["Step", "schedule"]


@dataclass(frozen=True)
class Step:
    """One evaluation of a part: inputs that are final before it, and were not at the last one."""

    part: str
    inputs: tuple[str, ...]


def schedule(partition: Partition) -> tuple[Step, ...]:
    """Return the evaluations of a cycle, after all registers have their new values.

    Each part is evaluated when all its inputs are final. A part whose outputs other parts need
    earlier is also evaluated when the inputs of those outputs are final.

    Raises
    ------
    ValueError
        If outputs of parts depend on each other in a cycle.

    """
    order = Order({part.name: part for part in partition.parts})
    while order.waiting:
        order.step()
    return tuple(order.steps)


class Order:
    """Order of evaluation in progress."""

    def __init__(self, parts: Mapping[str, Part]):
        self.parts = parts
        self.waiting = dict.fromkeys(parts)
        self.final = {
            (name, output)
            for name, part in parts.items()
            for output, inputs in part.paths.items()
            if not inputs
        }
        self.done: dict[str, set[str]] = {name: set() for name in parts}
        self.steps: list[Step] = []

    def known(self, part: Part) -> set[str]:
        """Return the inputs of a part whose sources are final."""
        return {
            name
            for name, pieces in part.inputs.items()
            if all(one.instance == TOP or (one.instance, one.port) in self.final for one in pieces)
        }

    def gain(self, part: Part) -> set[tuple[str, str]]:
        """Return the outputs of a part that an evaluation now would make final."""
        known = self.known(part)
        return {
            (part.name, output) for output, inputs in part.paths.items() if inputs <= known
        } - self.final

    def step(self) -> None:
        """Evaluate a part with all inputs, or the one that gains most."""
        for name in self.waiting:
            if len(self.known(self.parts[name])) == len(self.parts[name].inputs):
                del self.waiting[name]
                self.evaluate(self.parts[name])
                return
        part = max((self.parts[name] for name in self.waiting), key=lambda one: len(self.gain(one)))
        if not self.gain(part):
            stuck = sorted(
                f"{name}.{output}"
                for name in self.waiting
                for output in self.parts[name].paths
                if (name, output) not in self.final
            )
            raise ValueError(f"outputs must not depend on each other in a cycle: {stuck}")
        self.evaluate(part)

    def evaluate(self, part: Part) -> None:
        """Add the evaluation of a part."""
        known = self.known(part)
        self.final |= self.gain(part)
        self.steps.append(Step(part.name, tuple(sorted(known - self.done[part.name]))))
        self.done[part.name] |= known
