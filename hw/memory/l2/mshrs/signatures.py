"""Interfaces between the parts of the MSHR file of an L2 slice."""

from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ..layouts import L2SliceConfig

__all__ = [
    "L2MshrSignature",
    "RefillBeginSignature",
    "RefillEndSignature",
    "RetrySignature",
    "SuccessorSignature",
]


class L2MshrSignature(wiring.Signature):
    """MSHR of the operation that is looked up, seen from the states.

    Parameters
    ----------
    config : L2SliceConfig

    Members
    -------
    number : Out(config.mshr_width)
    one_hot : Out(config.l2.mshrs)
    waits : Out(1)
        It is a read that waits from now on, in MSHR `waiting`.
    waiting : Out(config.mshr_width)
    """

    def __init__(self, config: L2SliceConfig):
        super().__init__({
            "number": Out(config.mshr_width),
            "one_hot": Out(config.l2.mshrs),
            "waits": Out(1),
            "waiting": Out(config.mshr_width),
        })


class RetrySignature(wiring.Signature):
    """MSHRs that request a look-up, seen from the states.

    Parameters
    ----------
    config : L2SliceConfig

    Members
    -------
    waits : Out(config.l2.mshrs)
        It requests a look-up.
    ready : Out(config.l2.mshrs)
        It may be looked up when it is its turn; as a fill if `here`.
    here : Out(config.l2.mshrs)
    passing : Out(config.l2.mshrs)
        Its line is not kept.
    pick : In(config.l2.mshrs)
        Its look-up is issued.
    """

    def __init__(self, config: L2SliceConfig):
        mshrs = config.l2.mshrs
        super().__init__(
            {name: Out(mshrs) for name in ("waits", "ready", "here", "passing")}
            | {"pick": In(mshrs)}
        )


class SuccessorSignature(wiring.Signature):
    """Successor of the MSHR picked in the last cycle, seen from the links.

    Parameters
    ----------
    config : L2SliceConfig

    Members
    -------
    one_hot : Out(config.l2.mshrs)
        0 if it has none.
    number : Out(config.mshr_width)
    """

    def __init__(self, config: L2SliceConfig):
        super().__init__({"one_hot": Out(config.l2.mshrs), "number": Out(config.mshr_width)})


class RefillBeginSignature(wiring.Signature):
    """Begin of a refill, seen from the queue of DRAM reads.

    Parameters
    ----------
    config : L2SliceConfig

    Members
    -------
    mshrs : Out(config.l2.mshrs)
        The line of this MSHR will be read, from beat `first` on.
    first : Out(config.beat_width)
    """

    def __init__(self, config: L2SliceConfig):
        super().__init__({"mshrs": Out(config.l2.mshrs), "first": Out(config.beat_width)})


class RefillEndSignature(wiring.Signature):
    """End of a refill, seen from the refill buffer.

    Parameters
    ----------
    config : L2SliceConfig

    Members
    -------
    ends, fails : Out(config.l2.mshrs)
        The last beat for this MSHR arrives; a beat with an error does.
    """

    def __init__(self, config: L2SliceConfig):
        super().__init__({"ends": Out(config.l2.mshrs), "fails": Out(config.l2.mshrs)})
