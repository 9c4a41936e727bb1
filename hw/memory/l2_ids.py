"""What is under way of each id in a slice of the L2 cache."""

from amaranth import *
from amaranth.lib import data
from amaranth.lib.wiring import In, Out

from ..shared_block import SharedBlock
from .l2_layouts import L2SliceConfig
from .l2_table import L2Table, TableShape

__all__ = ["L2Ids", "identity_layout"]


def identity_layout(config: L2SliceConfig) -> data.StructLayout:
    """Layout of what is known of an id.

    Its reads have tickets: ``next_ticket`` goes to the next that waits, and it is the turn of
    ``turn``; none waits where they are equal. The one that waits since last is in slot
    ``youngest``. Its last reply that is ``owed`` goes with write-back ``back``.
    """
    return data.StructLayout({
        "turn": config.ticket_width,
        "next_ticket": config.ticket_width,
        "youngest": config.slot_width,
        "owed": 1,
        "back": config.back_width,
    })


class L2Ids(SharedBlock):
    """Know the order of what is asked for with one id: tickets of reads, replies that are owed.

    What is read in one cycle is known in the next, and changed in it.

    Parameters
    ----------
    config : L2SliceConfig

    Members
    -------
    read : In(1)
    read_id : In(config.id_width)
    ticket, slot : In
        Of what is looked up in the next cycle, if it waited; all that follows is about it.
    take : In(1)
        It waits from now on, in slot `taken_slot`.
    taken_slot : In(config.slot_width)
    free : In(1)
        It waited, and is answered.
    promise : In(1)
        It is owed a reply, with write-back `back`.
    back, oldest_back : In(config.back_width)
        The numbers of the next write-back, and of the oldest that is on its way.
    next_ticket : Out(config.ticket_width)
        Its own, if it waits.
    is_ordered : Out(1)
        No read of its id waits.
    follows : Out(1)
        A read of its id is before it.
    leads : Out(1)
        A read of its id is behind it.
    youngest : Out(config.slot_width)
        Where the last read of its id waits.
    owes : Out(1)
        Its id is owed a reply.
    sweeping : Out(1)
        Ids are being forgotten after a reset; nothing may be read.
    """

    read: Signal
    read_id: Signal
    ticket: Signal
    slot: Signal
    take: Signal
    taken_slot: Signal
    free: Signal
    promise: Signal
    back: Signal
    oldest_back: Signal
    next_ticket: Signal
    is_ordered: Signal
    follows: Signal
    leads: Signal
    youngest: Signal
    owes: Signal
    sweeping: Signal

    def __init__(self, config: L2SliceConfig):
        self.config = config
        super().__init__(
            {name: In(1) for name in ("read", "take", "free", "promise")}
            | {name: In(config.slot_width) for name in ("slot", "taken_slot")}
            | {name: In(config.back_width) for name in ("back", "oldest_back")}
            | {name: Out(1) for name in ("is_ordered", "follows", "leads", "owes", "sweeping")}
            | {
                "read_id": In(config.id_width),
                "ticket": In(config.ticket_width),
                "next_ticket": Out(config.ticket_width),
                "youngest": Out(config.slot_width),
            }
        )

    def build(self, platform):
        m = Module()
        config, layout = self.config, identity_layout(self.config)
        shape = TableShape(rows=1 << config.id_width, width=layout.size)
        m.submodules.table = table = L2Table(shape)
        found, becomes, valid = Signal(layout), Signal(layout), Signal()
        # Numbers of what is on its way are from the oldest up to the next, in a circle.
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
            self.leads.eq(found.youngest != self.slot),
            self.youngest.eq(found.youngest),
            self.owes.eq(found.owed & (age < ages)),
            becomes.turn.eq(found.turn + self.free),
            becomes.next_ticket.eq(found.next_ticket + self.take),
            becomes.youngest.eq(Mux(self.take, self.taken_slot, found.youngest)),
            becomes.owed.eq(self.promise | self.owes),
            becomes.back.eq(Mux(self.promise, self.back, found.back)),
            # What is owed no more is forgotten before its number comes again.
            table.write.eq(
                valid & (self.take | self.free | self.promise | (found.owed & ~self.owes))
            ),
            table.written.eq(becomes),
            self.sweeping.eq(table.sweeping),
        ]
        return m
