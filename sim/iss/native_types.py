"""Interface of the instruction-set model's C++ for Python, and a config in its structures."""

from pathlib import Path

from ...base.native_interface import NativeInterface, NativeStructure
from ...hw.arith.dot_product.config import DotProductConfig
from ...hw.config import CoreConfig, MachineConfig
from ...hw.config.tensor import TensorNumerics
from .styles.registry import STYLES
from .table import units_of

__all__ = ["ISS", "NATIVE", "native_config", "native_numerics"]

NATIVE = Path(__file__).with_name("native")
#: Structures, constants and functions of the model.
ISS = NativeInterface(NATIVE)
#: Members of `Sum` of the C++ by the numerics of a tree.
SUMS = {"virgo_hmma": "Fp16Tree", "fp32_rne": "Fp32Tree"}


def native_numerics(tensor: TensorNumerics) -> NativeStructure:
    """Return the numerics of tensor instructions in their C++ structure."""
    dot = DotProductConfig.of(tensor)
    form = dot.a_format
    fused = dot.offer.fused
    return ISS.structure("TensorNumerics")(
        sum=ISS.enumeration("Sum")[SUMS[tensor.numerics] if dot.is_tree else "Fused"],
        terms=tensor.terms,
        number_width=tensor.operand_width,
        magnitude_width=form.magnitude_width,
        number_fraction=form.fraction_width,
        bias=form.bias,
        largest=form.largest,
        has_infinity=form.has_infinity,
        fraction_width=0 if fused is None else fused.fraction_width,
        result_fraction=0 if fused is None else fused.result_fraction_width,
        floor=0 if fused is None else dot.alignment_floor,
    )


def native_config(
    config: MachineConfig,
    core: CoreConfig,
    *,
    is_alone: bool,
    is_random: bool,
    seed: int,
    checks_races: bool = False,
    checks_memory: bool = False,
) -> NativeStructure:
    """Return a machine's config in its C++ structure."""
    tensor = core.tensor
    return ISS.structure("Config")(
        clusters=config.clusters,
        cores=config.all_cores,
        warps=core.warps,
        threads=core.threads,
        warp_width=core.warp_width,
        thread_width=core.thread_width,
        stack_depth=core.stack_depth,
        follows_last_lane=core.divergent_branch == "vortex",
        units=units_of(core),
        numerics=native_numerics(tensor or TensorNumerics()),
        **({} if tensor is None else STYLES[type(tensor)].fields(tensor)),
        barriers=config.barriers,
        has_core_barriers=config.barrier_scope == "core",
        shared_bytes=config.shared.size,
        has_atomics=core.atomics,
        has_transaction_barriers=core.transaction_barriers,
        is_alone=is_alone,
        awaits_units=core.awaits_units and not is_alone,
        matrices=len(config.units),
        line_bytes=core.l1d.line_bytes,
        checks_races=checks_races,
        checks_memory=checks_memory,
        is_random=is_random,
        seed=seed & 0xFFFF_FFFF_FFFF_FFFF,
    )
