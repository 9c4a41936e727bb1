"""From the data port of a core to DRAM, shared memory, registers of units and the console."""

from typing import Any

from amaranth import *
from amaranth.lib import stream
from amaranth.lib.wiring import In, Out, connect, flipped
from amaranth.utils import exact_log2

from ..config import WORD_BYTES, ClusterConfig
from ..core.layouts import data_request_layout, data_response_layout
from ..core.skid_buffer import SkidBuffer
from ..emit import SharedBlock
from ..registers import RegisterSignature
from ..streams import Queue, ResponseSignature
from .arbiter import lowest, select
from .beat_lanes import BeatOfLanes, word_of
from .device_lanes import DeviceLanes
from .lane_groups import LaneGroups
from .merge import Merge
from .path_layouts import (
    WINDOW_WIDTH,
    Target,
    answer_layout,
    core_of,
    group_layout,
    lanes_of,
    line_layout,
    read_layout,
    write_layout,
)
from .ports import NarrowSignature
from .shared_lanes import SharedLanes
from .transactions import Transactions

__all__ = ["DataPath", "master_of"]


def master_of(config: ClusterConfig, beat: Value) -> Value:
    """Return which AXI master has a beat, given its address in beats."""
    start = exact_log2(config.axi.interleave_bytes // config.axi.beat_bytes)
    return beat[start : start + exact_log2(config.axi.masters)]


class DataPath(SharedBlock):
    """Serve the loads and stores of a core; lanes that touch one beat of DRAM share an access.

    | cycle | a load from DRAM                                                       |
    |-------|------------------------------------------------------------------------|
    | 0     | `request` is accepted                                                  |
    | 2     | `read` of its first beat is offered; a beat more in each further cycle  |
    | n     | `line` comes                                                           |
    | n + 3 | `response` to the lanes of that beat                                   |

    Accesses to one beat take effect in the order of their requests, of one request those of the
    lowest lane first; others in any order. So do all accesses to registers of units, each lane by
    itself; one that its unit holds holds nothing else. Responses come in parts and in any order,
    one per cycle, those of shared memory first. A store to DRAM is answered after its write
    response, one to a register when its unit has it. What nobody serves is answered with an error,
    as what DRAM itself or a unit refuses.

    Parameters
    ----------
    config : ClusterConfig
        With cores.

    Members
    -------
    request : In(stream.Signature(data_request_layout(config.core)))
    response : Out(ResponseSignature(data_response_layout(config.core)))
    read_{c} : Out(stream.Signature(read_layout(config)))
        For each AXI master: reads of DRAM.
    line_{c} : In(stream.Signature(line_layout(config)))
        What was read, in any order.
    write_{c} : Out(stream.Signature(write_layout(config)))
        Writes of DRAM. They take effect in their order.
    written_{c} : In(stream.Signature(1))
        Writes are done, in their order; 1 if one failed.
    narrow_{p} : Out(NarrowSignature(config.shared))
        To shared memory.
    device : Out(RegisterSignature(14))
        To registers of units, by byte addresses in their window.
    console : Out(stream.Signature(8))
        Bytes stored to the console.
    busy : Out(1)
        Something is under way, or comes in.
    """

    request: stream.Interface
    response: Any
    device: Any
    console: stream.Interface
    busy: Signal

    def __init__(self, config: ClusterConfig):
        self.config = config
        core = core_of(config)
        ports: dict[str, Any] = {
            "request": In(stream.Signature(data_request_layout(core))),
            "response": Out(ResponseSignature(data_response_layout(core))),
            "device": Out(RegisterSignature(WINDOW_WIDTH)),
            "console": Out(stream.Signature(8)),
            "busy": Out(1),
        }
        for c in range(config.axi.masters):
            ports |= {
                f"read_{c}": Out(stream.Signature(read_layout(config))),
                f"line_{c}": In(stream.Signature(line_layout(config))),
                f"write_{c}": Out(stream.Signature(write_layout(config))),
                f"written_{c}": In(stream.Signature(1)),
            }
        for p in range(config.core_shared_ports):
            ports[f"narrow_{p}"] = Out(NarrowSignature(config.shared))
        super().__init__(ports)

    def build(self, platform):
        m = Module()
        config = self.config
        m.submodules.groups = groups = LaneGroups(config)
        m.submodules.transactions = transactions = Transactions(config)
        m.submodules.answers = answers = Merge(answer_layout(config), 2 * config.axi.masters + 1)
        # Whether a request's last group goes is known late; the core must not wait for that.
        m.submodules.asked = asked = SkidBuffer(self.request.payload.shape())
        connect(m, flipped(self.request), asked.i)
        connect(m, asked.o, groups.i)
        m.d.comb += [
            transactions.valid.eq(groups.o.valid),
            transactions.group.eq(groups.o.payload),
            transactions.answer.valid.eq(answers.o.valid),
            transactions.answer.payload.eq(answers.o.payload.payload),
            answers.o.ready.eq(transactions.answer.ready),
        ]
        goes = [
            *self.read(m, groups.o.payload, transactions, answers),
            *self.write(m, groups.o.payload, transactions, answers),
            self.answer_here(m, groups.o.payload, transactions, answers),
        ]
        m.d.comb += transactions.goes.eq(Cat(goes).any())
        m.submodules.devices = devices = DeviceLanes(config)
        connect(m, devices.registers, flipped(self.device))
        is_device = groups.o.payload.target == Target.DEVICE
        waits = transactions.found.valid | devices.o.valid
        takes, part, is_busy = self.share(m, groups.o, waits)
        m.d.comb += [
            devices.i.valid.eq(groups.o.valid & is_device),
            devices.i.payload.eq(groups.o.payload),
            groups.o.ready.eq(transactions.goes | takes | (is_device & devices.i.ready)),
        ]
        self.respond(m, transactions.found, part, devices.o)
        inputs = [
            getattr(self, f"{name}_{c}").valid
            for name in ("line", "written")
            for c in range(config.axi.masters)
        ]
        m.d.comb += self.busy.eq(
            Cat(
                asked.o.valid,
                groups.busy,
                transactions.busy,
                answers.o.valid,
                devices.busy,
                self.response.valid,
                self.console.valid,
                is_busy,
                *inputs,
            ).any()
        )
        return m

    def read(self, m: Module, group, transactions: Transactions, answers: Merge):
        """Read beats; yield whether the group goes to each master."""
        for c in range(self.config.axi.masters):
            read, line = getattr(self, f"read_{c}"), getattr(self, f"line_{c}")
            answer = getattr(answers, f"i_{1 + c}")
            m.d.comb += [
                read.valid.eq(transactions.may_go & self.is_for(group, c) & ~group.is_store),
                read.payload.id.eq(transactions.entry),
                read.payload.beat.eq(group.beat),
                answer.valid.eq(line.valid),
                answer.payload.entry.eq(line.payload.id),
                answer.payload.data.eq(line.payload.data),
                answer.payload.error.eq(line.payload.error),
                line.ready.eq(answer.ready),
            ]
            yield read.valid & read.ready

    def is_for(self, group, c: int) -> Value:
        """Return whether a group goes to DRAM behind master `c`."""
        return (group.target == Target.DRAM) & (master_of(self.config, group.beat) == c)

    def write(self, m: Module, group, transactions: Transactions, answers: Merge):
        """Write beats; yield whether the group goes to each master."""
        config = self.config
        m.submodules.stored = stored = BeatOfLanes(config)
        m.d.comb += stored.group.eq(group)
        for c in range(config.axi.masters):
            write, written = getattr(self, f"write_{c}"), getattr(self, f"written_{c}")
            answer = getattr(answers, f"i_{1 + config.axi.masters + c}")
            # All transactions fit, so it is never full.
            order = Queue(len(transactions.entry), core_of(config).transactions)
            m.submodules[f"order_{c}"] = order
            m.d.comb += [
                write.valid.eq(transactions.may_go & self.is_for(group, c) & group.is_store),
                write.payload.beat.eq(group.beat),
                write.payload.data.eq(stored.data),
                write.payload.strobes.eq(stored.strobes),
                order.i.valid.eq(write.valid & write.ready),
                order.i.payload.eq(transactions.entry),
                answer.valid.eq(written.valid & order.o.valid),
                answer.payload.entry.eq(order.o.payload),
                answer.payload.error.eq(written.payload),
                written.ready.eq(answer.ready & order.o.valid),
                order.o.ready.eq(written.valid & answer.ready),
            ]
            yield write.valid & write.ready

    def answer_here(self, m: Module, group, transactions: Transactions, answers: Merge) -> Value:
        """Answer what needs no memory; return whether the group goes."""
        here = 0  # number of the input, before those of the masters
        answer = getattr(answers, f"i_{here}")
        first = Signal(lanes_of(self.config))
        numbers = range(len(first))
        m.submodules.printed = printed = Queue(8, 2)
        connect(m, printed.o, flipped(self.console))
        strobes, is_byte, is_here = Signal(WORD_BYTES), Signal(), Signal()
        prints = Signal()
        m.d.comb += [
            first.eq(lowest(group.lanes)),
            strobes.eq(select(first, [group.strobes[n] for n in numbers])),
            is_byte.eq(strobes == lowest(strobes)),
            is_here.eq(
                (group.target != Target.DRAM)
                & (group.target != Target.SHARED)
                & (group.target != Target.DEVICE)
            ),
            prints.eq((group.target == Target.CONSOLE) & is_byte),
            answer.valid.eq(transactions.may_go & is_here & (printed.i.ready | ~prints)),
            answer.payload.entry.eq(transactions.entry),
            answer.payload.error.eq(~prints & (group.target != Target.FORGOTTEN)),
            printed.i.valid.eq(transactions.may_go & prints & answer.ready),
            printed.i.payload.eq(
                select(
                    strobes,
                    [
                        select(first, [group.data[n].word_select(byte, 8) for n in numbers])
                        for byte in range(WORD_BYTES)
                    ],
                )
            ),
        ]
        return answer.valid & answer.ready

    def share(self, m: Module, group, others: Value):
        """Bring groups to shared memory; return whether one goes, its answers, if any wait.

        Told whether `others` have answers.
        """
        m.submodules.shared = shared = SharedLanes(self.config)
        # Whether a lane is granted is known late; whoever asks must not wait for that.
        m.submodules.ahead = ahead = SkidBuffer(group_layout(self.config))
        m.d.comb += [
            ahead.i.valid.eq(group.valid & (group.payload.target == Target.SHARED)),
            ahead.i.payload.eq(group.payload),
        ]
        connect(m, ahead.o, shared.i)
        for p in range(shared.ports):
            connect(m, getattr(shared, f"port_{p}"), flipped(getattr(self, f"narrow_{p}")))
        # Lanes cannot be told to wait with their answers, so that others would for ever.
        m.d.sync += shared.pause.eq(others & shared.o.valid)
        return ahead.i.valid & ahead.i.ready, shared.o, shared.busy | ahead.o.valid

    def respond(self, m: Module, found, part, device):
        """Answer lanes of shared memory, else those of a transaction and of devices in turns."""
        answered, asked = Signal.like(self.response.payload), found.payload.asked
        device_next, is_device = Signal(), Signal()  # if both are there; is what is answered
        m.d.comb += [
            is_device.eq(device.valid & (device_next | ~found.valid)),
            answered.tag.eq(asked.tag),
            answered.mask.eq(asked.lanes),
            answered.error.eq(Mux(found.payload.error, asked.lanes, 0)),
            *(
                answered.data[lane].eq(word_of(self.config, found.payload.data, asked.places[lane]))
                for lane in range(lanes_of(self.config))
            ),
            found.ready.eq(~part.valid & ~is_device),
            device.ready.eq(~part.valid & is_device),
        ]
        with m.If(part.valid):
            m.d.comb += answered.eq(part.payload)
        with m.Else():
            m.d.sync += device_next.eq(~is_device)
            with m.If(is_device):
                m.d.comb += answered.eq(device.payload)
        m.d.sync += [
            self.response.valid.eq(found.valid | part.valid | device.valid),
            self.response.payload.eq(answered),
        ]
