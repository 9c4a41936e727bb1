"""What matrix units make of operands of each format: sums, results, latency."""

from dataclasses import dataclass

__all__ = ["ARITHMETIC", "Arithmetic"]


@dataclass(frozen=True, kw_only=True)
class Arithmetic:
    """What a matrix unit makes of operands of one format.

    Parameters
    ----------
    accumulator : str
        Format of partial sums and of the accumulator.
    narrow : str
        Format of C where a command does not ask for the accumulator's; the same where there is
        no narrower one that serves.
    latency : int
        Cycles of a multiply-add whose stages stay within the budget of logic depth: a power of
        two, which divides the column blocks of usual tiles where sums stay in the array.

    """

    accumulator: str
    narrow: str
    latency: int

    @property
    def c_formats(self) -> tuple[str, ...]:
        """Formats that C can have, the narrow one first."""
        return tuple(dict.fromkeys((self.narrow, self.accumulator)))


#: The arithmetic of each format of A and B.
ARITHMETIC: dict[str, Arithmetic] = {
    "fp16": Arithmetic(accumulator="fp32", narrow="fp16", latency=2),
    "bf16": Arithmetic(accumulator="fp32", narrow="bf16", latency=2),
    "fp8_e4m3": Arithmetic(accumulator="fp32", narrow="fp16", latency=2),
    "fp8_e5m2": Arithmetic(accumulator="fp32", narrow="fp16", latency=2),
    "fp32": Arithmetic(accumulator="fp32", narrow="fp32", latency=4),
    "int8": Arithmetic(accumulator="int32", narrow="int32", latency=2),
}
