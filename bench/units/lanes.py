"""Placement of a unit's ports on the shared buses, and packing of arrays onto them.

A port begins at a whole word. Each number on it has a lane of 8, 16, 32 or 64 bits, so that arrays
are packed by type conversion alone. A port with a single number takes at least a word.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum

import numpy as np
from amaranth.hdl import Shape
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In

from spica.sim.golden.arith.stored import require_members, require_stored

__all__ = ["Lanes", "Port", "ports_of"]


@dataclass(frozen=True)
class Port:
    """One port: `elements` numbers of `width` bits in lanes of `lane` bits, from word `word` on.

    If the numbers are those of an enumeration, `members` is that.
    """

    name: str
    width: int
    elements: int
    is_array: bool
    word: int
    members: type[IntEnum] | None = None

    @property
    def lane(self) -> int:
        """Bits between the first bits of two elements."""
        lanes = (8, 16, 32, 64) if self.is_array else (32, 64)
        return next(lane for lane in lanes if lane >= self.width)

    @property
    def bits(self) -> int:
        """Bits of the port without padding."""
        return self.elements * self.width

    @property
    def words(self) -> int:
        """Number of words occupied."""
        return -(-self.elements * self.lane // 32)

    @property
    def dtype(self) -> np.dtype:
        """NumPy type of a lane."""
        return np.dtype(f"<u{self.lane // 8}")


@dataclass(frozen=True)
class Lanes:
    """All ports of one direction, in order."""

    ports: tuple[Port, ...]

    @property
    def words(self) -> int:
        """Words of the bus that they occupy."""
        return sum(port.words for port in self.ports)

    def pack(self, arrays: Mapping[str, np.ndarray], first_word: int = 0) -> np.ndarray:
        """Return the words of each vector, after `first_word` words reserved for the caller.

        Raise unless each array has the shape of its port and integers that the port takes.
        """
        names = [port.name for port in self.ports]
        if set(arrays) != set(names):
            raise ValueError(f"inputs must be {', '.join(names)}, not {', '.join(arrays)}")
        lengths = {len(array) for array in arrays.values()}
        if len(lengths) != 1:
            raise ValueError(f"inputs must all have one length, not {sorted(lengths)}")
        words = np.zeros((lengths.pop(), first_word + self.words), np.uint32)
        for port in self.ports:
            array = np.asarray(arrays[port.name])
            shape = (len(array), port.elements) if port.is_array else (len(array),)
            if array.shape != shape:
                raise ValueError(f"{port.name} must have shape {shape}, not {array.shape}")
            require_stored(port.name, array, port.width)
            if port.members is not None:
                require_members(port.name, array, port.members)
            self.place(words[:, first_word:], port, array.reshape(len(array), port.elements))
        return words

    @staticmethod
    def place(words: np.ndarray, port: Port, array: np.ndarray) -> None:
        """Write the elements of one port to their words."""
        lanes = array.astype(port.dtype)
        target = words[:, port.word : port.word + port.words]
        if port.lane == 64:
            target[:] = lanes.view("<u4")
            return
        per_word = 32 // port.lane
        whole = port.elements // per_word
        target[:, :whole] = np.ascontiguousarray(lanes[:, : whole * per_word]).view("<u4")
        for k in range(whole * per_word, port.elements):
            target[:, whole] |= lanes[:, k].astype(np.uint32) << np.uint32(k % per_word * port.lane)

    def unpack(self, words: np.ndarray) -> dict[str, np.ndarray]:
        """Return the values of each port, taken from the first words of each row."""
        values = {}
        for port in self.ports:
            columns = np.ascontiguousarray(words[:, port.word : port.word + port.words])
            lanes = columns.view(port.dtype)[:, : port.elements]
            values[port.name] = lanes if port.is_array else lanes[:, 0]
        return values


def ports_of(component: wiring.Component, flow=In) -> Lanes:
    """Return the ports of `component` in one direction, or the members of its interfaces."""
    ports: list[Port] = []
    word = 0
    for path, member, _ in component.signature.flatten(component):
        if member.flow != flow:
            continue
        name = str(path[-1])
        is_array = isinstance(member.shape, data.ArrayLayout)
        element, elements = (
            (member.shape.elem_shape, member.shape.length) if is_array else (member.shape, 1)
        )
        width = Shape.cast(element).width
        if not 1 <= width <= 64:
            raise ValueError(f"numbers on a port must have 1 to 64 bits, not {width} on {name}")
        members = element if isinstance(element, type) and issubclass(element, IntEnum) else None
        ports.append(Port(name, width, elements, is_array, word, members))
        word += ports[-1].words
    return Lanes(tuple(ports))
