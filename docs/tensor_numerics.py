"""Write the tables of tensor_numerics.md from the golden models; ``make docs`` runs it."""

from pathlib import Path

import numpy as np
import pages
from pages import table

from spica.hw.arith.dot_product.config import DotProductConfig
from spica.hw.config.formats import FP32
from spica.hw.config.numerics import NUMERICS, Offer
from spica.sim.golden.arith.dot_product.dot_product import dot_product
from spica.sim.golden.arith.dot_product.silicon import MeasuredSet, measured_folder, measured_sets
from spica.sim.golden.arith.float import floats

PAGE = Path(__file__).with_name("tensor_numerics.md")

#: Rows of a table: heading, and config with the terms summed at once.
HALF = {
    "Volta": DotProductConfig(terms=4, numerics="nvidia(volta)"),
    "Turing, Ampere, Ada": DotProductConfig(terms=8, numerics="nvidia(ampere)"),
    "Hopper, Blackwell": DotProductConfig(terms=16, numerics="nvidia(hopper)"),
    "`virgo_hmma`": DotProductConfig(terms=4, numerics="virgo_hmma"),
    "`fp32_rne`": DotProductConfig(terms=16, numerics="fp32_rne"),
}
FP8 = {"a": "fp8_e4m3", "b": "fp8_e4m3"}
BYTE = {
    "Ada": DotProductConfig(terms=16, numerics="nvidia(ada)", **FP8),
    "Hopper": DotProductConfig(terms=32, numerics="nvidia(hopper)", **FP8),
    "Blackwell": DotProductConfig(terms=32, numerics="nvidia(blackwell)", **FP8),
    "`fp32_rne`": DotProductConfig(terms=16, numerics="fp32_rne", **FP8),
}
FP4 = {"a": "fp4_e2m1", "b": "fp4_e2m1", "terms": 32}
SCALED = {
    "Blackwell, `mxf4nvf4`, scales `ue4m3`": DotProductConfig(
        numerics="nvidia(blackwell)", scale="ue4m3", **FP4
    ),
    "Blackwell, `mxf4`, scales `e8m0`": DotProductConfig(
        numerics="nvidia(blackwell)", scale="e8m0", **FP4
    ),
    "Blackwell, `mxf8f6f4`, scales `e8m0`": DotProductConfig(
        numerics="nvidia(blackwell_mxf8f6f4)", scale="e8m0", **FP4
    ),
}
VECTORS = 64


def result(bits) -> str:
    """Return a stored FP32 result in hexadecimal and decimal."""
    return f"`{int(bits):#010x}` {decimal(floats.decode(bits, FP32))}"


def decimal(value) -> str:
    """Return a number as text that distinguishes FP32 values."""
    return f"{float(value):.9g}"


def chained(config: DotProductConfig, a, b, c, scale=1.0) -> np.ndarray:
    """Return dot products of rows of any length, by repeated use of a unit.

    The rows are padded with zeros to a multiple of the unit's terms; each result is the next
    addend.
    """
    fill = -a.shape[1] % config.terms
    factors = [
        floats.encode(np.pad(x, ((0, 0), (0, fill))), form)
        for x, form in ((a, config.a_format), (b, config.b_format))
    ]
    total = floats.encode(c, FP32)
    scales = []
    if config.scale_format:
        scales = [floats.encode(np.full((len(a), config.scales), scale), config.scale_format)] * 2
    for start in range(0, factors[0].shape[1], config.terms):
        part = slice(start, start + config.terms)
        total = dot_product(config, factors[0][:, part], factors[1][:, part], total, *scales)
    return total


def generations() -> str:
    """Return the table of each numerics' sums, by format."""
    rows = (generation(name, offer) for name, offers in NUMERICS.items() for offer in offers)
    columns = ["numerics", "factors", "L: terms", "F: fraction bits", "floor", "result", "source"]
    return table(columns, rows)


def generation(name: str, offer: Offer) -> list[str]:
    """Return the row of one offer."""
    formats = ", ".join(f"`{form}`" for form in offer.formats)
    if offer.scale:
        formats += f", a scale `{offer.scale}` per {offer.block}"
    if offer.fused is None:
        fraction_bits = {"virgo_hmma": "10, also in products"}.get(name, "23, also in products")
        return [
            f"`{name}`",
            formats,
            "pairs",
            fraction_bits,
            "",
            "FP32, to nearest even",
            offer.source,
        ]
    digits = offer.fused.result_fraction_width
    results = f"FP32, {digits} fraction bits, toward zero"
    if any(result == "fp16" for _, result in offer.accumulators):
        results += "; or FP16, to nearest even"
    if offer.accumulators == (("fp16", "fp16"),):
        results = "FP16, to nearest even"
    if offer.fused.separate_addend:
        results += "; then c is added, to nearest even"
    terms = str(offer.fused.chunk)
    if offer.fused.alternating > 1:
        terms = f"{offer.fused.alternating} sums of {terms}, pairs alternate"
    if offer.fused.group > 1:
        terms += f", in groups of {offer.fused.group}"
    floor = "-126"
    if any(result == "fp16" for _, result in offer.accumulators):
        floor = f"{offer.fused.half_floor} to FP16" + (", -126" if "FP32" in results else "")
    fraction_bits = str(offer.fused.fraction_width)
    return [f"`{name}`", formats, terms, fraction_bits, floor, results, offer.source]


