"""Golden model of the operand collectors: expected operands, and dispatch by cycle."""

from dataclasses import dataclass, field

from .....hw.config import PipelineConfig
from .....hw.core.layouts import beat_field
from .....hw.isa.operations import PORTS, Port

__all__ = ["CollectorsModel", "Entry", "expected_operations", "mixture"]

#: Fields copied from the decoded instruction to the operation.
PASSED = ("pc", "operation", "rd", "writes", "immediate", "rounding", "a_is_pc", "b_is_immediate")


def mixture(operation: dict) -> list[int]:
    """Return a result for each thread that depends on every operand, each in a different way."""
    a, b, c = operation["operands"]
    return [
        (3 * x + 5 * (y ^ (y >> 7)) + 7 * (z ^ (z << 3)) + operation["pc"]) & 0xFFFFFFFF
        for x, y, z in zip(a, b, c, strict=True)
    ]


def expected_operations(config: PipelineConfig, issues: list[dict], registers: dict) -> list[dict]:
    """Return the expected operations of `issues`, as if executed one after the other.

    Results are those of `mixture`.

    Parameters
    ----------
    config : PipelineConfig
        The core.
    issues : list of dict
        Payloads of `issue_layout`, those of each warp in the order of its program.
    registers : dict
        Lists of values by thread, by warp and register; overwritten.

    """
    operations = []
    for issue in issues:
        instruction = issue["instruction"]
        operands = [
            list(registers[issue["warp"], source]) if instruction["reads"] >> k & 1 else None
            for k, source in enumerate(instruction["sources"])
        ]
        operation = {"warp": issue["warp"], "mask": issue["mask"]}
        operation |= {name: instruction[name] for name in PASSED}
        operation |= {name: issue[name] for name in beat_field(config)}
        operation["operands"] = [operand or [0] * config.threads for operand in operands]
        operations.append(operation)
        if instruction["writes"]:
            values = registers[issue["warp"], instruction["rd"]]
            for thread, value in enumerate(mixture(operation)):
                if issue["mask"] >> thread & 1:
                    values[thread] = value
    return operations


@dataclass(kw_only=True)
class Entry:
    """An instruction in a collector, with its operands to request from banks or take from buses."""

    collector: int
    issue: dict
    wanted: list[int] = field(default_factory=list)
    waiting: list[int] = field(default_factory=list)

    @property
    def port(self) -> int:
        """Port of the instruction."""
        return int(self.issue["instruction"]["port"])

    @property
    def gathers(self) -> bool:
        """True if operands are missing."""
        return bool(self.wanted or self.waiting)


class CollectorsModel:
    """Golden model of the collectors by cycle, driven with the events around them.

    Age is the position in a list, in contrast to the masks of the RTL. `requests` and `offered`
    belong to the current cycle; `step` ends it.
    """

    def __init__(self, config: PipelineConfig):
        self.config = config
        self.entries: list[Entry] = []  # the oldest first
        self.offered: dict[int, Entry] = {}  # by port

    def read_mask(self, entry: Entry) -> int:
        """Return the threads whose operands are read."""
        reads_all = PORTS[Port(entry.issue["instruction"]["port"])].reads_all
        return (1 << self.config.threads) - 1 if reads_all else entry.issue["mask"]

    def requests(self) -> dict[int, dict]:
        """Return the bank request of each collector."""
        return {
            entry.collector: {
                "warp": entry.issue["warp"],
                "register": entry.issue["instruction"]["sources"][entry.wanted[0]],
                "mask": self.read_mask(entry),
            }
            for entry in self.entries
            if entry.wanted
        }

    def room(self, accepted: set[int]) -> int:
        """Return the number of instructions that fit while `accepted` ports dispatch."""
        return self.config.collectors - len(self.entries) + len(accepted)

    def step(self, granted: set[int], results: list[dict], accepted: set[int], issues: list[dict]):
        """End a cycle; return the number of operands taken from buses.

        Parameters
        ----------
        granted : set of int
            Granted collectors.
        results : list of dict
            Results on the buses.
        accepted : set of int
            Ports that accept their offer.
        issues : list of dict
            Accepted instructions, the oldest first.

        """
        snooped = 0
        for entry in self.entries:
            refused = entry.wanted[:1]  # the request is repeated
            wanted = entry.wanted[1:]
            if entry.collector in granted:
                refused = []
            for result in results:
                hits, covers = self.watch(entry, result)
                snooped += len(hits) if covers else 0
                wanted += [] if covers else hits
            entry.wanted = refused + sorted(wanted)
        for port in accepted:
            self.entries.remove(self.offered.pop(port))
        self.choose()
        for issue in issues:
            self.allocate(issue)
        return snooped

    def watch(self, entry: Entry, result: dict) -> tuple[list[int], bool]:
        """Return the operands of `entry` on a bus, and True if for all of its threads."""
        if not result["writes"] or result["warp"] != entry.issue["warp"]:
            return [], True
        sources = entry.issue["instruction"]["sources"]
        hits = [k for k in entry.waiting if sources[k] == result["rd"]]
        entry.waiting = [k for k in entry.waiting if k not in hits]
        return hits, not entry.issue["mask"] & ~result["mask"]

    def choose(self):
        """Offer each free port its oldest ready instruction."""
        gathering: set[int] = set()
        for entry in self.entries:
            warp = entry.issue["warp"]
            if entry.gathers:
                gathering.add(warp)
            elif warp not in gathering:
                # An entry that is already offered is the oldest of its port, or held by it.
                self.offered.setdefault(entry.port, entry)

    def allocate(self, issue: dict):
        """Put an instruction into the first free collector."""
        used = {entry.collector for entry in self.entries}
        reads = [k for k in range(3) if issue["instruction"]["reads"] >> k & 1]
        pending = [k for k in reads if self.config.snoop and issue["pending"] >> k & 1]
        self.entries.append(
            Entry(
                collector=min(set(range(self.config.collectors)) - used),
                issue=issue,
                wanted=[k for k in reads if k not in pending],
                waiting=pending,
            )
        )
