"""Tests of adder and multiplier against their golden models, on Amaranth's simulator."""

import numpy as np
import pytest
from amaranth import *

from bench.units.operands import floats as operands
from spica.hw.arith.float.add import Add, AddConfig
from spica.hw.arith.float.multiply import Multiply, MultiplyConfig
from spica.hw.config.formats import BF16, FP8_E4M3, FP16
from spica.sim.golden.arith.float import floats
from support.vectors import evaluate, require_equal

UNITS = {
    "add": (Add, AddConfig, operands.add_operands, floats.add),
    "multiply": (Multiply, MultiplyConfig, operands.multiply_operands, floats.multiply),
}
LATENCIES = [
    (name, latency)
    for name, (_, config, _, _) in UNITS.items()
    for latency in range(1, config.latencies + 1)
]


@pytest.mark.parametrize(("name", "latency"), LATENCIES)
@pytest.mark.quick(3)
def test_pipeline_matches_golden_model(name, latency):
    unit, config, stimulus, golden = UNITS[name]
    a, b = stimulus(np.random.default_rng(latency), 300)
    results = evaluate(unit(config(latency=latency)), {"a": a, "b": b}, latency=latency)["o"]
    require_equal(results, golden(a, b), a=a, b=b)


@pytest.mark.parametrize("form", [FP16, BF16], ids=lambda form: form.name)
@pytest.mark.parametrize("name", UNITS)
def test_other_formats(name, form):
    unit, config, stimulus, golden = UNITS[name]
    a, b = stimulus(np.random.default_rng(0), 300, form)
    results = evaluate(unit(config(form=form, latency=2)), {"a": a, "b": b}, latency=2)["o"]
    require_equal(results, golden(a, b, form), a=a, b=b)


@pytest.mark.parametrize("name", UNITS)
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"latency": 0}, "latency must be between 1 and {latencies}, not 0"),
        ({"latency": 6}, "latency must be between 1 and {latencies}, not 6"),
        (
            {"form": FP8_E4M3},
            "form must have signs, infinities and subnormals, unlike fp8_e4m3",
        ),
    ],
)
def test_bad_config_is_refused(name, options, message):
    _, config, _, _ = UNITS[name]
    with pytest.raises(ValueError, match=message.format(latencies=config.latencies)):
        config(**options)
