"""Interface between instruction selection and the warp scheduling policies."""

from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

__all__ = ["SchedulingSignature"]


class SchedulingSignature(wiring.Signature):
    """Selection of a warp for issue.

    Parameters
    ----------
    warps : int
        Number of warps, 1 or more.

    Members
    -------
    ready : Out(warps)
        Warps with an instruction that can issue.
    grant : In(warps)
        One-hot; 0 if no warp is selected.
    accept : Out(1)
        An instruction of the granted warp is issued in this cycle; only with a grant.
    long_wait : Out(warps)
        Warps that will not be ready soon: waiting for memory or a barrier, or inactive.
    started : Out(warps)
        Warps that start.
    """

    def __init__(self, warps: int):
        super().__init__({
            "ready": Out(warps),
            "grant": In(warps),
            "accept": Out(1),
            "long_wait": Out(warps),
            "started": Out(warps),
        })
