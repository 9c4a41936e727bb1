"""Fast packing of values into integers, for benches that access wide ports in every cycle."""

from collections.abc import Iterable, Sequence
from typing import Any

from amaranth.hdl import Cat, Shape, ShapeLike, Value
from amaranth.lib import data

__all__ = ["Packing", "Together", "joined"]


def joined(elements: Iterable, width: int) -> int:
    """Return elements of `width` bits as one number, the first in the lowest bits."""
    return sum(int(element) << width * place for place, element in enumerate(elements))


class Packing:
    """Packer of a layout with precomputed field offsets; `data.Layout` finds them at each use.

    A dict represents a struct, a list an array, an integer (from -2**(n-1) to 2**n-1) n bits.

    Parameters
    ----------
    shape : ShapeLike
        Struct layout, array layout or plain shape; plain bits are unpacked as unsigned.

    """

    def __init__(self, shape: ShapeLike):
        self.width = Shape.cast(shape).width
        self.names: list[Any] | None = None
        if isinstance(shape, data.StructLayout | data.ArrayLayout):
            fields = dict(iter(shape))
            self.is_array = isinstance(shape, data.ArrayLayout)
            self.names = list(fields)
            self.offsets = [field.offset for field in fields.values()]
            shapes = {id(field.shape): field.shape for field in fields.values()}
            packings = {key: Packing(value) for key, value in shapes.items()}
            self.packings = [packings[id(field.shape)] for field in fields.values()]

    def pack(self, value: Any) -> int:
        """Return `value` packed into an integer."""
        if self.names is None:
            return int(value) & ((1 << self.width) - 1)
        number = 0
        for name, offset, packing in zip(self.names, self.offsets, self.packings, strict=True):
            number |= packing.pack(value[name]) << offset
        return number

    def unpack(self, number: int) -> Any:
        """Return the value that is packed in `number`."""
        if self.names is None:
            return number & ((1 << self.width) - 1)
        values = [
            packing.unpack(number >> offset)
            for offset, packing in zip(self.offsets, self.packings, strict=True)
        ]
        return values if self.is_array else dict(zip(self.names, values, strict=True))


class Together:
    """Signals that are set in one assignment, as the simulator settles after each.

    Parameters
    ----------
    signals : sequence of ValueLike

    """

    def __init__(self, signals: Sequence):
        values = [Value.cast(signal) for signal in signals]
        self.target, self.widths = Cat(values), [len(value) for value in values]

    def set(self, ctx, values: Iterable[int]) -> None:
        """Set each signal to its value."""
        word = offset = 0
        for value, width in zip(values, self.widths, strict=True):
            word |= value << offset
            offset += width
        ctx.set(self.target, word)