def measured() -> str:
    """Return the table of results measured on GPUs, and how many of them the models miss."""
    folder = measured_folder()
    assert folder is not None
    rows = [measured_row(one) for one in measured_sets(folder)]
    total, wrong = (sum(int(row[place].replace(",", "")) for row in rows) for place in (5, 6))
    rows.append(["all", "", "", "", "", f"{total:,}", f"{wrong:,}"])
    columns = ["GPU", "factors", "result", "products", "numerics", "vectors", "mismatches"]
    return table(columns, rows)


def measured_row(one: MeasuredSet) -> list[str]:
    """Return the row of one set."""
    config = one.config
    wrong = int((dot_product(config, **one.inputs) != one.results).sum())
    formats = f"`{config.a}`", f"`{config.result}`", str(config.terms), f"`{config.numerics}`"
    return [one.gpu, *formats, f"{len(one.results):,}", f"{wrong:,}"]


def survivor() -> str:
    """Return the table of 1 - 1 + 2**-k."""
    exponents = (13, 14, 23, 24, 25, 26)
    small = [2.0 ** -(k // 2) for k in exponents], [2.0 ** -(k - k // 2) for k in exponents]
    a, b = (
        np.column_stack([one, x]) for one, x in zip((-np.ones(6), np.ones(6)), small, strict=True)
    )
    rows = []
    for factors, units in (("fp16", HALF), ("fp8_e4m3", BYTE)):
        # Products of this format end at 2**-18, so the same sum is scaled by 2**10.
        scale = 1.0 if factors == "fp16" else 32.0
        for name, config in units.items():
            totals = chained(config, a * scale, b * scale, np.full(6, scale**2))
            values = floats.decode(totals, FP32) / scale**2
            cells = [
                f"2^-{k}" if value == 2.0**-k else decimal(value)
                for k, value in zip(exponents, values, strict=True)
            ]
            rows.append([name, f"`{factors}`", *cells])
    rows.append(["exact", "", *(f"2^-{k}" for k in exponents)])
    return table(["", "factors", *(f"k = {k}" for k in exponents)], rows)


def order() -> str:
    """Return the table of one sum in several orders."""
    small = (2.0**-12, 2.0**-13)
    count = 14
    one, minus = (1.0, 1.0), (-1.0, 1.0)
    orders = {
        "1, -1, small terms": [one, minus, *[small] * count],
        "1, small terms, -1": [one, *[small] * count, minus],
        "small terms, 1, -1": [*[small] * count, one, minus],
    }
    pairs = np.array(list(orders.values()))
    rows = [
        [name, *map(result, chained(config, pairs[:, :, 0], pairs[:, :, 1], np.zeros(3)))]
        for name, config in HALF.items()
    ]
    exact = floats.encode(count * 2.0**-25, FP32)
    rows.append(["exact", *[result(exact)] * 3])
    return table(["", *orders], rows)


def monotonicity() -> str:
    """Return the table of sums with an addend of 1 and with one just below."""
    rows = []
    for name, config in {**HALF, **{f"{name}, `fp8_e4m3`": BYTE[name] for name in BYTE}}.items():
        fraction_width = 24 if config.is_tree else config.fused.fraction_width
        scale = 2.0**10 if config.a == "fp8_e4m3" else 1.0
        exponent = np.log2(scale) - fraction_width - 1
        first = 2.0 ** (exponent // 2)
        a = np.full((2, config.terms), first)
        b = np.full((2, config.terms), 2.0**exponent / first)
        digits = 13 if fraction_width == 13 else 23
        addends = np.array([1 - 2.0 ** -(digits + 1), 1])
        values = floats.decode(chained(config, a, b, addends * scale), FP32) / scale
        shown = [text_of_difference(value) for value in [*addends[:1], *values]]
        rows.append([name, f"{config.terms} of 2^-{fraction_width + 1}", *shown])
    return table(["", "products", "c just below 1", "its sum", "sum with c = 1"], rows)


def text_of_difference(value: float) -> str:
    """Return a number near 1 as its distance from 1."""
    if value == 1:
        return "1"
    units = (value - 1) * 2.0**27
    assert units == int(units)
    places = 27
    while units % 2 == 0:
        units, places = units / 2, places - 1
    factor = "" if abs(units) == 1 else f"{abs(int(units))} x "
    return f"1 {'+' if units > 0 else '-'} {factor}2^-{places}"


def uniform(count: int, columns: int, seed: int) -> np.ndarray:
    """Return numbers uniform in 0..1, independent of library versions (SplitMix64)."""
    step, first, second = (
        np.uint64(x) for x in (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB)
    )
    x = (np.arange(count * columns, dtype=np.uint64) + np.uint64(seed << 32)) * step
    x = (x ^ (x >> np.uint64(30))) * first
    x = (x ^ (x >> np.uint64(27))) * second
    x ^= x >> np.uint64(31)
    return (x >> np.uint64(53)).astype(np.float64).reshape(count, columns) / 2.0**11


def accumulation() -> str:
    """Return the table of relative errors of long sums of positive products."""
    lengths = (128, 512, 4096)
    rows = []
    for factors, units in (("fp16", HALF), ("fp8_e4m3", BYTE)):
        form = next(iter(units.values())).a_format
        a, b = (
            floats.decode(floats.encode(uniform(VECTORS, lengths[-1], seed), form), form)
            for seed in (1, 2)
        )
        exact = {length: (a[:, :length] * b[:, :length]).sum(axis=1) for length in lengths}
        for name, config in units.items():
            rows.append(errors(name, factors, running(config, a, b, lengths), exact))
        if factors == "fp8_e4m3":
            config = units["Hopper"]
            sums = running(config, a, b, lengths, promoted_every=128)
            rows.append(errors("Hopper, FP32 every 128", factors, sums, exact))
        total = exact[lengths[-1]][0]
        rows.append(["exact", f"`{factors}`", *[""] * len(lengths), "", f"{total:.12g}"])
    header = ["", "factors", *(f"K = {length}" for length in lengths), "largest", "first of 64"]
    return table(header, rows)


def running(config: DotProductConfig, a, b, lengths, promoted_every: int = 0) -> dict:
    """Return the sums of the first products, for each count in `lengths`.

    The unit adds to its own results; with `promoted_every`, its sums of that many products are
    added in FP32.
    """
    zeros = np.zeros(len(a))
    total, sums, start = floats.encode(zeros, FP32), {}, 0
    for end in range(0, lengths[-1] + 1, promoted_every or lengths[0]):
        if end > start and promoted_every:
            part = chained(config, a[:, start:end], b[:, start:end], zeros)
            total = floats.add(total, part, FP32)
        elif end > start:
            total = chained(config, a[:, start:end], b[:, start:end], floats.decode(total, FP32))
        start = end
        if end in lengths:
            sums[end] = total
    return sums


def errors(name: str, factors: str, sums: dict, exact: dict) -> list[str]:
    """Return a row of mean relative errors, with the maximum and one sample of the longest sums."""
    relative = {
        length: (floats.decode(total, FP32) - exact[length]) / exact[length]
        for length, total in sums.items()
    }
    longest = max(relative)
    means = [f"{error.mean():+.1e}" if error.any() else "0" for error in relative.values()]
    most = f"{np.abs(relative[longest]).max():.1e}"
    return [name, f"`{factors}`", *means, most, result(sums[longest][0])]


def bytes_of_13_bits() -> str:
    """Return the table of one sum of FP8 products with several addends."""
    form = BYTE["Ada"].a_format
    addends = np.array([0.1, 10.1, 1000.1])
    a, b = (
        np.tile(floats.decode(floats.encode(4 * uniform(1, 32, seed) - 2, form), form), (3, 1))
        for seed in (3, 4)
    )
    rows = [[name, *map(result, chained(config, a, b, addends))] for name, config in BYTE.items()]
    exact = (a * b).sum(axis=1) + floats.decode(floats.encode(addends, FP32), FP32)
    rows.append(["exact", *map(decimal, exact)])
    return table(["", *(f"c = {addend}" for addend in addends)], rows)


def scales() -> str:
    """Return the table of FP4 sums with scales."""
    distances = (20, 25, 26, 34, 35, 36)
    a = np.zeros((len(distances), 32))
    a[:, 0], a[:, 16] = 1, -1
    b = np.abs(a)
    rows = []
    for name, config in SCALED.items():
        addends = np.array([2.0 ** (16 - distance) for distance in distances])
        totals = floats.decode(chained(config, a, b, addends, scale=2.0**8), FP32)
        cells = [
            f"2^{16 - distance}" if total == addend else decimal(total)
            for distance, total, addend in zip(distances, totals, addends, strict=True)
        ]
        rows.append([name, *cells])
    rows.append(["exact", *(f"2^{16 - distance}" for distance in distances)])
    return table(["", *(f"c = 2^{16 - distance}" for distance in distances)], rows)


#: The table of measured results is updated only where the data is.
SECTIONS = (
    *((measured,) if measured_folder() else ()),
    *(generations, survivor, order, monotonicity),
    *(accumulation, bytes_of_13_bits, scales),
)


def updated(text: str) -> str:
    """Return the page with every table regenerated from the golden models."""
    return pages.updated(text, SECTIONS)


if __name__ == "__main__":
    PAGE.write_text(updated(PAGE.read_text()))
