"""Workloads of the cores: kernels, whose buffers are checked, and programs from files."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from ...base.errors import UserError
from ...base.progress import Progress
from ...hw.config import MachineConfig
from ...hw.isa.memory_map import ARGUMENTS, STACK_BYTES
from ...hw.presets import PRESETS
from ...hw.presets.ends import value_of
from ...kernels.inspection import inspect_program, inspect_speed, unpaired_splits
from ...kernels.kernel import Kernel, Problem
from ...kernels.program import Program
from ...kernels.toolchain import UnmetAssertionError
from ..analytic.gemm import KERNELS as PREDICTED
from ..harness.profile import POLLING
from ..machine.memory_layout import ARGUMENTS_BYTES, MemoryLayout, Region, place_buffers
from ..machine.saving import data_digest
from ..machine.snapshot import program_digest
from ..machine.stacks import core_of, require_stack_bytes
from ..report.result import FAIL, PASS, check_section
from ..report.utilization import account_units, shared_footprint
from .buffer_check import check_buffer
from .dumps import dumped, require_dumps
from .iss_executor import IssExecutor
from .loading import build, memory_layout_of, require_cores
from .model_check import MEMORY_CHECKS, ModelCheck, checked_model
from .model_choice import Work
from .options import MODEL, UNCHECKED, SimtOptions
from .prediction import attention_section, prediction_section
from .program_executor import ProgramExecutor
from .rtl_executor import RtlExecutor, build_machine
from .workload import Console

__all__ = ["KernelWorkload", "ProgramWorkload"]


class ProgramWorkload:
    """Program from sources or from one ELF file; it passes with exit code 0 and no error of a unit.

    Warnings of the inspection are part of the result. Only splits without joins change the verdict.

    Parameters
    ----------
    paths : sequence of Path
        Files of the program.

    """

    driver = "cores"
    program: Program
    #: Contents of the buffers before the run.
    data: Sequence[bytes] = ()

    def __init__(self, paths: Sequence[Path]):
        self.paths = paths

    @property
    def is_own(self) -> bool:
        """Whether the program is the user's; its accesses are checked unless an option says not."""
        return True

    @property
    def name(self) -> str:
        """Name of the first file."""
        return self.paths[0].name

    @property
    def buffer_names(self) -> Iterable[str]:
        """Names of the buffers; a program has none."""
        return ()

    @property
    def defines(self) -> tuple[str, ...]:
        """Macros of the program that do not come from the options."""
        return ()

    @property
    def work(self) -> Work | None:
        """Arithmetic of the program; None if it is not known."""
        return None

    @property
    def subject(self) -> dict[str, Any]:
        """Program, by the key of a result."""
        return {"program": [str(path) for path in self.paths]}

    @property
    def arguments_bytes(self) -> int:
        """Bytes at `ARGUMENTS` that the program may read: it has no arguments."""
        return 0

    def sentence(self, preset: str) -> str:
        """Return the run in words."""
        return f"running {self.name}"

    def pose(self, preset: str, config: MachineConfig, options: SimtOptions) -> dict[str, Any]:
        """Require cores; return the entries in the options of the result."""
        require_cores(self.name, preset, config)
        require_dumps(options.dumps, self.buffer_names)
        if options.stack_bytes is not None:
            require_stack_bytes(config, options.stack_bytes)
        settings: dict[str, Any] = {
            "optimize": options.optimize,
            "allow_spills": options.allow_spills,
            "check": self.check_of(options),
        }
        if options.engine == MODEL:
            return settings | {"schedule": options.schedule}
        on_rtl = {"lockstep": options.lockstep, "gating": options.gating}
        return settings | on_rtl | {"races": options.races if options.lockstep else None}

    @contextmanager
    def prepare(
        self,
        preset: str,
        config: MachineConfig,
        options: SimtOptions,
        console: Console | None,
        progress: Progress | None,
    ) -> Iterator[ProgramExecutor]:
        """Provide the machine with the program and its data in its memory."""
        options = replace(options, defines=(*self.defines, *options.defines))
        regions, check = list(self.place(config, options)), self.check_of(options)

        def laid_out(program: Program) -> MemoryLayout:
            return memory_layout_of(config, program, regions, options, self.arguments_bytes)

        def on_model(kind: type[IssExecutor]) -> IssExecutor:
            program = self.compiled(config, options, progress, guarded=check in MEMORY_CHECKS)
            iss = checked_model(config, options, check, progress)
            return kind(iss, program, laid_out(program), options)

        if options.engine == MODEL:
            executor = on_model(IssExecutor)
            self.program = executor.program
        else:
            notes: Sequence[str] = ()
            if check != UNCHECKED and options.saving.restored is None:
                before = on_model(ModelCheck)
                self.fill(before, None)
                before.execute(self.sentence(preset), progress, {})
                notes = before.notes
            self.program = program = self.compiled(config, options, progress)
            machine = build_machine(config, program, options, progress, self.work)
            executor = RtlExecutor(machine, program, laid_out(program), options)
            executor.check_remarks = notes
        with closing(executor):
            self.fill(executor, console)
            yield executor

    def compiled(
        self,
        config: MachineConfig,
        options: SimtOptions,
        progress: Progress | None,
        *,
        guarded: bool = False,
    ) -> Program:
        """Return the program of its files for a machine, with guards for the check of memory."""
        return build(self.paths, config, options, progress, guarded=guarded, is_own=self.is_own)

    def fill(self, executor: ProgramExecutor, console: Console | None) -> None:
        """Load the program and its data."""
        executor.load(console)
        for address, data in self.image():
            executor.write(address, data)

    def complaints(self, executor: ProgramExecutor) -> list[str]:
        """Return the findings of the inspection of the program's code."""
        core = core_of(executor.memory_layout.config)
        return inspect_program(self.program, has_atomics=core.atomics)

    def check_of(self, options: SimtOptions) -> str:
        """Return the checks of accesses, one of `options.CHECKS`."""
        return options.check or ("all" if self.is_own else UNCHECKED)

    def place(self, config: MachineConfig, options: SimtOptions) -> Iterable[Region]:
        """Place the buffers; return their regions."""
        return ()

    def image(self) -> Iterable[tuple[int, bytes]]:
        """Return address and contents of the buffers and of the arguments."""
        return ()

    def inputs(self, executor: ProgramExecutor, options: SimtOptions) -> dict[str, Any]:
        """Return hashes of the inputs that a resumed run must share with the saved one."""
        return {
            "code": program_digest(self.program),
            "data": data_digest(self.data),
            "allow_regions": options.allow_regions,
            "stack_bytes": options.stack_bytes,
        }

    def check(
        self, executor: ProgramExecutor, options: SimtOptions, done: dict[str, Any]
    ) -> tuple[dict[str, Any], Mapping[str, np.ndarray]]:
        """Return the check of the exit code; a program has no known buffers."""
        code, errors = executor.exit_code, executor.device_errors
        check = check_section(
            FAIL if code or errors or unpaired_splits(self.program) else PASS,
            exit_code=code,
            device_errors=errors,
            code_warnings=self.complaints(executor),
            ignored_races=executor.ignored_races,
        )
        return {"check": check}, dumped(executor, options.dumps)


