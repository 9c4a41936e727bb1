"""Registers of the matrix unit and the commands written to them."""

from collections.abc import Mapping

from amaranth import *
from amaranth.lib import data, stream
from amaranth.lib.wiring import In, Out, connect, flipped

from ...config import MatrixUnitConfig
from ...emit.component import Component
from ...isa.memory_map import MATRIX
from ...lib.interfaces.progress import progress_layout
from ...lib.register_bus import RegisterSignature
from ...lib.streams import Queue
from ..operation import operation
from .command_decoder import CommandDecoder, command_word

__all__ = ["Command"]

QUEUED_OPERATIONS = 4
RUNNING_WIDTH = 4

ILLEGAL, OUT_OF_RANGE, AXI = range(3)


class Command(Component):
    """Registers of `address_map.MATRIX`, and the operations started by writes to them.

    A write to `instruction` or `cisc` is accepted unless an earlier one is being decoded or waits
    for room among the `QUEUED_OPERATIONS`; until then every access is held. A read that follows a
    command therefore sees it counted in `busy` and `running`. Writes to read-only registers have
    no effect. An offset without a register answers `error`.

    A refused command sets its bit of `error`. `error_word` keeps the first refused word since
    `error` was last written. Later commands are unaffected.

    Parameters
    ----------
    config : MatrixUnitConfig

    Members
    -------
    registers : In(RegisterSignature(8))
    operation : Out(stream.Signature(operation(config)))
    finished : In(1)
        An operation has ended.
    computed : In(1)
        A compute has ended.
    failed : In(1)
        A DMA descriptor ended with an error.
    running : Out(4)
        Operations accepted and not yet ended.
    progress : Out(progress_layout(MATRIX))
        For cores that wait, if there are any. Its ``running`` counts a command that is being
        decoded too.
    busy : Out(1)
        An operation or a command is pending.
    refused : Out(1)
        A command is refused in this cycle.
    error : Out(1)
        Any bit of the register `error`.

    """

    def __init__(self, config: MatrixUnitConfig):
        self.config = config
        progress = {"progress": Out(progress_layout(MATRIX))} if config.reports_progress else {}
        super().__init__({
            **progress,
            "registers": In(RegisterSignature(8)),
            "operation": Out(stream.Signature(operation(config))),
            "finished": In(1),
            "computed": In(1),
            "failed": In(1),
            "running": Out(RUNNING_WIDTH),
            "busy": Out(1),
            "refused": Out(1),
            "error": Out(1),
        })

    def elaborate(self, platform):
        m = Module()
        m.submodules.decode = decode = CommandDecoder(self.config)
        m.submodules.queue = queue = Queue(operation(self.config), QUEUED_OPERATIONS)
        connect(m, decode.o, queue.i)
        connect(m, queue.o, flipped(self.operation))

        accepted = Signal()
        m.d.comb += accepted.eq(queue.i.valid & queue.i.ready)
        with m.If(accepted & ~self.finished):
            m.d.sync += self.running.eq(self.running + 1)
        with m.If(~accepted & self.finished):
            m.d.sync += self.running.eq(self.running - 1)

        m.d.comb += [
            self.refused.eq(decode.illegal | decode.out_of_range),
            self.busy.eq(
                self.registers.request.valid
                | self.registers.response.valid
                | decode.i.valid
                | self.running.any()
            ),
        ]
        error, error_word, computes_done = self.count_and_report(m, decode)
        m.d.comb += self.error.eq(error.any())
        if self.config.reports_progress:
            m.d.comb += self.progress.computes_done.eq(computes_done)
        self.serve(
            m,
            decode,
            {
                "busy": decode.i.valid | self.running.any(),
                "running": self.running,
                "computes_done": computes_done,
                "error": error,
                "error_word": error_word,
            },
        )
        return m

    def count_and_report(self, m: Module, decode: CommandDecoder):
        """Update the registers written by the unit itself."""
        error = Signal(3)
        error_word = Signal(32)
        computes_done = Signal(32)
        request = self.registers.request
        m.d.sync += computes_done.eq(computes_done + self.computed)
        with m.If(
            request.valid
            & request.ready
            & request.p.write
            & (request.p.address[2:] == MATRIX["error"].offset // 4)
        ):
            m.d.sync += error.eq(0)
        with m.If(decode.illegal):
            m.d.sync += error[ILLEGAL].eq(1)
        with m.If(decode.out_of_range):
            m.d.sync += error[OUT_OF_RANGE].eq(1)
        with m.If(self.failed):
            m.d.sync += error[AXI].eq(1)
        with m.If(self.refused & ~error[:AXI].any()):
            m.d.sync += error_word.eq(decode.i.p.word)
        return error, error_word, computes_done

    def serve(self, m: Module, decode: CommandDecoder, readable: Mapping[str, Value]):
        """Answer accesses, and forward command words to `decode`."""
        request, response = self.registers.request, self.registers.response
        held = Signal(command_word)
        held_valid = Signal()
        m.d.comb += [
            decode.i.valid.eq(held_valid),
            decode.i.payload.eq(held),
            request.ready.eq(~held_valid),
        ]
        if self.config.reports_progress:
            m.d.comb += self.progress.running.eq(self.running + held_valid)
        with m.If(decode.i.ready):
            m.d.sync += held_valid.eq(0)

        m.d.sync += response.valid.eq(request.valid & request.ready)
        m.d.sync += response.payload.eq(0)
        operands = data.View(
            data.StructLayout({
                "rs1_low": 32,
                "rs1_high": 32,
                "rs2_low": 32,
                "rs2_high": 32,
            }),
            Cat(held.rs1, held.rs2),
        )
        writing = request.valid & request.ready & request.p.write
        with m.Switch(request.p.address[2:]):
            for name, register in MATRIX.items():
                with m.Case(register.offset // 4):
                    if name in readable:
                        m.d.sync += response.payload.data.eq(
                            Mux(request.p.write, 0, readable[name])
                        )
                    elif name in ("instruction", "cisc"):
                        with m.If(writing):
                            m.d.sync += [
                                held_valid.eq(1),
                                held.cisc.eq(name == "cisc"),
                                held.word.eq(request.p.data),
                            ]
                    else:
                        m.d.sync += response.payload.data.eq(
                            Mux(request.p.write, 0, operands[name])
                        )
                        with m.If(writing):
                            m.d.sync += operands[name].eq(request.p.data)
            with m.Default():
                m.d.sync += response.payload.error.eq(1)
