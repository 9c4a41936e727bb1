"""Python interface of a machine: NumPy arrays in; NumPy arrays, cycles and counters out."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from ..base.errors import MachineError, UserError
from ..base.progress import Progress
from ..hw.config import MachineConfig
from ..kernels.gemm.target import product_operand
from ..sim.harness.dram import DramConfig
from ..sim.machine.saving import NOTHING, Saving, saving_to
from ..sim.report.result import PASS
from ..sim.run.inputs.arrays import ArrayError, integer
from ..sim.run.inputs.own_programs import Arguments, Expected, named, restored
from ..sim.run.loading import is_file_name
from ..sim.run.request.request import Request
from ..sim.run.request.resolve import resolve, resolve_machine
from ..sim.run.request.run_options import require_known_values
from .attentions import Attention, attention_of, heads_of
from .options import python_options
from .products import products_of, result_of
from .progress import shown_progress
from .results import Run, failure, warn_of_infinities, workload_name

__all__ = ["Machine"]

#: Seconds until a step of a build is shown.
DELAY = 1.0


class Machine:
    """Cluster that multiplies matrices and runs kernels; its simulation model is cached.

    Parameters
    ----------
    machine : str or MachineConfig
        Preset name, or the config of a custom machine.
    set : mapping of str to object
        Values of fields of the config by dotted name, as ``--set`` on the command line.
    engine : str
        ``verilator``, ``amaranth``, or ``iss``, the instruction-set model without a clock.
    driver : str or None
        Driver of the matrix unit: a program on the ``cores``, or the ``host``. None selects the
        cores if the machine has any, else the host.
    dram : DramConfig or None
        DRAM timing (`spica.Dram`). None for the default of the machine: DRAM if it has matrix or
        tensor units, else a simple memory at the ports of the cores.
    seed : int
        Seed of the kernels' data.
    progress : bool or callable
        True shows the steps of a build that takes longer than a second on standard error, unless
        ``$SPICA_PROGRESS`` is 0. False shows nothing. A callable receives each step of builds
        and runs as a `Progress` callback.

    Attributes
    ----------
    last : Run or None
        Measurements of the last run.
    runs : tuple of Run
        Measurements of every run of the last call: of `matmul`, one per product of its batch.

    """

    @python_options(preset="machine must be one of")
    def __init__(
        self,
        machine: str | MachineConfig = "virgo",
        *,
        set: Mapping[str, Any] | None = None,
        engine: str = "verilator",
        driver: str | None = None,
        dram: DramConfig | None = None,
        seed: int = 1,
        progress: bool | Progress = True,
    ):
        is_preset = isinstance(machine, str)
        self.name = machine if is_preset else "own"
        self.engine, self.seed, self.progress = engine, integer("seed", seed), progress
        self.driver, self.dram = driver, dram
        request = Request(
            kernel="gemm",
            preset=self.name,
            config=None if is_preset else machine,
            settings=tuple(f"{name}={setting(value)}" for name, value in (set or {}).items()),
            engine=engine,
            driver=driver,
            seed=self.seed,
        )
        self.config, self.on_cores = resolve_machine(request)
        self.runs: tuple[Run, ...] = ()

    def __repr__(self) -> str:
        driver = "cores" if self.on_cores else "host"
        return f"<Machine {self.name}: engine {self.engine}, driver {driver}>"

    @property
    def last(self) -> Run | None:
        """Measurements of the last run."""
        return self.runs[-1] if self.runs else None

    @python_options()
    def matmul(
        self,
        a: np.ndarray,
        b: np.ndarray,
        *,
        bias: np.ndarray | None = None,
        activation: str | None = None,
        add: np.ndarray | None = None,
        c_format: str | None = None,
        save: Path | str | None = None,
        save_at: int | None = None,
        restore: Path | str | None = None,
    ) -> np.ndarray:
        """Return the product of two matrices, computed by matrix or tensor units and checked.

        ``activation(a @ b + bias)`` and ``a @ b + add`` are computed by the cores while a matrix
        unit multiplies; see kernels ``gemm_bias`` and ``gemm_add``.

        Parameters
        ----------
        a, b : ndarray
            Shapes (…, m, k) and (…, k, n), of any NumPy or `ml_dtypes` type of numbers. Values are
            rounded to the unit's operand format, to nearest even; values outside its range are an
            error. The dimensions before the last two are a batch, broadcast as by `numpy.matmul`.
            If `b` has none, all rows of `a` are one product; else each product of the batch is a
            run of its own. Vectors and empty arrays are those of `numpy.matmul`; an empty result
            needs no run.
        bias : ndarray or None
            A value per column, shape (n,), in FP32.
        activation : str or None
            ``relu`` or ``gelu`` (the approximation by tanh), applied to each element.
        add : ndarray or None
            Matrix that is added to the product, in the format of the result; it excludes `bias`
            and `activation`. Broadcast to the shape of the result.
        c_format : str or None
            Format of the result; None for the operand format's narrow result format.
        save : path or None
            New checkpoint file of the run.
        save_at : int or None
            Cycle of the checkpoint.
        restore : path or None
            Checkpoint of the same product to resume.

        Returns
        -------
        ndarray
            Shape (…, m, n), in the type of the format: of NumPy, or of `ml_dtypes` for bf16. A
            `RuntimeWarning` states how many results are infinite as their values are beyond its
            range. Infinities of intermediate results are a `MachineError`.

        """
        batch = products_of(
            product_operand(self.config, "matmul"),
            *(a, b),
            bias=bias,
            activation=activation,
            add=add,
            c_format=c_format,
        )
        saving = saving_to(save, save_at, restore)
        if saving.is_used and len(batch.products) != 1:
            raise UserError(f"a checkpoint has one product, not a batch of {len(batch.products)}")
        if not self.on_cores and batch.kernel != "gemm":
            raise UserError("bias, activation and add need driver cores: cores finish the product")
        requests = [
            self.request(
                batch.kernel,
                driver=self.driver,
                sizes=product.sizes,
                problem=product.options,
            )
            for product in batch.products
        ]
        runs = [self.started(request, saving) for request in requests]
        self.runs = tuple(runs)
        warn_of_infinities(self.runs)
        return result_of(batch, [run["c"] for run in runs])

    @python_options()
    def attention(
        self,
        q: np.ndarray,
        k: np.ndarray,
        v: np.ndarray,
        causal: bool = False,
        scale: float | None = None,
    ) -> Attention:
        """Return ``softmax(scale q @ k.T) @ v`` by heads, computed by the cluster and checked.

        Products run on the matrix unit or on tensor units, the softmax on the cores; see kernel
        ``attention``. All heads are one run.

        Parameters
        ----------
        q, k, v : ndarray
            Shapes (queries, d), (heads, queries, d) or (batch, heads, queries, d), with keys in
            place of queries in `k` and `v`, and d of 64 or 128. The heads of `k` and `v` may be
            fewer and divide those of `q`: consecutive heads of `q` share one. Elements have any
            NumPy or `ml_dtypes` type of numbers and are rounded to the unit's operand format.
            Values outside its range are an error.
        causal : bool
            Whether query i sees only keys j <= i + keys - queries. O is 0 and the logarithm minus
            infinity for a query that sees none.
        scale : float or None
            Positive factor of the scores; None for 1 / sqrt(d).

        Returns
        -------
        Attention
            `o`, in the shape of `q`, and `lse`, the logarithm of each query's sum of exponentials,
            in FP32.

        """
        if not self.on_cores:
            raise UserError("attention needs driver cores: cores compute the softmax")
        if not isinstance(scale, int | float | np.integer | np.floating | None):
            raise ArrayError(f"scale must be a number above 0 or None, not {scale!r}")
        heads = heads_of(product_operand(self.config, "attention"), q, k, v)
        problem = {"given": heads.given, "causal": bool(causal), "scale": scale}
        run = self.started(self.request("attention", sizes=heads.sizes, problem=problem))
        warn_of_infinities(self.runs)
        return attention_of(heads, run["o"], run["lse"])

    def request(self, kernel: str | Path, **options: Any) -> Request:
        """Return the request of a kernel or a program on this machine."""
        return Request(
            kernel=kernel,
            preset=self.name,
            config=self.config,
            engine=self.engine,
            seed=self.seed,
            memory=self.dram,
            **options,
        )

    @python_options(kernel="program must be a file or one of")
    def run(
        self,
        program: str | Path,
        *files: str | Path,
        args: Arguments = (),
        expect: Expected | None = None,
        rtol: float = 0.0,
        atol: float = 0.0,
        includes: Sequence[str | Path] = (),
        defines: Sequence[str] = (),
        optimize: int = 3,
        stack_bytes: int | None = None,
        lockstep: bool = False,
        races: str = "report",
        check: str | None = None,
        profile: bool = False,
        save: Path | str | None = None,
        save_at: int | None = None,
        restore: Path | str | None = None,
        **sizes: Any,
    ) -> Run:
        """Run a kernel of ``spica list``, or an own program, on the cores; return its results.

        `MachineError` if the machine faults or hangs, the exit code is not 0, or the contents of a
        buffer are wrong.

        Parameters
        ----------
        program : str or path
            Name of a kernel, or file: C, C++, assembly or ELF.
        *files : path
            Further files of the same program.
        args : mapping or sequence
            Arguments of an own program, the words from ``spica_arguments()`` on. A NumPy array
            with elements of 8, 16 or 32 bits is placed in DRAM and stands for its address, a number
            for itself: an integer, or a float as FP32. A program that reads more words faults.
        expect : mapping or None
            Contents of arrays of `args` at the end, by name, or by place in a sequence, rounded to
            the array's type of floats. Numbers that the type does not hold are an error. Other
            arrays are not checked.
        rtol, atol : float
            Largest deviation of floats from `expect`: `atol`, and `rtol` times their magnitude.
        includes : sequence of path
            Further folders of headers of an own program.
        defines : sequence of str
            Its macros, as ``NAME`` or ``NAME=VALUE``.
        optimize : int
            Optimization level of the compiler, 0 to 3.
        stack_bytes : int or None
            Bytes of each thread's stack, a multiple of 16; None for 8192, or for an ELF file with
            stacks of its own.
        lockstep : bool
            Whether the instruction-set model checks every instruction of the RTL.
        races : str
            ``report`` or ``ignore`` loads that missed a store for want of a fence, in lockstep.
        check : str or None
            Checks of accesses on the instruction-set model, where a run on the RTL is preceded by
            one: ``races``, ``memory``, ``all`` or ``none``. None: all for an own program, none for
            a kernel.
        profile : bool
            Whether the result has ``source_profile``: time by function and source line, and what
            warps waited for.
        save, save_at, restore
            As for `matmul`.
        **sizes : int or array
            Sizes of a kernel, and arrays in place of its generated inputs, by their names. Sizes
            that follow from the arrays may be left out.

        Returns
        -------
        Run
            Buffers by name, for a sequence of `args` also by place; cycles and counters.

        """
        saving = saving_to(save, save_at, restore)
        options: dict[str, Any] = {"sizes": sizes}
        if is_file_name(program):
            if sizes:
                raise UserError(f"{program} has no size {next(iter(sizes))}; give it in args")
            data = {"args": args, "expect": expect or {}, "rtol": rtol, "atol": atol}
            options = {"files": files, **data}
        elif files or named(args) or expect is not None or rtol or atol:
            require_known_values(self.request(program))
            raise UserError(f"kernel {program} has its own files, arguments and check")
        request = self.request(
            program,
            includes=tuple(map(Path, includes)),
            defines=tuple(defines),
            optimize=optimize,
            stack_bytes=stack_bytes,
            lockstep=lockstep or None,
            is_lockstep_usual=False,
            races=None if races == "report" else races,
            check=check,
            profile=profile or None,
            **options,
        )
        run = self.started(request, saving)
        restored(args, run.buffers)
        return run

    def started(self, request: Request, saving: Saving = NOTHING) -> Run:
        """Run a request and keep its measurements; raise `MachineError` if its check fails."""
        run = resolve(request)
        run = replace(run, options=replace(run.options, saving=saving))
        results: dict[str, np.ndarray] = {}
        with shown_progress(self.progress, delay=DELAY, runs=False) as progress:
            done = run.start(progress=progress, results=results)
        measured = Run(done, results)
        self.runs = (measured,)
        if done["check"]["verdict"] != PASS:
            raise MachineError(f"{workload_name(done)} failed its check: {failure(done['check'])}")
        return measured


def setting(value: Any) -> str:
    """Return a value as it is written on the command line."""
    return ",".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
