"""Lockstep of cores with the instruction-set model: compares every instruction."""

from collections.abc import Iterator, Sequence

import numpy as np

from ...base.errors import UserError
from ...base.native_interface import NativeStructure
from ...hw.config import CoreConfig, MachineConfig
from ...hw.core.control.faults import FaultCause
from ...hw.core.units.lsu.address import UPPER_HALF
from ...hw.core.units.lsu.memory_layouts import slots
from ...hw.isa.assembly import FLOAT_NAMES, INTEGER_NAMES, disassemble
from ...hw.isa.operations import Port
from ...hw.lib.interfaces.memory_fault import MemoryFault
from ..harness.cluster_harness import ClusterHarness
from ..harness.core_harness import ProgramHarness
from ..harness.interface import HARNESS
from ..harness.stop_reason import StopReason
from ..iss.faults import fault_of, lane_text
from ..iss.machine import Iss
from ..iss.native_types import ISS
from .causes import cause_masks, cause_name
from .mirror import mirror_setup
from .missed_store import MissedStore, missed_store_of

__all__ = ["Lockstep"]

#: Limits of a report: lanes, previous instructions, and instructions in flight.
SHOWN_LANES, SHOWN_BEFORE, SHOWN_FLIGHTS = 8, 10, 12
LINES = 40


