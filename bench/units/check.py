"""Comparison of a unit's results with the expected ones."""

from collections.abc import Mapping

import numpy as np

from .unit import Unit

__all__ = ["Comparison"]

Arrays = Mapping[str, np.ndarray]


class Comparison:
    """Vectors that differ, and their differences.

    Parameters
    ----------
    unit : Unit
    inputs : mapping of str to ndarray
    got, expected : mapping of str to ndarray
        Outputs of two sources.
    sources : tuple of str
        Names of these sources in texts.

    Attributes
    ----------
    wrong : array of bool
        One per vector.
    compared : int
        Number of outputs compared; masked ones do not count.

    """

    def __init__(
        self,
        unit: Unit,
        inputs: Arrays,
        got: Arrays,
        expected: Arrays,
        sources: tuple[str, str] = ("the RTL", "the golden model"),
    ):
        self.sources = sources
        self.unit, self.inputs, self.got, self.expected = unit, inputs, got, expected
        if set(got) != set(expected):
            raise ValueError(
                f"outputs of {unit.name} must all be predicted: {', '.join(got)}, "
                f"not {', '.join(expected)}"
            )
        self.differs = {name: difference(got[name], expected[name]) for name in expected}
        self.wrong = np.logical_or.reduce(list(self.differs.values()))
        self.compared = sum(int(np.ma.count(values)) for values in expected.values())

    @property
    def mismatches(self) -> int:
        """Number of vectors that differ."""
        return int(self.wrong.sum())

    def __str__(self) -> str:
        """Return the first vectors that differ, one per line; empty if none does."""
        if not self.mismatches:
            return ""
        lines = [f"{self.unit.name}: {self.mismatches} of {len(self.wrong)} vectors are wrong"]
        first, second = self.sources
        for k in np.nonzero(self.wrong)[0][:5]:
            given = ", ".join(f"{name}={shown(array[k])}" for name, array in self.inputs.items())
            lines += [
                f"  {k}: {given}: {name} is {shown(self.got[name][k])} of {first}, "
                f"{shown(self.expected[name][k])} of {second}"
                for name, differs in self.differs.items()
                if differs[k]
            ]
        return "\n".join(lines)


def difference(got: np.ndarray, expected: np.ndarray) -> np.ndarray:
    """Return which vectors differ in one output; masked values never do."""
    differs = np.ma.filled(integers(got) != integers(expected), False)
    return np.any(differs.reshape(len(got), -1), axis=1)


def integers(values: np.ndarray) -> np.ndarray:
    """Return integers or flags converted to a type that can be compared."""
    values = np.ma.asarray(values) if np.ma.isMaskedArray(values) else np.asarray(values)
    if values.dtype.kind not in "iub":
        raise TypeError(f"outputs must be integers, not {values.dtype}")
    return values.astype(np.int64)


def shown(value) -> str:
    """Return a number, or a row of them, in hexadecimal."""
    if np.ndim(value):
        return f"[{' '.join(f'{int(element):x}' for element in value)}]"
    return hex(int(value))
