"""Tests of the plan of attention on tensor units that read shared memory."""

import re
from dataclasses import replace

import pytest

from spica.base.errors import UserError
from spica.hw.config.memory import SharedMemoryConfig
from spica.hw.presets import PRESETS
from spica.hw.styles.shared_fed.config import SharedFedConfig
from spica.kernels.attention.shared_fed.plan import attention_plan

HOPPER = PRESETS["hopper"]


def with_core(**settings):
    return replace(HOPPER, core=replace(HOPPER.core, **settings))


@pytest.mark.parametrize("depth, keys, warps", [(64, 64, 6), (128, 32, 4)])
def test_warps_have_the_rest_of_shared_memory(depth, keys, warps):
    """Of 32 KB of a bank, blocks of K and V have 8 KB, and a warp has Q and P of 16 queries."""
    plan = attention_plan(HOPPER, depth)
    assert (plan.keys, plan.share, plan.warps, plan.has_output) == (keys, 4096, warps, False)
    operands = 2 * 16 * (depth + keys)
    assert 2 * plan.share + warps * operands <= 32 * 1024 < 2 * plan.share + 8 * operands


def test_one_warp_has_no_queries():
    assert attention_plan(with_core(warps=4), 64).warps == 3


def test_output_of_few_warps_is_in_shared_memory():
    assert attention_plan(with_core(warps=2), 64).has_output


@pytest.mark.parametrize(
    ("config", "sentence"),
    [
        (PRESETS["virgo"], "attention with hgmma needs core.tensor hgmma"),
        (replace(HOPPER, dma=None), "dma must not be none"),
        (with_core(warps=1), "core.warps must be at least 2, not 1"),
        (replace(HOPPER, barriers=1), "barriers must not be 1"),
        (with_core(tensor=SharedFedConfig(layout="swizzle128")), "it must not be swizzle128"),
        (
            with_core(tensor=SharedFedConfig(numerics="fp32_rne", operand="fp32")),
            "core.tensor_operand must be fp16 or bf16, not fp32",
        ),
        (
            replace(HOPPER, shared=SharedMemoryConfig(size=32 * 1024)),
            "needs 49152 bytes of shared memory for depth 64 with 4 banks; shared.size must not be",
        ),
    ],
)
def test_unsuitable_machines_are_refused(config, sentence):
    with pytest.raises(UserError, match=re.escape(sentence)):
        attention_plan(config, 64)
