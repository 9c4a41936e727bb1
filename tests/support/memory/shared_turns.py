"""Turns of the atomics at the banks of shared memory, and the words that they keep from others."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from spica.hw.config import WORD_BYTES
from spica.hw.memory.shared.shared_memory import SharedMemoryPorts
from spica.sim.golden.memory.shared.shared_atomics import SharedAtomics

__all__ = ["AtomicTurns"]


class AtomicTurns:
    """Ports whose atomics may be accepted: one of each bank, unless a write was displaced.

    Subbanks are numbered over all banks, as are lines.

    Parameters
    ----------
    config : SharedMemoryPorts
    atomics : SharedAtomics

    """

    def __init__(self, config: SharedMemoryPorts, atomics: SharedAtomics):
        self.memory, self.atomics = config.memory, atomics
        self.turn = [0] * self.memory.banks
        self.displaced = [False] * self.memory.banks
        self.last = [-1000] * self.memory.banks  # cycle of the last atomic
        self.cycle = 0

    def bank(self, words: range) -> int:
        """Return the bank of some subbanks."""
        return words.start // self.memory.subbanks

    def written(self) -> dict[tuple[bool, int], int]:
        """Return the lines that atomics write in this cycle, by path and subbank."""
        used = {}
        for address in self.atomics.writes():
            bank, (column, _) = self.atomics.place(address)
            word = bank * self.memory.subbanks + column
            used[True, word] = address // self.memory.line_bytes
        return used

    def is_writing(self, path: bool, words: range) -> bool:
        """Return whether atomics write one of some subbanks, and a request would too."""
        return any((path, word) in self.written() for word in words)

    def is_locked(self, line: int, words: range) -> bool:
        """Return whether a word of a line in one of some subbanks is locked."""
        first = line * self.memory.line_bytes
        places = (first + word % self.memory.subbanks * WORD_BYTES for word in words)
        return any(self.atomics.locked(address) for address in places)

    def is_active(self, words: range) -> bool:
        """Return whether the bank of some subbanks did an atomic in one of the last cycles."""
        return self.cycle - self.last[self.bank(words)] <= 4

    def allowed(self, requests: Sequence[Any], offered: Mapping[str, Any]) -> list[Any]:
        """Return the requests without the atomics that have not their turn."""
        return [
            request
            for request in requests
            if offered[request.name].atomic is None or self.may_go(request)
        ]

    def may_go(self, request: Any) -> bool:
        """Return whether the atomic of a request has the turn."""
        bank = self.bank(request.words)
        return request.number == self.turn[bank] and not self.displaced[bank]

    def pass_on(
        self, requests: Sequence[Any], offered: Mapping[str, Any], accepted: Collection[str]
    ) -> None:
        """End a cycle."""
        waiting: dict[int, list[int]] = {bank: [] for bank in range(self.memory.banks)}
        for name, access in offered.items():
            if access.atomic is not None:
                bank, _ = self.atomics.place(access.address)
                waiting[bank].append(int(name.partition("_")[2]))
        self.displaced = [False] * self.memory.banks
        for request in requests:
            if request.path and self.is_writing(True, request.words):
                self.displaced[self.bank(request.words)] = True
        for bank, ports in waiting.items():
            turn = self.turn[bank]
            is_done = turn in ports and f"narrow_{turn}" in accepted
            others = [port for port in ports if port != turn]
            if is_done:
                self.last[bank] = self.cycle
            if others and (is_done or turn not in ports):
                count = self.memory.narrow_ports
                self.turn[bank] = min(others, key=lambda port: (port - turn) % count)
        self.cycle += 1
