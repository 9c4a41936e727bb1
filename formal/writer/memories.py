"""Memories of a miter: words that are read are free, and all accesses have to be equal."""

from typing import Any

from .conversions import Cell
from .miter import Miter, View
from .sides import Bit, number

__all__ = ["MemoryCut"]


class MemoryCut:
    """Cut of a memory.

    A read is a function of the address, the same function on both sides: two reads of one address
    are equal. A write port of the reference may be several in the text, each for some bits, or one
    that also writes the other bits, as they are.

    Parameters
    ----------
    old, new : View
        Reference and text.
    cell : Cell

    Attributes
    ----------
    words : dict of int to list of Bit
        Words at the addresses of synchronous read ports of the reference, by their index.

    """

    def __init__(self, old: View, new: View, cell: Cell):
        self.old, self.new = old, new
        self.miter: Miter = old.miter
        self.words: dict[int, list[Bit]] = {}
        #: Addresses that the reference reads or writes, and their words.
        self.accesses: list[tuple[list[Bit], list[Bit]]] = []
        name = old.side.memory_names.get(cell.index)
        (place,) = cell.places
        if name is None or place is None:
            if place is not None and place[0] in new.side.memories:
                self.problem(f"memory {place[0]} is unused in the reference")
            return
        self.name, self.label = place[0], f"memory {place[0]}"
        if self.name not in new.side.memories:
            if new.side.of_memory(self.name, "$mem") or old.side.of_memory(name, "$memrd"):
                self.problem(f"{self.label} is not in the text")
            return
        shapes = [
            {key: memory[key] for key in ("width", "start_offset", "size")}
            for memory in (old.side.memories[name], new.side.memories[self.name])
        ]
        if shapes[0] != shapes[1]:
            self.problem(f"{self.label} is {shapes[1]}, not {shapes[0]}")
            return
        self.width = shapes[0]["width"]
        self.cut_reads(self.old, name)
        self.cut_writes(name)
        self.cut_reads(self.new, self.name)
        self.compare_contents(name)

    def problem(self, text: str) -> None:
        """Record a difference."""
        self.miter.problems.append(text)

    def word(self, address: list[Bit], port: str) -> list[Bit]:
        """Return the word at an address: that of an earlier access to it, or a free one."""
        label = f"{self.label}, {port}"
        word: list[Bit] = [self.miter.input(f"{label}[{bit}]") for bit in range(self.width)]
        for earlier, data in reversed(self.accesses):
            width = max(len(earlier), len(address))
            padded = [[*value, *["0"] * (width - len(value))] for value in (earlier, address)]
            is_same = self.miter.same(*padded) if padded[0] != padded[1] else "1"
            word = [
                self.miter.gate("MUX", one, other, is_same)
                for one, other in zip(word, data, strict=True)
            ]
        return word

    def cut_reads(self, view: View, memory: str) -> None:
        """Give equal reads of both sides the same words."""
        for key, cell in view.side.of_memory(memory, "$memrd"):
            view.cut.add(key)
            address = view.value(cell["connections"]["ADDR"])
            word = self.word(address, f"read {len(self.accesses)}")
            if view is self.old:
                self.accesses.append((address, word))
            if not number(cell, "CLK_ENABLE"):
                for bit, source in zip(cell["connections"]["DATA"], word, strict=True):
                    view.drive(bit, source)
            elif view is self.old:
                self.words[int(key.rpartition(":")[2])] = word
                if number(cell, "TRANSPARENCY_MASK"):
                    self.problem(f"{self.label} has a transparent port")
            else:
                self.problem(f"{self.label} has a synchronous port {key} in the text")

    def cut_writes(self, name: str) -> None:
        """Require the same words in the memory after a cycle, and writes to the same address."""
        old = self.old.side.of_memory(name, "$memwr")
        new = self.new.side.of_memory(self.name, "$memwr")
        self.old.cut.update(key for key, _ in old)
        self.new.cut.update(key for key, _ in new)
        if len(old) != 1:
            if old or new:
                self.problem(f"{self.label} has {len(old)} write ports")
            return
        (_, port), miter = old[0], self.miter
        # Later writes take precedence over earlier ones.
        new.sort(key=lambda pair: number(pair[1], "PORTID"))
        address, data, enable = self.written(self.old, port)
        before = self.word(address, "written word")
        self.accesses.append((address, before))
        following = list(before)
        for place, (_, cell) in enumerate(new):
            self.compare_clock(port, cell)
            label = f"{self.label}, write {place}"
            target, value, mask = self.written(self.new, cell)
            written = miter.any(mask)
            for bit in range(max(len(address), len(target))):
                one, other = (part[bit] if bit < len(part) else "0" for part in (address, target))
                self.equal_if(written, f"{label}: address[{bit}]", one, other)
            following = [
                miter.gate("MUX", *bits) for bits in zip(following, value, mask, strict=True)
            ]
        for bit, word in enumerate(before):
            expected = miter.gate("MUX", word, data[bit], enable[bit])
            miter.equal(f"{self.label}: written word[{bit}]", expected, following[bit])

    @staticmethod
    def written(view: View, cell: dict[str, Any]) -> tuple[list[Bit], list[Bit], list[Bit]]:
        """Return address, data and enable of a write port."""
        address, data, enable = (
            view.value(cell["connections"][part]) for part in ("ADDR", "DATA", "EN")
        )
        return address, data, enable

    def equal_if(self, condition: Bit, label: str, left: Bit, right: Bit) -> None:
        """Require two bits to be equal while a condition is high."""
        if left != right and condition != "0":
            differs = self.miter.gate("XOR", left, right)
            self.miter.equal(label, self.miter.gate("AND", condition, differs), "0")

    def compare_clock(self, old: dict[str, Any], new: dict[str, Any]) -> None:
        """Require the same clock of two write ports."""
        clocks = [
            view.bit(cell["connections"]["CLK"][0])
            for view, cell in ((self.old, old), (self.new, new))
        ]
        self.miter.equal(f"{self.label}: clock", *clocks)
        for parameter in ("CLK_POLARITY", "CLK_ENABLE"):
            if number(old, parameter) != number(new, parameter):
                self.problem(f"{self.label} has another clock edge")

    def compare_contents(self, name: str) -> None:
        """Require the same initial contents; words of a memory of zeros may have any."""
        contents = []
        for view, memory in ((self.old, name), (self.new, self.name)):
            words: dict[int, str] = {}
            cells = view.side.of_memory(memory, "$meminit")
            view.cut.update(key for key, _ in cells)
            for _, cell in sorted(cells, key=lambda pair: number(pair[1], "PRIORITY")):
                ports = cell["connections"]
                first = sum(1 << place for place, bit in enumerate(ports["ADDR"]) if bit == "1")
                if "0" in ports["EN"]:
                    self.problem(f"{self.label} has masked initial contents")
                for word in range(number(cell, "WORDS")):
                    bits = ports["DATA"][word * self.width : (word + 1) * self.width]
                    words[first + word] = "".join(bits)
            contents.append(words)
        old, new = contents
        if not old:
            different = [place for place, word in new.items() if "1" in word]
        else:
            different = [
                place for place in old.keys() | new.keys() if old.get(place) != new.get(place)
            ]
        if different:
            self.problem(f"{self.label} has other initial contents at {sorted(different)[:4]}")
