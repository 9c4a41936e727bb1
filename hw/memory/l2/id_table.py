"""State of each id in an L2 slice: order of its reads and its pending replies."""

from amaranth import *
from amaranth.lib import data
from amaranth.lib.wiring import In, Out

from ...emit.shared_block import SharedBlock
from .layouts import L2SliceConfig
from .table import L2Table, TableShape

__all__ = ["L2Ids", "identity_layout"]


def identity_layout(config: L2SliceConfig) -> data.StructLayout:
    """Return the layout of the state of an id.

    Its reads have tickets: ``next_ticket`` is for the next that waits, ``turn`` is the one to be
    answered next; if they are equal, none waits. ``youngest`` is the MSHR of the last read taken.
    ``reply_pending``: a reply is outstanding, the last of them with write-back ``back``.
    """
    return data.StructLayout({
        "turn": config.ticket_width,
        "next_ticket": config.ticket_width,
        "youngest": config.mshr_width,
        "reply_pending": 1,
        "back": config.back_width,
    })


class L2Ids(SharedBlock):
    """Order of each id: tickets of its reads, and its pending replies.

    State read in one cycle is available, and updated, in the next.

    Parameters
    ----------
    config : L2SliceConfig

    Members
    -------
    read : In(1)
    read_id : In(config.id_width)
    ticket, mshr : In
        Ticket and MSHR of the look-up 1 cycle after `read`, if it waited. All below refers to it.
    take : In(1)
        It waits from now on, in MSHR `taken_mshr`.
    taken_mshr : In(config.mshr_width)
    free : In(1)
        It waited, and is answered.
    promise : In(1)
        A reply to it is pending, with write-back `back`.
    back, oldest_back : In(config.back_width)
        Numbers of the next write-back, and of the oldest in flight.
    next_ticket : Out(config.ticket_width)
        Its ticket, if it waits.
    is_ordered : Out(1)
        No read of its id waits.
    follows : Out(1)
        A read of its id is before it.
    leads : Out(1)
        A read of its id is after it.
    youngest : Out(config.mshr_width)
        MSHR of the last read of its id.
    reply_pending : Out(1)
        A reply to its id is pending.
    sweeping : Out(1)
        The ids are being cleared after a reset.
    swept : Out(config.id_width)
        Lowest id that is not cleared; ids from it on may not be read.
    """

    def __init__(self, config: L2SliceConfig):
        self.config = config
        super().__init__(
            {name: In(1) for name in ("read", "take", "free", "promise")}
            | {name: In(config.mshr_width) for name in ("mshr", "taken_mshr")}
            | {name: In(config.back_width) for name in ("back", "oldest_back")}
            | {
                name: Out(1)
                for name in ("is_ordered", "follows", "leads", "reply_pending", "sweeping")
            }
            | {
                "read_id": In(config.id_width),
                "ticket": In(config.ticket_width),
                "next_ticket": Out(config.ticket_width),
                "youngest": Out(config.mshr_width),
                "swept": Out(config.id_width),
            }
        )

    def build(self, platform):
        m = Module()
        config, layout = self.config, identity_layout(self.config)
        shape = TableShape(rows=1 << config.id_width, width=layout.size)
        m.submodules.table = table = L2Table(shape)
        found, becomes, valid = Signal(layout), Signal(layout), Signal()
        # Numbers of write-backs in flight run from the oldest to the next, and wrap around.
        age = (found.back - self.oldest_back)[: config.back_width]
        ages = (self.back - self.oldest_back)[: config.back_width]
        m.d.sync += valid.eq(self.read)
        m.d.comb += [
            table.read.eq(self.read),
            table.row.eq(self.read_id),
            Value.cast(found).eq(table.found),
            self.next_ticket.eq(found.next_ticket),
            self.is_ordered.eq(found.turn == found.next_ticket),
            self.follows.eq(found.turn != self.ticket),
            self.leads.eq(found.youngest != self.mshr),
            self.youngest.eq(found.youngest),
            self.reply_pending.eq(found.reply_pending & (age < ages)),
            becomes.turn.eq(found.turn + self.free),
            becomes.next_ticket.eq(found.next_ticket + self.take),
            becomes.youngest.eq(Mux(self.take, self.taken_mshr, found.youngest)),
            becomes.reply_pending.eq(self.promise | self.reply_pending),
            becomes.back.eq(Mux(self.promise, self.back, found.back)),
            # Clear a debt that is paid before its number is reused.
            table.write.eq(
                valid
                & (
                    self.take
                    | self.free
                    | self.promise
                    | (found.reply_pending & ~self.reply_pending)
                )
            ),
            table.written.eq(becomes),
            self.sweeping.eq(table.sweeping),
            self.swept.eq(table.swept),
        ]
        return m
