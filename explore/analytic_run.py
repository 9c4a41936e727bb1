"""Prediction of a run by the analytic model, as work of a sweep."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from ..hw.base.errors import UserError
from ..hw.config import ClusterConfig
from ..kernels.gemm.target import is_on_tensor_units, product_macs
from ..sim.analytic.gemm import WHAT, predict, product_of
from ..sim.harness.dram import DramConfig
from ..sim.run.options import with_memory
from .record import PASS, Record
from .work import KernelRun

__all__ = ["AnalyticRun", "predictions_of"]

#: Function that finds the run of a machine by its name and config.
RunOf = Callable[[str, ClusterConfig], KernelRun]

#: Kernel and driver that the model describes.
KERNEL, DRIVER = "gemm", "cores"


@dataclass(frozen=True, kw_only=True)
class AnalyticRun(KernelRun):
    """Predicted run of ``gemm`` commanded by cores. Nothing is built, simulated or stored."""

    kind: ClassVar[str] = "sweep-analytic"
    is_immediate: ClassVar[bool] = True

    def record(self) -> Record:
        """Predict cycles and exact work; the counters are cycles by cause, and bytes."""
        problem = product_of(self.config, **self.sizes, c_format=self.product.get("c_format"))
        memory = with_memory(self.config, self.options).memory
        assert isinstance(memory, DramConfig)
        prediction = predict(self.config, problem, memory)
        cycles, traffic = prediction.cycles, prediction.traffic
        peak = product_macs(self.config, WHAT)
        active = "tensor_active_cycles" if is_on_tensor_units(self.config) else "matrix_active"
        figures = {
            "cycles": cycles,
            "operations_per_cycle": 2 * problem.macs / cycles,
            "mac_utilization": problem.macs / (peak * cycles),
        }
        counters = {
            active: traffic.active,
            "dma_read_bytes": traffic.dma_read_bytes,
            "dma_written_bytes": traffic.dma_written_bytes,
            **{f"shared_read_bytes_{name}": n for name, n in traffic.shared_read_bytes.items()},
            **{
                f"shared_written_bytes_{name}": n
                for name, n in traffic.shared_written_bytes.items()
            },
            **{f"cycles_{cause}": n for cause, n in prediction.terms.items()},
        }
        return Record(status=PASS, figures=figures, counters=counters)


def predicted(run: KernelRun) -> AnalyticRun:
    """Return the prediction of a run; raise `UserError` if the model does not describe it."""
    if run.kernel != KERNEL or run.driver != DRIVER:
        described = run.kernel if run.kernel != KERNEL else f"{KERNEL} --driver {run.driver}"
        raise UserError(
            f"the analytic model needs {KERNEL} --driver {DRIVER}, not {described}: simulate it"
        )
    return AnalyticRun(**vars(run))


def predictions_of(run_of: RunOf) -> RunOf:
    """Return the function that finds the prediction of a run in place of the run."""
    return lambda name, config: predicted(run_of(name, config))
