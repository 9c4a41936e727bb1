"""Prediction of a run by the analytic model, as work of a sweep."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from ...base.errors import UserError
from ...base.progress import Progress
from ...hw.config import MachineConfig
from ...kernels.attention.cores import problem_of
from ...kernels.attention.problem import AttentionProblem
from ...kernels.gemm.target import is_on_tensor_units, product_macs
from ...sim.analytic import gemm, pair
from ...sim.analytic.attention import prediction as attention
from ...sim.analytic.work import PAIR, Prediction
from ...sim.harness.dram import DramConfig
from ...sim.run.options import with_memory
from .kernel_run import KernelRun
from .record import PASS, Record

__all__ = ["AnalyticRun", "predicted"]

#: Kernels besides products, and driver, that the model describes.
ATTENTION, DRIVER = "attention", "cores"
KERNELS = (*gemm.KERNELS, ATTENTION)
#: Data of attention whose maxima are those of the measured runs.
DATA = "random"


@dataclass(frozen=True, kw_only=True)
class AnalyticRun(KernelRun):
    """Predicted run of a product or of ``attention`` commanded by cores.

    Nothing is built, simulated or stored.
    """

    kind: ClassVar[str] = "sweep-analytic"
    is_immediate: ClassVar[bool] = True

    def record(self, progress: Progress | None = None) -> Record:
        """Predict work and cycles; the counters are bytes, limits, and cycles by cause."""
        memory = with_memory(self.config, self.options).memory
        assert isinstance(memory, DramConfig)
        if self.kernel == ATTENTION:
            problem = attention_of(self.config, self.sizes, self.product)
            macs, what = problem.needed_macs, attention.WHAT
            prediction = attention.predict_attention(self.config, problem, memory)
        else:
            c_format = self.product.get("c_format")
            product = gemm.product_of(self.config, **self.sizes, c_format=c_format)
            macs, what = product.macs, gemm.WHAT
            prediction = gemm.predict(self.config, product, memory, kernel=self.kernel)
            if self.kernel == PAIR:
                macs = sum(part.macs for part in pair.products_of(self.config, product))
        return self.recorded(macs, product_macs(self.config, what), prediction)

    def recorded(self, macs: int, slots: int, prediction: Prediction) -> Record:
        """Return the record of a prediction with multiply-adds, and `slots` for them per cycle."""
        figures: dict[str, float] = {"least_cycles": prediction.least_cycles}
        if prediction.cycles is not None:
            figures |= {
                "cycles": prediction.cycles,
                "operations_per_cycle": 2 * macs / prediction.cycles,
                "mac_utilization": macs / (slots * prediction.cycles),
            }
        return Record(status=PASS, figures=figures, counters=counters_of(self.config, prediction))


def attention_of(
    config: MachineConfig, sizes: Mapping[str, int], options: Mapping[str, Any]
) -> AttentionProblem:
    """Return the problem of a run of ``attention`` with options of its data."""
    data = options.get("data", DATA)
    if data != DATA:
        raise UserError(f"{attention.WHAT} needs {DATA} data, not {data}")
    return problem_of(
        config, **sizes, **{name: value for name, value in options.items() if name != "data"}
    )


def counters_of(config: MachineConfig, prediction: Prediction) -> dict[str, int]:
    """Return work, least cycles, and cycles by cause, by the names in reports."""
    traffic, levels = prediction.traffic, prediction.levels
    active = "tensor_active_cycles" if is_on_tensor_units(config) else "matrix_active"
    return {
        active: traffic.active,
        "dma_read_bytes": traffic.dma_read_bytes,
        "dma_written_bytes": traffic.dma_written_bytes,
        **{f"shared_read_bytes_{name}": n for name, n in traffic.shared_read_bytes.items()},
        **{f"shared_written_bytes_{name}": n for name, n in traffic.shared_written_bytes.items()},
        **({} if levels is None else levels.known()),
        **{f"least_cycles_{name}": n for name, n in prediction.limits.items()},
        **{f"cycles_{cause}": n for cause, n in prediction.terms.items()},
    }


def predicted(run: KernelRun) -> AnalyticRun:
    """Return the prediction of a run; raise `UserError` if the model does not describe it."""
    if run.kernel not in KERNELS or run.driver != DRIVER:
        is_host = run.kernel in KERNELS
        described = f"{run.kernel} --driver {run.driver}" if is_host else run.kernel
        raise UserError(
            f"the analytic model needs {', '.join(gemm.KERNELS)} or {ATTENTION} with --driver "
            f"{DRIVER}, not {described}: simulate it"
        )
    return AnalyticRun(**vars(run))