class KernelWorkload(ProgramWorkload):
    """Kernel of some sizes; every buffer is checked.

    Parameters
    ----------
    kernel : Kernel
        The kernel.
    sizes : dict
        Sizes of the kernel by dimension.
    arrays : mapping of str to ndarray or None
        Inputs in place of generated ones, by name.

    """

    problem: Problem
    regions: dict[str, Region]

    def __init__(
        self,
        kernel: Kernel,
        sizes: dict[str, int],
        arrays: Mapping[str, np.ndarray] | None = None,
    ):
        super().__init__(kernel.sources)
        self.kernel, self.sizes, self.arrays = kernel, sizes, arrays

    @property
    def is_own(self) -> bool:
        """Whether the kernel is made of the user's files."""
        return bool(self.kernel.files)

    @property
    def name(self) -> str:
        """Name of the kernel."""
        return self.kernel.name

    @property
    def buffer_names(self) -> Iterable[str]:
        """Names of the buffers of its problem."""
        return self.problem.buffers

    @property
    def defines(self) -> tuple[str, ...]:
        """Macros that the problem determines."""
        return self.problem.defines

    @property
    def work(self) -> Work:
        """Arithmetic of the kernel."""
        return Work(self.problem.operations, self.problem.macs)

    @property
    def subject(self) -> dict[str, Any]:
        """Kernel with its sizes, by the keys of a result."""
        return {"kernel": self.name, "sizes": self.sizes}

    @property
    def arguments_bytes(self) -> int:
        """Bytes of the arguments of the problem: reading more is a fault."""
        return 4 * len(self.problem.arguments)

    def sentence(self, preset: str) -> str:
        """Return the run in words."""
        sizes = " x ".join(f"{name} {size}" for name, size in self.sizes.items())
        return f"running {self.name}{f', {sizes},' if sizes else ''} on {preset}"

    def pose(self, preset: str, config: MachineConfig, options: SimtOptions) -> dict[str, Any]:
        """Pose the problem; raise `UserError` if there is none of these sizes."""
        require_cores(self.name, preset, config)
        try:
            self.problem = self.kernel.problem(self.sizes, options.seed, self.arrays)
        except ValueError as error:
            given = " x ".join(map(str, self.sizes.values()))
            raise UserError(f"{self.name} {given}: {error}") from None
        settings = super().pose(preset, config, options)
        self.data = [buffer.data.tobytes() for buffer in self.problem.buffers.values()]
        if self.problem.formats:
            settings |= {"data": self.problem.data, "formats": dict(self.problem.formats)}
        settings["arrangement"] = self.problem.arrangement
        settings |= {"causal": self.problem.causal, "scale": self.problem.scale}
        return settings

    def compiled(
        self,
        config: MachineConfig,
        options: SimtOptions,
        progress: Progress | None,
        *,
        guarded: bool = False,
    ) -> Program:
        """Return the program; raise `UserError` if the kernel needs another machine."""
        try:
            return super().compiled(config, options, progress, guarded=guarded)
        except UnmetAssertionError as error:
            value = value_of(config, error.field)
            change = {"larger": "a larger", "other": "another"}[error.change]
            raise UserError(
                f"{self.name} needs {change} {error.field} than {value}: {error.rule}"
            ) from None

    def place(self, config: MachineConfig, options: SimtOptions) -> Iterable[Region]:
        """Place the buffers; return their regions."""
        sizes = zip(self.problem.buffers, map(len, self.data), strict=True)
        self.regions = place_buffers(dict(sizes), config, options.stack_bytes or STACK_BYTES)
        return self.regions.values()

    def image(self) -> Iterable[tuple[int, bytes]]:
        """Return address and contents of the buffers and of the arguments."""
        arguments = argument_words(self.problem, self.regions).tobytes()
        written = [buffer.is_written for buffer in self.problem.buffers.values()]
        parts = zip(self.regions.values(), self.data, written, strict=True)
        filled = [(region.address, data) for region, data, is_written in parts if is_written]
        return *filled, (ARGUMENTS, arguments)

    def check(
        self, executor: ProgramExecutor, options: SimtOptions, done: dict[str, Any]
    ) -> tuple[dict[str, Any], Mapping[str, np.ndarray]]:
        """Compare every buffer with its expected contents, and account for the matrix units."""
        problem, buffers = self.problem, self.problem.buffers
        contents = {
            name: executor.read(self.regions[name].address, buffer.data.nbytes)
            for name, buffer in buffers.items()
        }
        code, errors = executor.exit_code, executor.device_errors
        checks = {
            name: check_buffer(name, buffer, contents[name])
            for name, buffer in buffers.items()
            if buffer.is_checked
        }
        config = executor.memory_layout.config
        warnings = self.complaints(executor)
        # Kernels fit the registers of the presets. On other machines spills only make them slow.
        slow = () if config in PRESETS.values() else inspect_speed(self.program)
        refused = [warning for warning in warnings if warning not in (*slow, *self.program.remarks)]
        failed = (
            code
            or errors
            or (refused and not options.allow_spills)
            or unpaired_splits(self.program)
            or not all(check.passed for check in checks.values())
        )
        check = check_section(
            FAIL if failed else PASS,
            exit_code=code,
            device_errors=errors,
            code_warnings=warnings,
            buffers={name: check.as_dict() for name, check in checks.items()},
            ignored_races=executor.ignored_races,
        )
        of_units = account_products(config, problem.macs, done)
        if problem.tensor_macs and done.get("region"):
            of_units = account_tensor(config, problem.tensor_macs, done)
        if self.name in PREDICTED and of_units:
            of_units["prediction"] = prediction_section(
                config,
                self.sizes,
                problem.formats["c"],
                options.memory,
                done,
                kernel=self.name,
            )
        if self.name == "attention" and of_units:
            of_units["prediction"] = attention_section(config, problem, options.memory, done)
        instructions = max(1, done["instructions"]["warp"])
        return of_units | {
            "check": check,
            "operations": problem.operations,
            "operations_per_instruction": problem.operations / instructions,
        }, {
            name: contents[name]
            .view(buffer.data.dtype)
            .reshape(buffer.data.shape)[..., : buffer.columns]
            for name, buffer in buffers.items()
        } | dumped(executor, options.dumps)


