"""Measurement of the area of a machine, as work of a sweep."""

from dataclasses import dataclass
from typing import ClassVar

from ...base.build_cache import digest
from ...base.progress import Progress
from ...hw.config import MachineConfig
from ...hw.config.rtl_support import require_rtl
from ...hw.emit.shared_block import describe
from ...synth.area import measure_cluster
from ...synth.grouped import Pricing, group_measurements, total_measurement
from .metrics import AREA_METRICS, figures_of
from .record import PASS, Record
from .source import source_key

__all__ = ["AreaMeasurement"]


@dataclass(frozen=True, kw_only=True)
class AreaMeasurement:
    """Area of one machine.

    Parameters
    ----------
    config : MachineConfig
        Config of the machine.

    """

    config: MachineConfig

    kind: ClassVar[str] = "sweep-area"
    is_immediate: ClassVar[bool] = False

    @property
    def key(self) -> str:
        """Hash of the content: everything that determines the record."""
        return digest([describe(self), source_key()])

    def record(self, progress: Progress | None = None) -> Record:
        """Synthesise the machine; return its area and depth."""
        require_rtl(self.config, self.config.clusters)
        if progress is not None:
            progress("measuring the area", 0, 1)
        measured = measure_cluster(self.config, "cluster", workers=1)  # one of many processes
        report = {
            "nand2_with_sram": total_measurement(measured, Pricing()).nand2,
            "nand2": measured.nand2,
            "cells": measured.cells,
            "sram_bits": measured.sram_bits,
            "depth": measured.depth,
        }
        groups = group_measurements(measured, Pricing())
        result = report | {"groups": {group.name: group.nand2 for group in groups}}
        return Record(status=PASS, figures=figures_of(AREA_METRICS, report), result=result)
