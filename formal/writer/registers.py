"""Registers of a miter: their values are free, and their next values have to be equal."""

from typing import Any

from .conversions import Cell
from .miter import Miter, View
from .sides import REGISTERS, Bit, Side, number

__all__ = ["RegisterCuts"]


class RegisterCuts:
    """Cuts of registers.

    Parameters
    ----------
    old, new : View
        Reference and text.
    words : dict of int to list of Bit
        Words that the synchronous read ports of the reference read, by index.

    """

    def __init__(self, old: View, new: View, words: dict[int, list[Bit]]):
        self.old, self.new, self.words = old, new, words
        self.miter: Miter = old.miter
        #: Bits of registers of the text that correspond to one of the reference.
        self.claimed: set[tuple[str, int]] = set()

    def problem(self, text: str) -> None:
        """Record a difference."""
        self.miter.problems.append(text)

    def cut(self, cell: Cell) -> None:
        """Cut a register, also that of a synchronous read port."""
        old = self.old.side.labelled(cell.index)
        for place, where in enumerate(cell.places):
            label = f"register {where[0]}[{where[1]}]" if where else f"cell {cell.index}[{place}]"
            driver_bit = None if where is None else self.register_bit(label, *where)
            free = self.miter.input(label)
            if old is not None:
                port = "Q" if cell.kind == "register" else "DATA"
                self.old.cut.add(self.old.side.numbered[cell.index])
                self.old.drive(old["connections"][port][place], free)
            if driver_bit is None:
                continue
            name, bit = driver_bit
            self.new.drive(self.new.side.cells[name]["connections"]["Q"][bit], free)
            if old is None:
                self.problem(f"{label} is unused in the reference")
            else:
                self.compare_register(label, cell, place, old, driver_bit)

    def register_bit(self, label: str, name: str, place: int) -> tuple[str, int] | None:
        """Return the register and its bit that drive a bit of a variable of the text."""
        side = self.new.side
        bit = side.bit(name, place)
        driver = side.drivers.get(bit) if isinstance(bit, int) else None
        if driver is None or side.cells[driver[0]]["type"] not in REGISTERS:
            if bit is not None:
                self.problem(f"{label} is no register in the text")
            return None
        self.new.cut.add(driver[0])
        driver_bit = driver[0], driver[2]
        if driver_bit in self.claimed:
            self.problem(f"{label} is also another register")
            return None
        self.claimed.add(driver_bit)
        return driver_bit

    def compare_register(
        self, label: str, cell: Cell, place: int, old: dict[str, Any], driver_bit: tuple[str, int]
    ) -> None:
        """Require equal data, clock, reset and initial value of a bit of a register."""
        miter, (name, bit) = self.miter, driver_bit
        new = self.new.side.cells[name]
        following = self.new.bit(new["connections"]["D"][bit])
        if cell.kind == "register":
            data = self.old.bit(old["connections"]["D"][place])
            if {"$adff": "ARST"}.get(old["type"]) != {"$adff": "ARST"}.get(new["type"]):
                self.problem(f"{label} has an asynchronous reset on one side")
            elif old["type"] == "$adff":
                self.compare_reset(label, place, old, bit, new)
            self.compare_initial(label, old["connections"]["Q"][place], following, new, bit)
        else:
            words = self.words.get(cell.index)
            if words is None:
                self.problem(f"{label} is read from no memory")
                return
            old_word, enable = (
                self.old.bit(old["connections"][port][bit])
                for port, bit in (("DATA", place), ("EN", 0))
            )
            data = miter.gate("MUX", old_word, words[place], enable)
        miter.equal(f"{label}: data", data, following)
        clocks = [
            view.bit(side["connections"]["CLK"][0])
            for view, side in ((self.old, old), (self.new, new))
        ]
        miter.equal(f"{label}: clock", *clocks)
        if number(old, "CLK_POLARITY") != number(new, "CLK_POLARITY"):
            self.problem(f"{label} has different clock edges")

    def compare_reset(self, label: str, place: int, old: dict, bit: int, new: dict) -> None:
        """Require equal asynchronous resets."""
        resets = [
            view.bit(side["connections"]["ARST"][0])
            for view, side in ((self.old, old), (self.new, new))
        ]
        self.miter.equal(f"{label}: asynchronous reset", *resets)
        values = number(old, "ARST_VALUE") >> place & 1, number(new, "ARST_VALUE") >> bit & 1
        edges = number(old, "ARST_POLARITY"), number(new, "ARST_POLARITY")
        if values[0] != values[1] or edges[0] != edges[1]:
            self.problem(f"{label} has different asynchronous resets")

    def compare_initial(
        self, label: str, old: Bit, following: Bit, new: dict[str, Any], bit: int
    ) -> None:
        """Require the initial value of the reference, in the text or by a reset."""
        expected = self.old.side.initial.get(old)
        given = self.new.side.initial.get(new["connections"]["Q"][bit])
        if given is not None or expected is None:
            if given != expected:
                self.problem(f"{label} has the initial value {given}, not {expected}")
            return
        name = reset_of(self.new.side, new["connections"]["CLK"][0])
        if name is None:
            self.problem(f"{label} has neither an initial value nor a reset")
            return
        reset = self.new.bit(self.new.side.ports[name]["bits"][0])
        loaded = self.miter.gate("AND", reset, following)
        self.miter.equal(f"{label}: reset", loaded, reset if expected == "1" else "0")

    def refuse_others(self) -> None:
        """Record the registers of the text that the reference does not have."""
        for name, cell in self.new.side.cells.items():
            if cell["type"] in REGISTERS:
                for place, bit in enumerate(cell["connections"]["Q"]):
                    if (name, place) not in self.claimed:
                        self.problem(f"bit {bit} of the text is a register of its own")


def reset_of(side: Side, clock: Bit) -> str | None:
    """Return the reset port of a clock port's domain."""
    for name, port in side.ports.items():
        if port["bits"] == [clock]:
            reset = name.removesuffix("clk") + "rst"
            return reset if reset in side.ports else None
    return None