def account_products(
    config: MachineConfig, macs: Sequence[int], done: dict[str, Any]
) -> dict[str, Any]:
    """Return the sections of a result on matrix units commanded by the cores.

    If several units have products, the time of each is the region of the core of its number.
    Without a marked region, and on cores alone, there are no sections.

    Parameters
    ----------
    config : MachineConfig
        The machine.
    macs : sequence of int
        Multiply-adds of the problem, by matrix unit.
    done : dict
        The sections of the executor.

    """
    if not done.get("region") or "counters" not in done:
        return {}
    elapsed = {number: done["cycles"] for number, count in enumerate(macs) if count}
    if len(elapsed) > 1:
        regions = {number: done["cores"][number]["region"] for number in elapsed}
        elapsed = {number: region["end"] - region["begin"] for number, region in regions.items()}
    spent = {name: function["cycles"] for name, function in done["profile"].items()}
    polled = sum(spent.get(name, 0) for name in POLLING)
    return account_units(config, macs, elapsed, done["counters"], rest="no_compute") | {
        "polling_share": polled / max(1, sum(spent.values()))
    }


def account_tensor(config: MachineConfig, macs: int, done: dict[str, Any]) -> dict[str, Any]:
    """Return the sections of a result on the tensor units of all cores."""
    tensor = config.tensor
    assert tensor is not None
    return {
        "mac_utilization": macs / (config.cores * tensor.macs * done["cycles"]),
        "shared_read_bytes": shared_footprint(done["counters"]),
    }


def argument_words(problem: Problem, buffers: dict[str, Region]) -> np.ndarray:
    """Return the words at `ARGUMENTS`."""
    words = []
    for argument in problem.arguments:
        if isinstance(argument, str):
            words.append(buffers[argument].address)
        elif isinstance(argument, float):
            words.append(int(np.float32(argument).view(np.uint32)))
        else:
            words.append(int(argument) & 0xFFFF_FFFF)
    assert 4 * len(words) <= ARGUMENTS_BYTES, "arguments must fit a page"
    return np.array(words, dtype=np.uint32)