class Lockstep:
    """Lockstep: the model executes the instructions of the cores, and both are compared.

    Compared for every instruction of a warp, in program order: pc, active threads, destination
    and written values; for loads and stores the requested addresses, bytes and data; for faults
    cause, threads and address. Counters that programs read are copied from the cores. The run
    stops at the first difference.

    Unwritten registers hold 0 in the model and anything in a core: programs must not read them.
    Threads that race for a word are compared if they are of one core, or if one request covers all
    threads of an instruction.

    In a cluster, console output and matrix commands of each core are compared too; stores to unit
    registers count as ordinary stores. The model's units are inactive: DMA writes to DRAM and
    shared memory are copied to the model's memory, and values loaded from unit registers are copied
    to the model. A load that overlaps a write of another core or the DMA may return the bytes
    before or after that write. A load that begins after the write has completed must return the new
    bytes, so programs fence before they load data that others wrote to DRAM. At the end, the placed
    regions of DRAM must be equal to the model's. Concurrent writes of different values to the same
    bytes, by several cores or a core and the DMA, may leave a different value in the machine. So
    may those of one core at the two addresses of a word of its shared memory, of which one is in
    the window; its loads there may overlap its own stores.

    Parameters
    ----------
    harness : ProgramHarness
        Harness of cores or of an observed cluster, before the start of a run.
    config : MachineConfig
    iss : Iss
        Of the same config, with the same memory, at the start of the program.
    placed : sequence of (int, int)
        Addresses and sizes of the regions of a cluster's DRAM compared at the end.
    ignores_races : bool
        Whether a load of a cluster that missed a store, as a fence is missing, is no difference:
        the model continues with the value of the core.

    Attributes
    ----------
    cycle : int or None
        Cycle of the first difference of an instruction, after `finish`.
    missed : MissedStore or None
        The race that this difference is, if it is one.

    """

    def __init__(
        self,
        harness: ProgramHarness,
        config: MachineConfig,
        iss: Iss,
        placed: Sequence[tuple[int, int]] = (),
        *,
        ignores_races: bool = False,
    ):
        assert config.core is not None
        self.config, self.core, self.iss = config, config.core, iss
        self.harness, self.placed = harness, placed
        self.cycle: int | None = None
        self.missed: MissedStore | None = None
        self.is_cluster = isinstance(harness, ClusterHarness)
        self.library = harness.library
        if self.is_cluster:
            self.library.harness_mirror(harness.handle, mirror_setup(config, iss))
        self.handles = [
            self.library.harness_lockstep_add(
                harness.handle, setup(core, self.core, iss, self.is_cluster, ignores_races)
            )
            for core in range(config.all_cores)
        ]

    def finish(
        self,
        stop: StopReason,
        *,
        exit_codes: list[int] | None = None,
        console: bytes | None = None,
    ) -> str:
        """Return the first difference of a run that stopped with `stop`, in words; "" if none.

        Parameters
        ----------
        stop : StopReason
            After ``DONE`` and ``DEADLOCK`` nothing may be in flight; after ``DONE`` the model must
            have ended too.
        exit_codes : list of int or None
            Of each core; compared after ``DONE``.
        console : bytes or None
            Console output; compared after ``DONE``, except in a cluster, where the order of several
            cores' bytes differs from the model's.

        """
        is_over = stop in (StopReason.DONE, StopReason.DEADLOCK)
        for handle in self.handles:
            difference = HARNESS.structure("Difference")()
            if not self.library.harness_lockstep_finish(handle, is_over, difference):
                self.cycle, self.missed = difference.cycle, missed_store_of(difference)
                return "\n".join(self.lines(handle, difference)[:LINES])
        return self.end_text(exit_codes, console) if stop is StopReason.DONE else ""

    @property
    def ignored_races(self) -> int:
        """Loads so far that missed a store because a fence is missing, if these are ignored."""
        return sum(self.library.harness_lockstep_ignored(handle) for handle in self.handles)

    def end_text(self, exit_codes: list[int] | None, console: bytes | None) -> str:
        """Return the differences between the final states of cores and model."""
        for core in range(self.config.all_cores):
            for warp in range(self.core.warps):
                state = self.iss.warp(core, warp)
                if state.active:
                    what = state.waits or f"continues at {self.at(state.pc)}"
                    return (
                        f"all cores are idle, but core {core}, warp {warp} of the model has not "
                        f"ended: {what}"
                    )
            expected = self.iss.core_state(core)[1]
            if exit_codes is not None and exit_codes[core] != expected:
                return f"exit code of core {core} is {exit_codes[core]}, in the model {expected}"
        if self.is_cluster:
            return next(filter(None, (self.memory_text(*region) for region in self.placed)), "")
        if console is not None and console != self.iss.console:
            return f"the cores printed {console!r}, the model {self.iss.console!r}"
        return ""

    def memory_text(self, address: int, nbytes: int) -> str:
        """Return the difference of a region of DRAM from the model's as text, "" if equal."""
        actual, expected = self.harness.read(address, nbytes), self.iss.read(address, nbytes)
        wrong = np.flatnonzero(actual != expected)
        if not len(wrong):
            return ""
        first = int(wrong[0])
        return (
            f"after the run, {len(wrong)} bytes of DRAM differ from the model, the first at "
            f"{address + first:#010x}: {expected[first]:#04x} of the model, {actual[first]:#04x} "
            "of the RTL"
        )

    def lines(self, handle: int, difference: NativeStructure) -> list[str]:
        """Return a report of a difference."""
        core, warp = difference.core, difference.warp
        return [
            f"core {core}, warp {warp} differs from the model in cycle {difference.cycle}: "
            f"{difference.what.decode()}",
            f"  at {self.at(difference.pc)}",
            *self.detail(difference),
            *self.before(core, warp),
            *self.beside(handle, warp),
        ]

    def detail(self, difference: NativeStructure) -> Iterator[str]:
        """Yield the expected and the actual values."""
        expected, got = difference.expected, difference.got
        form = HARNESS.enumeration("Form")(difference.form).name
        if form == "kNumbers":
            name = difference.what.decode()
            show = {"pc": self.at, "destination": register_name}.get(name, hexadecimal)
            yield f"  the model has {show(expected[0])}"
            yield f"  the core has  {show(got[0])}"
        elif form == "kLanes":
            lanes = [lane for lane in range(len(got)) if difference.lanes >> lane & 1]
            for lane in lanes[:SHOWN_LANES]:
                yield (
                    f"  lane {lane:2}: {hexadecimal(expected[lane])} of the model, "
                    f"{hexadecimal(got[lane])} of the core"
                )
            if len(lanes) > SHOWN_LANES:
                yield f"  and {len(lanes) - SHOWN_LANES} lanes more"
        elif form == "kFault":
            if difference.fault.lanes:
                yield f"  the model: {fault_of(difference.fault, '').sentence}"
            if got[0] != HARNESS.constant("kNoCause"):
                yield f"  the core: {cause_name(got[0])}"
        if missed := missed_store_of(difference):
            yield (
                f"  the core loaded the bytes from before the store of {missed.who} that completed "
                f"in cycle {missed.written}; call vx_fence before the load"
            )

    def before(self, core: int, warp: int) -> Iterator[str]:
        """Yield the last instructions of a warp that the model executed."""
        history = self.iss.history(core, warp)[-SHOWN_BEFORE:]
        if history:
            yield f"  last instructions of warp {warp} on the model"
        for pc, word, mask in history:
            yield f"    {pc:#010x}  {text_of(word):32}  {lane_text(mask)}"

    def beside(self, handle: int, warp: int) -> Iterator[str]:
        """Yield the other instructions of a warp in flight."""
        flights = (HARNESS.structure("FlightState") * ISS.constant("kHistory"))()
        count = self.library.harness_lockstep_in_flight(handle, warp, flights, len(flights))
        if count:
            yield f"  in flight of warp {warp}, the oldest first"
        for flight in flights[: min(count, SHOWN_FLIGHTS)]:
            state = "executed by the model" if flight.is_executed else "not yet by the model"
            state += ", done" if flight.is_done else ""
            yield (
                f"    {self.at(flight.pc):44}  {lane_text(flight.mask)}, "
                f"{Port(flight.port).name} since cycle {flight.collected}, {state}"
            )
        if count > SHOWN_FLIGHTS:
            yield f"    and {count - SHOWN_FLIGHTS} more"

    def at(self, pc: int) -> str:
        """Return a pc and its instruction as text."""
        try:
            word = int(self.iss.read(pc, 4).view(np.uint32)[0])
        except UserError:
            return f"{pc:#010x}, outside memory"
        return f"{pc:#010x}: {text_of(word)}"


