"""Terms of a fused sum: products, or groups of products with their scales."""

from dataclasses import dataclass

from amaranth import *

from ...lib.pipeline import cut
from .fused_product import FusedProduct, FusedProductConfig, classes
from .fused_sizes import FusedSizes
from .scale_group import ScaleGroup, ScaleGroupConfig, ScaleProductConfig

__all__ = ["Terms", "make_terms"]


@dataclass(frozen=True, kw_only=True)
class Terms:
    """Terms of a fused sum, all of one cycle.

    Parameters
    ----------
    signs : Value
        One bit for each term.
    exponents, significands : list of Value
        One per term; see `FusedSizes`.
    addend : Value
        As stored.
    scale : Value
        True exponent of the pair of scales that all exponents are relative to.
    special : Value
        Whether the result is NaN, plus infinity, minus infinity.

    """

    signs: Value
    exponents: list[Value]
    significands: list[Value]
    addend: Value
    scale: Value
    special: Value


def make_terms(m: Module, ports, sizes: FusedSizes) -> Terms:
    """Return the terms of the factors and scales on a dot product's `ports`.

    Products are combinational, groups take one cycle.
    """
    return _groups(m, ports, sizes) if sizes.is_grouped else _products(m, ports, sizes)


def _products(m: Module, ports, sizes: FusedSizes) -> Terms:
    """Return one term per product."""
    config = sizes.dot
    products = []
    for k in range(config.terms):
        product = FusedProduct(FusedProductConfig(a=config.a_format, b=config.b_format))
        m.submodules[f"product_{k}"] = product
        m.d.comb += [product.a.eq(ports.a[k]), product.b.eq(ports.b[k])]
        products.append(product)
    signs = Cat(product.sign for product in products)
    infinite = Cat(product.is_infinite for product in products)
    addend_infinite, addend_nan = classes(ports.c, config.addend_format)
    plus = (infinite & ~signs).any() | (addend_infinite & ~ports.c[-1])
    minus = (infinite & signs).any() | (addend_infinite & ports.c[-1])
    nan = Cat(product.is_nan for product in products).any() | addend_nan | (plus & minus)
    scale = Const(0, 0)
    if sizes.is_relative:
        scale = Signal(range(sizes.scale_range[0], sizes.scale_range[1] + 1))
        m.d.comb += scale.eq(ports.a_scale[0] + ports.b_scale[0] - sizes.scale_bias)
        nan = nan | _is_any_scale_nan(ports, sizes)
    return Terms(
        signs=signs,
        exponents=[product.exponent for product in products],
        significands=[product.significand for product in products],
        addend=ports.c,
        scale=scale,
        special=Cat(nan, plus, minus),
    )


def _groups(m: Module, ports, sizes: FusedSizes) -> Terms:
    """Return one term per group, a cycle later."""
    config = sizes.dot
    assert config.scale_format is not None
    size = config.fused.group
    group_config = ScaleGroupConfig(
        product=ScaleProductConfig(a=config.a_format, b=config.b_format),
        terms=size,
        scale=config.scale_format,
        width=sizes.group_width,
        significand_width=sizes.significand_width,
        zero_groups=config.zero_groups,
    )
    groups = []
    for k in range(sizes.terms):
        m.submodules[f"group_{k}"] = group = ScaleGroup(group_config)
        for term in range(size):
            m.d.comb += [
                group.a[term].eq(ports.a[size * k + term]),
                group.b[term].eq(ports.b[size * k + term]),
            ]
        block = size * k // config.offer.block
        m.d.comb += [
            group.a_scale.eq(ports.a_scale[block]),
            group.b_scale.eq(ports.b_scale[block]),
        ]
        groups.append(group)
    infinite, nan = classes(ports.c, config.addend_format)
    nan = nan | _is_any_scale_nan(ports, sizes)
    special = Cat(nan, infinite & ~ports.c[-1], infinite & ports.c[-1])
    addend, special = cut(m, "group", registered=True, addend=ports.c, special=special)
    return Terms(
        signs=Cat(group.sign for group in groups),
        exponents=[group.exponent for group in groups],
        significands=[group.significand for group in groups],
        addend=addend,
        scale=Const(0, 0),
        special=special,
    )


def _is_any_scale_nan(ports, sizes: FusedSizes) -> Value:
    """Return whether a scale is NaN."""
    form = sizes.dot.scale_format
    assert form is not None
    return Cat(
        classes(scales[k], form)[1]
        for scales in (ports.a_scale, ports.b_scale)
        for k in range(sizes.dot.scales)
    ).any()
