"""Description of an arithmetic unit for its test bench."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from amaranth.lib import wiring

__all__ = ["Unit"]


@dataclass(frozen=True, kw_only=True)
class Unit:
    """One arithmetic unit: construction, stimulus, golden model and oracle.

    Parameters
    ----------
    name : str
        Unique, an identifier.
    group : str
        Table heading of the unit.
    component : callable
        Makes the component. Its ports hold stored bits: numbers or arrays of them.
    latency : int
        Cycles from inputs to outputs; 0 for a combinational unit.
    interval : int
        Cycles per result. Inputs are held that long; one called ``valid`` is 1 in the first.
    operands : callable
        ``operands(rng, count)`` returns each input port's stimulus: one element per vector, or
        one row of elements per vector for an array.
    golden : callable
        ``golden(**inputs)`` returns each output port's expected values, one per vector.
    oracle : str
        Name of an independent implementation.
    reference : callable or None
        That oracle, with the signature of `golden`; it imports its dependencies itself.
    exhaustive : callable or None
        Returns every possible input, or every one of some operations, if there are few.

    """

    name: str
    group: str
    component: Callable[[], wiring.Component]
    latency: int
    interval: int = 1
    operands: Callable[[np.random.Generator, int], dict[str, np.ndarray]]
    golden: Callable[..., dict[str, np.ndarray]]
    oracle: str
    reference: Callable[..., dict[str, np.ndarray]] | None = None
    exhaustive: Callable[[], dict[str, np.ndarray]] | None = None

    def __post_init__(self):
        if not self.name.isidentifier():
            raise ValueError(f"name must be an identifier, not {self.name!r}")
        if self.latency < 0:
            raise ValueError(f"latency must be at least 0, not {self.latency}")
        if self.interval < 1:
            raise ValueError(f"interval must be at least 1, not {self.interval}")