def setup(
    core: int, config: CoreConfig, iss: Iss, is_cluster: bool, ignores_races: bool
) -> NativeStructure:
    """Return the description of a core and of the model for C++."""
    library = iss.native.library
    calls = HARNESS.structure("IssCalls")(
        machine=iss.native.handle,
        step=library.iss_step,
        write_register=library.iss_write_register,
        fault=library.iss_fault,
    )
    return HARNESS.structure("LockstepSetup")(
        model=calls,
        core=core,
        slot_bits=(slots(config) - 1).bit_length(),
        integer_port=Port.INT,
        memory_port=Port.MEMORY,
        control_port=Port.CONTROL,
        tensor_port=Port.TENSOR,
        misaligned_jump=FaultCause.MISALIGNED_JUMP,
        misaligned=MemoryFault.MISALIGNED,
        unaddressable=MemoryFault.UNADDRESSABLE,
        refused=MemoryFault.REFUSED,
        first_address=1 << UPPER_HALF,
        ignores_races=ignores_races,
        causes=cause_masks(is_cluster),
    )


def hexadecimal(number: int) -> str:
    """Return a word in the format of reports."""
    return f"{number:#010x}"


def register_name(row: int) -> str:
    """Return the name of the register at index `row`."""
    return (*INTEGER_NAMES, *FLOAT_NAMES)[row]


def text_of(word: int) -> str:
    """Return an instruction in assembly, or that the word is none."""
    try:
        return disassemble(word)
    except ValueError:
        return f"not an instruction, {word:#010x}"
