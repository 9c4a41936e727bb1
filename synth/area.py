"""The area of a cluster, block by block."""

import dataclasses
from collections.abc import Callable
from pathlib import Path

from ..hw.config import ClusterConfig
from .gates import NAND2_EQUIVALENTS
from .measure import Measurement, measure
from .yosys import yosys_version

__all__ = ["SRAM_NAND2_PER_BIT", "area_report", "measure_cluster"]

#: NAND2 equivalents of one SRAM bit: a two-port 256x32 macro of IHP's 130 nm process. Larger and
#: single-ported macros go down to 0.6, two-port 64x32 up to 3.5.
SRAM_NAND2_PER_BIT = 1.6


def measure_cluster(
    config: ClusterConfig,
    name: str,
    *,
    liberty: Path | None = None,
    progress: Callable[[str, int], None] | None = None,
) -> Measurement:
    """Return what the cluster of `config` costs; see `measure`."""
    from ..hw.cluster import Cluster  # all gateware, which only a measurement needs

    return measure(Cluster(config), name, liberty=liberty, progress=progress)


def area_report(measurement: Measurement) -> dict:
    """Return a measurement for JSON, with the rules its figures were made by."""
    fields = dataclasses.asdict(measurement)
    blocks = fields.pop("blocks")
    return {
        **fields,
        "sram_nand2_estimate": measurement.sram_bits * SRAM_NAND2_PER_BIT,
        "blocks": list(blocks),
        "rules": {
            "cells": "word-level cells after proc; opt",
            "nand2_weights": NAND2_EQUIVALENTS,
            "sram_nand2_per_bit": SRAM_NAND2_PER_BIT,
            "depth": "gates between registers, memories and ports",
            "yosys": yosys_version(),
        },
    }
