"""Drain: reads accumulator rows, scales, clips and converts them, and sends them in beats."""

from dataclasses import dataclass

from amaranth import *
from amaranth.lib import stream
from amaranth.lib.wiring import In, Out, connect, flipped

from ...arith.float.convert import Convert, ConvertConfig
from ...arith.float.multiply import Multiply, MultiplyConfig
from ...config import SystolicConfig
from ...config.formats import FloatFormat, IntFormat
from ...emit.component import Component
from ...emit.shared_block import SharedBlock
from ...lib.streams import Queue
from .accumulator import STORED_LATENCY
from .drain_reader import DrainProgressSignature, DrainReader, drain_command

__all__ = ["Drain", "DrainLane", "DrainLaneConfig", "drain_command"]


@dataclass(frozen=True, kw_only=True)
class DrainLaneConfig:
    """Formats of a drain lane: its input, an optional narrow output, and an optional scale."""

    form: FloatFormat | IntFormat
    narrow: FloatFormat | None
    scales: bool

    scale_latency = 5

    @property
    def latency(self) -> int:
        """Cycles from a stored value to the results."""
        return 1 + (self.scale_latency if self.scales else 0)


class DrainLane(SharedBlock):
    """Lane of the drain: ``wide = relu(stored * scale)``; `narrow` is `wide` in `config.narrow`.

    ReLU turns negative values and -0 into +0; NaN, which has sign 0 here, is unchanged. Latency
    `config.latency` cycles, one value per cycle, no back-pressure. `scale` and `relu` are stable
    while values are in flight.

    Parameters
    ----------
    config : DrainLaneConfig

    Members
    -------
    stored : In(config.form.width)
    scale : In(config.form.width)
        Present if `config.scales`.
    relu : In(1)
    wide : Out(config.form.width)
    narrow : Out(config.narrow.width)
        Present if `config.narrow` is a format.

    """

    def __init__(self, config: DrainLaneConfig):
        self.config = config
        width = config.form.width
        super().__init__({
            "stored": In(width),
            **({"scale": In(width)} if config.scales else {}),
            "relu": In(1),
            "wide": Out(width),
            **({} if config.narrow is None else {"narrow": Out(config.narrow.width)}),
        })

    def build(self, platform):
        m = Module()
        config = self.config
        value = self.stored
        if config.scales:
            m.submodules.multiply = multiply = Multiply(
                MultiplyConfig(form=config.form, latency=config.scale_latency)
            )
            m.d.comb += [multiply.a.eq(self.stored), multiply.b.eq(self.scale)]
            value = multiply.o
        clipped = Signal(config.form.width)
        m.d.comb += clipped.eq(Mux(self.relu & value[-1], 0, value))
        wide = Signal(config.form.width, reset_less=True)
        m.d.sync += wide.eq(clipped)
        m.d.comb += self.wide.eq(wide)
        if config.narrow is not None:
            m.submodules.convert = convert = Convert(
                ConvertConfig(source=config.form, target=config.narrow)
            )
            narrow = Signal(config.narrow.width, reset_less=True)
            m.d.sync += narrow.eq(convert.o)
            m.d.comb += [convert.i.eq(clipped), self.narrow.eq(narrow)]
        return m


