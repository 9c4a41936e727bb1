"""Arithmetic of matrix units for each operand format: accumulator, result format, latency."""

from dataclasses import dataclass

__all__ = ["ARITHMETIC", "Arithmetic"]


@dataclass(frozen=True, kw_only=True)
class Arithmetic:
    """Arithmetic of a matrix unit for operands of one format.

    Parameters
    ----------
    accumulator : str
        Format of partial sums and of the accumulator.
    narrow : str
        Format of C unless a command selects the accumulator's; equal to `accumulator` if no
        narrower format is useful.
    latency : int
        Latency of a multiply-add in cycles, with stages within the logic-depth budget. A power of
        two: it divides the column blocks of usual tiles if sums stay in the array.

    """

    accumulator: str
    narrow: str
    latency: int

    @property
    def c_formats(self) -> tuple[str, ...]:
        """Formats that C can have, the narrow one first."""
        return tuple(dict.fromkeys((self.narrow, self.accumulator)))


#: Arithmetic for each format of A and B.
ARITHMETIC: dict[str, Arithmetic] = {
    "fp16": Arithmetic(accumulator="fp32", narrow="fp16", latency=2),
    "bf16": Arithmetic(accumulator="fp32", narrow="bf16", latency=2),
    "fp8_e4m3": Arithmetic(accumulator="fp32", narrow="fp16", latency=2),
    "fp8_e5m2": Arithmetic(accumulator="fp32", narrow="fp16", latency=2),
    "fp32": Arithmetic(accumulator="fp32", narrow="fp32", latency=4),
    "int8": Arithmetic(accumulator="int32", narrow="int32", latency=2),
}
