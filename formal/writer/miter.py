"""Miter: one module with the functions of two netlists, and the bits in which they may differ."""

import json
from collections.abc import Sequence
from typing import Any

from .sides import FUNCTIONS, Bit, Side

__all__ = ["Miter", "View"]


class Miter:
    """Module with free inputs and pairs of bits that must be equal for all of their values.

    Attributes
    ----------
    free : list of (str, int)
        Label and bit of each input.
    pairs : list of (str, Bit, Bit)
        Label and both bits of each pair.
    problems : list of str
        Differences that need no proof.

    """

    def __init__(self):
        self.count = 2  # the numbers below stand for constants
        self.free: list[tuple[str, int]] = []
        self.pairs: list[tuple[str, Bit, Bit]] = []
        self.problems: list[str] = []
        self.cells: dict[str, Any] = {}

    def bit(self) -> int:
        """Return a new bit."""
        self.count += 1
        return self.count - 1

    def input(self, label: str) -> int:
        """Return a new free input."""
        bit = self.bit()
        self.free.append((label, bit))
        return bit

    def equal(self, label: str, left: Bit, right: Bit) -> None:
        """Require two bits to be equal."""
        if left != right:
            self.pairs.append((label, left, right))

    def all_equal(self, label: str, left: Sequence[Bit], right: Sequence[Bit]) -> None:
        """Require two values to be equal; the shorter is extended by zeros."""
        for place in range(max(len(left), len(right))):
            one, other = (value[place] if place < len(value) else "0" for value in (left, right))
            self.equal(f"{label}[{place}]", one, other)

    def gate(self, kind: str, *inputs: Bit) -> Bit:
        """Return the output of a gate: ``AND``, ``OR``, ``XOR``, ``NOT``, or ``MUX`` of A, B, S."""
        output = self.bit()
        ports = {name: [bit] for name, bit in zip("ABS", inputs, strict=False)}
        self.add(f"$_{kind}_", {}, ports, {"Y": [output]})
        return output

    def any(self, bits: Sequence[Bit]) -> Bit:
        """Return whether any of some bits is high."""
        if not bits:
            return "0"
        return bits[0] if len(bits) == 1 else self.function("$reduce_or", {"A": bits}, 1)[0]

    def same(self, left: Sequence[Bit], right: Sequence[Bit]) -> Bit:
        """Return whether two values are equal."""
        return self.function("$eq", {"A": left, "B": right}, 1)[0]

    def function(self, kind: str, inputs: dict[str, Sequence[Bit]], width: int) -> list[Bit]:
        """Return the output of a function of unsigned values."""
        output: list[Bit] = [self.bit() for _ in range(width)]
        parameters = {f"{port}_WIDTH": f"{len(value):b}" for port, value in inputs.items()}
        parameters |= {f"{port}_SIGNED": "0" for port in inputs}
        self.add(kind, parameters | {"Y_WIDTH": f"{width:b}"}, inputs, {"Y": output})
        return output

    def add(self, kind: str, parameters: dict, inputs: dict, outputs: dict) -> None:
        """Add a cell."""
        directions = dict.fromkeys(inputs, "input") | dict.fromkeys(outputs, "output")
        self.cells[f"cell_{len(self.cells)}"] = {
            "type": kind,
            "parameters": parameters,
            "attributes": {},
            "port_directions": directions,
            "connections": {port: list(bits) for port, bits in (inputs | outputs).items()},
        }

    def text(self, only: int | None = None) -> str:
        """Return the module as JSON of Yosys: inputs ``free``, outputs ``differs``.

        With `only`, it has the output of that pair alone.
        """
        pairs = self.pairs if only is None else [self.pairs[only]]
        before = dict(self.cells)
        left, right = ([pair[side] for pair in pairs] for side in (1, 2))
        differs = self.function("$xor", {"A": left, "B": right}, len(left))
        cells, self.cells = self.cells, before
        driven = {bit for _, bit in self.free}
        for cell in cells.values():
            for _, bits in Side.outputs(cell):
                driven.update(bits)
        for cell in cells.values():
            for bits in cell["connections"].values():
                for bit in bits:
                    if isinstance(bit, int) and bit not in driven:
                        driven.add(bit)
                        self.free.append(("a bit without a driver", bit))
        ports = {
            "free": {"direction": "input", "bits": [bit for _, bit in self.free]},
            "differs": {"direction": "output", "bits": differs},
        }
        module = {"attributes": {}, "ports": ports, "cells": cells, "netnames": {}}
        return json.dumps({"creator": "spica", "modules": {"miter": module}})


class View:
    """Bits of one side as bits of a miter.

    Parameters
    ----------
    side : Side
    miter : Miter

    """

    def __init__(self, side: Side, miter: Miter):
        self.side, self.miter = side, miter
        self.known: dict[Bit, Bit] = {"0": "0", "1": "1"}
        #: Bits that are driven by the outputs of cells that are cut.
        self.driven: set[Bit] = set()
        #: Cells that are cut.
        self.cut: set[str] = set()

    def bit(self, bit: Bit) -> Bit:
        """Return a bit; an undefined one is a free input, another one each time."""
        if bit in ("x", "z"):
            return self.miter.input("undefined")
        known = self.known.get(bit)
        if known is None:
            known = self.known[bit] = self.miter.bit()
        return known

    def value(self, bits: Sequence[Bit]) -> list[Bit]:
        """Return the bits of a value."""
        return [self.bit(bit) for bit in bits]

    def drive(self, bit: Bit, source: Bit) -> None:
        """Let a bit of the side be driven by a bit of the miter."""
        if bit in self.driven or not isinstance(bit, int):
            self.miter.problems.append(f"bit {bit} is driven twice")
            return
        self.driven.add(bit)
        if bit in self.known:
            self.miter.add("$_BUF_", {}, {"A": [source]}, {"Y": [self.known[bit]]})
        else:
            self.known[bit] = source

    def copy(self, what: str) -> None:
        """Add all cells that are not cut; those with state are a problem."""
        for name, cell in self.side.cells.items():
            if name in self.cut:
                continue
            kind = cell["type"]
            if kind not in FUNCTIONS:
                self.miter.problems.append(f"{what} has {kind} {name} without a counterpart")
                continue
            outputs = dict(self.side.outputs(cell))
            inputs = {
                port: self.value(bits)
                for port, bits in cell["connections"].items()
                if port not in outputs
            }
            for bit in (bit for bits in outputs.values() for bit in bits):
                if bit in self.driven:
                    self.miter.problems.append(f"bit {bit} of {what} is driven twice")
                self.driven.add(bit)
            values = {port: self.value(bits) for port, bits in outputs.items()}
            if kind == "$shiftx":
                self.shift(cell, inputs, values["Y"])
            else:
                self.miter.add(kind, cell["parameters"], inputs, values)

    def shift(self, cell: dict, inputs: dict, output: list[Bit]) -> None:
        """Add a selection of bits of a value; a bit outside the value is a free input."""
        parameters = {**cell["parameters"], "A_SIGNED": "0"}
        selected, inside = ([self.miter.bit() for _ in output] for _ in range(2))
        self.miter.add("$shift", parameters, inputs, {"Y": selected})
        ones = {**inputs, "A": ["1"] * len(inputs["A"])}
        self.miter.add("$shift", parameters, ones, {"Y": inside})
        for bit, one, is_inside in zip(output, selected, inside, strict=True):
            undefined = self.miter.input("outside of a value")
            ports = {"A": [undefined], "B": [one], "S": [is_inside]}
            self.miter.add("$_MUX_", {}, ports, {"Y": [bit]})