class Drain(Component):
    """Drain: reads the rows of a command, converts them and sends them in beats.

    If a row fits one beat, one row is read per cycle; if not, one row per as many cycles as it has
    beats. A row is read only if there is room for all its beats, so `o` may be refused at any time
    without loss. Rows leave in the order of reading, low columns first.

    Parameters
    ----------
    config : SystolicConfig
    settle : int
        Cycles from the offer of a row to the cycle before it can be read (see `DrainReader`).
    in_order : bool
        Whether the rows of a command were offered in the order in which it reads them.

    Members
    -------
    command : In(stream.Signature(drain_command(config)))
        Accepted while no row is being read or converted.
    progress : Out(DrainProgressSignature(config))
    read : Out(stream.Signature(address))
        To the accumulator.
    stored : In(columns * accumulator width)
        Its response, `STORED_LATENCY` cycles later.
    o : Out(stream.Signature(8 * drain_bytes))
    busy : Out(1)
        A row is not yet read, converted or sent.
    row : Out(1)
        A row is read in this cycle.

    """

    def __init__(self, config: SystolicConfig, *, settle: int, in_order: bool):
        self.config = config
        self.settle = settle
        self.in_order = in_order
        width = config.columns * config.accumulator_format.width
        super().__init__({
            "command": In(stream.Signature(drain_command(config))),
            "progress": Out(DrainProgressSignature(config)),
            "read": Out(stream.Signature(config.accumulator_address_width)),
            "stored": In(width),
            "o": Out(stream.Signature(8 * config.drain_bytes)),
            "busy": Out(1),
            "row": Out(1),
        })

    @property
    def lane(self) -> DrainLaneConfig:
        """Config of each column's lane."""
        config, narrow = self.config, None
        if config.narrows:
            narrow = config.narrow_format
            assert isinstance(narrow, FloatFormat)  # integers are not converted
        return DrainLaneConfig(form=config.accumulator_format, narrow=narrow, scales=config.scales)

    @property
    def wide_beats(self) -> int:
        """Beats of a row in the stored format."""
        return (
            self.config.columns
            * self.config.accumulator_format.width
            // self.o.payload.shape().width
        )

    @property
    def narrow_beats(self) -> int:
        """Beats of a row in the narrow format."""
        return self.config.columns * self.config.narrow_format.width // self.o.payload.shape().width

    @property
    def round_trip(self) -> int:
        """Cycles from a read to the reuse of its queue space if `o` never waits."""
        return STORED_LATENCY + self.lane.latency + 3

    def elaborate(self, platform):
        m = Module()
        config, latency = self.config, self.lane.latency
        m.submodules.reader = reader = DrainReader(
            config, settle=self.settle, in_order=self.in_order
        )
        connect(m, flipped(self.command), reader.command)
        connect(m, reader.read, flipped(self.read))
        connect(m, reader.progress, flipped(self.progress))

        depth = self.round_trip + self.wide_beats - 1
        m.submodules.beats = queue = Queue(8 * config.drain_bytes, depth)
        connect(m, queue.o, flipped(self.o))

        # Queue space is reserved by the read of a row and freed when its beats have left.
        is_wide = C(1, 1) if not config.narrows else reader.wide
        row_beats = Mux(is_wide, self.wide_beats, self.narrow_beats)
        room = Signal(range(depth + 1), init=depth)
        pause = Signal(range(self.wide_beats))
        m.d.comb += [
            self.row.eq(self.read.valid & self.read.ready),
            reader.permit.eq((room >= row_beats) & (pause == 0)),
        ]
        left = self.o.valid & self.o.ready
        m.d.sync += room.eq(room + left - Mux(self.row, row_beats, 0))
        with m.If(self.row):
            m.d.sync += pause.eq(row_beats - 1)
        with m.Elif(pause != 0):
            m.d.sync += pause.eq(pause - 1)

        valid_line = Signal(STORED_LATENCY + latency)
        m.d.sync += valid_line.eq(Cat(self.row, valid_line))
        self.send(m, queue, self.convert(m, reader, is_wide), valid_line[-1], row_beats)

        m.d.comb += [
            reader.hold.eq(valid_line.any()),
            self.busy.eq(reader.active | (room != depth)),
        ]
        return m

    def convert(self, m: Module, reader: DrainReader, is_wide: Value):
        """Return the converted row read ``STORED_LATENCY + lane.latency`` cycles ago."""
        width = self.config.accumulator_format.width
        wide, narrow = [], []
        for column in range(self.config.columns):
            m.submodules[f"lane_{column}"] = lane = DrainLane(self.lane)
            m.d.comb += [
                lane.stored.eq(self.stored.word_select(column, width)),
                lane.relu.eq(reader.relu),
            ]
            wide.append(lane.wide)
            if self.lane.scales:
                m.d.comb += lane.scale.eq(reader.scale)
            if self.config.narrows:
                narrow.append(lane.narrow)
        return Mux(is_wide, Cat(wide), Cat(narrow)) if narrow else Cat(wide)

    def send(self, m: Module, queue: Queue, row: Value, row_valid: Value, row_beats: Value):
        """Split `row` into beats, low columns first, while the reader pauses."""
        beat_width = 8 * self.config.drain_bytes
        held = Signal(self.wide_beats * beat_width, reset_less=True)
        waiting = Signal(range(self.wide_beats + 1))
        with m.If(row_valid):
            m.d.sync += [held.eq(row), waiting.eq(row_beats)]
        with m.Elif(waiting != 0):
            m.d.sync += [held.eq(held[beat_width:]), waiting.eq(waiting - 1)]
        m.d.comb += [queue.i.valid.eq(waiting != 0), queue.i.payload.eq(held[:beat_width])]
