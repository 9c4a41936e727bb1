"""Plan of a composition: the text that connects block libraries, read by C++."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from ....hw.emit.emission import TOP
from ....hw.emit.netlist import NetPiece
from ...harness.binding import Layout
from .partition import Partition
from .schedule import Step

__all__ = ["plan_text"]


def plan_text(
    partition: Partition,
    steps: Sequence[Step],
    libraries: Mapping[str, Path | str],
    layout: Layout,
) -> str:
    """Return the plan of `sim/native/blocks/composition.hpp`.

    Parameters
    ----------
    partition : Partition
        Parts and the sources of their inputs.
    steps : sequence of Step
        Order of evaluation.
    libraries : mapping of str to Path or str
        Library of each design, by its name; for a plan that is only compared, a hash of it.
    layout : Layout
        Ports of the top.

    """
    return "".join(f"{line}\n" for line in Plan(partition, libraries, layout).lines(steps))


class Plan:
    """Plan in progress; blocks and libraries are numbered in the order of the partition."""

    def __init__(self, partition: Partition, libraries: Mapping[str, Path | str], layout: Layout):
        self.partition = partition
        self.libraries = libraries
        self.layout = layout
        self.parts = {part.name: number for number, part in enumerate(partition.parts)}
        self.ports = {
            (part.name, port.name): number
            for part in partition.parts
            for number, port in enumerate(part.design.ports)
        }
        self.words = {port.name: port.word for port in layout.inputs}

    def lines(self, steps: Sequence[Step]) -> Iterator[str]:
        """Yield all lines."""
        layout = self.layout
        yield f"words {layout.input_words} {layout.output_words}"
        for port in layout.inputs:
            yield f"input {port.word} {port.width}"
        numbers = {name: number for number, name in enumerate(self.libraries)}
        for path in self.libraries.values():
            yield f"library {path}"
        for part in self.partition.parts:
            clocks = [
                f"{self.ports[part.name, port]} {layout.domains.index(domain)}"
                for port, domain in part.clocks.items()
            ]
            yield " ".join(["block", str(numbers[part.design.name]), part.name, *clocks])
        for step in steps:
            number = self.parts[step.part]
            part = self.partition.parts[number]
            yield f"step {number}"
            for port in step.inputs:
                for bit, source, width in self.pieces(part.inputs[port]):
                    yield f"copy {source} {number} {self.ports[step.part, port]} {bit} {width}"
        for port in layout.outputs:
            yield f"output {port.word} {port.width}"
            for bit, source, width in self.pieces(self.partition.outputs[port.name]):
                yield f"piece {source} {bit} {width}"
        outputs = {port.name: port.word for port in layout.outputs}
        for domain in layout.domains:
            yield f"busy {outputs.get(f'{domain}_busy', -1)}"

    def pieces(self, pieces: Sequence[NetPiece]) -> Iterator[tuple[int, str, int]]:
        """Yield first bit, source and width of each piece of a value."""
        bit = 0
        for piece in pieces:
            yield bit, self.source(piece), piece.width
            bit += piece.width

    def source(self, piece: NetPiece) -> str:
        """Return block, port and bit of a source; resets share the word after the inputs."""
        if piece.instance != TOP:
            port = self.ports[piece.instance, piece.port]
            return f"{self.parts[piece.instance]} {port} {piece.offset}"
        return f"-1 {self.words.get(piece.port, self.layout.input_words)} {piece.offset}"
