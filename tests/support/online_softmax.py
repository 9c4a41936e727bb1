"""FP32 simulation of attention in blocks of random lengths, for tests of error bounds."""

import numpy as np

from spica.hw.config import SystolicConfig
from spica.hw.config.formats import FORMATS
from spica.kernels.attention.weight_scale import weight_scale
from spica.kernels.elements import nearest, values_of
from spica.sim.golden.arith.float.floats import decode
from spica.sim.golden.styles.tensor_product import matrix_product


def attention(problem, unit, arrays, rng, *, plant=None):
    """Return O and LSE of all heads as float64.

    `plant` is an error: ``rescale`` leaves out the rescale of O, ``sum`` that of the sum, ``key``
    leaves out a key of the products with V, ``scale`` is off by 5 %, ``block`` leaves out the last
    block, ``lse`` has no maximum.
    """
    o, lse = np.zeros(problem.shapes["o"]), np.zeros(problem.shapes["lse"])
    for head in range(problem.problems):
        kv = head // problem.group
        q, k, v = arrays[0][head], arrays[1][kv], arrays[2][kv]
        with np.errstate(all="ignore"):
            o[head], lse[head] = one_head(problem, unit, q, k, v, rng, plant)
    return o, lse


def one_head(problem, unit, q, k, v, rng, plant):
    """Return O and LSE of one head."""
    form, f32, weights = problem.operand, np.float32, weight_scale(unit)
    scale = problem.scale_log2 * f32(1.05 if plant == "scale" else 1)
    most = np.full((problem.queries, 1), -np.inf, f32)
    total = np.zeros_like(most)
    o = np.zeros((problem.queries, problem.depth), f32)
    visible = problem.visible()
    first = 0
    while first < problem.keys:
        end = min(problem.keys, first + int(rng.integers(8, 48)))
        if plant == "block" and first and end == problem.keys:
            break
        scores = multiplied(unit, q, k[first:end].T, np.zeros((len(q), end - first), f32), rng)
        scores = np.where(visible[:, first:end], scores, f32(-np.inf))
        new = np.fmax(most, np.fmax.reduce(scores, axis=1, keepdims=True))
        if form != "fp32":
            new = np.where((new - most) * scale <= weights.most_lag, most, new)
        safe = np.where(np.isneginf(new), f32(0), new)
        p = powers(fused(scores, scale, -fused(safe, scale, f32(weights.bias))))
        factor = np.where(np.isneginf(most), f32(0), powers((most - safe) * scale))
        total = total if plant == "sum" else total * factor
        for column in rng.permutation(end - first):
            total = total + p[:, column, None]
        narrow = elements(p, form)
        if plant == "key":
            narrow[:, 0] = 0
        o = o if plant == "rescale" else o * factor
        o = multiplied(unit, narrow, v[first:end], o, rng)
        most, first = new, end
    result = o * np.where(total == 0, f32(0), f32(1) / total)
    least = f32(0) if plant == "lse" else most * scale
    lse = (least + np.log2(total) + f32(weights.bias)) * f32(np.log(2))
    return values_of(elements(result, form), form), lse[:, 0]


def fused(a, b, c):
    """Return ``a * b + c`` of FP32 values, rounded twice only in rare cases."""
    return (a.astype(np.float64) * b + c).astype(np.float32)


def powers(x):
    """Return 2**x, with random errors of at most 1 ulp as of a faithful unit."""
    exact = np.exp2(x.astype(np.float64))
    near = exact.astype(np.float32)
    other = np.nextafter(near, np.where(exact > near, np.inf, -np.inf).astype(np.float32))
    return np.where((x.view(np.uint32) & 2 > 0) & (exact != near), other, near)


def elements(values, form):
    """Return values in a format; NaN stays."""
    if form != "bf16":
        return values.astype({"fp16": np.float16, "fp32": np.float32}[form])
    return np.where(np.isnan(values), 0x7FC0, nearest(values, form)).astype(np.uint16)


def multiplied(unit, a, b, c, rng):
    """Return ``c + a b`` with the numerics of a unit: FP32 chains in random order, or its sums."""
    if isinstance(unit, SystolicConfig):
        form = FORMATS[unit.operand]
        a, b = (decode(bits(x), form) for x in (a, b))
        for k in rng.permutation(a.shape[1]):
            c = (a[:, k, None] * b[k] + c).astype(np.float32)
        return c
    pad = -a.shape[1] % unit.terms
    a, b = np.pad(bits(a), ((0, 0), (0, pad))), np.pad(bits(b), ((0, pad), (0, 0)))
    return matrix_product(a, b, c.view(np.uint32), unit).view(np.float32)


def bits(x):
    """Return the stored bits of elements."""
    return np.ascontiguousarray(x).view(f"u{x.itemsize}")
