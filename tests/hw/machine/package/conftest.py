"""Generated designs as files."""

import functools

import pytest

from spica.hw.emit.sram_macros import MacroLimits
from spica.hw.machine.package.package import package
from spica.hw.presets import PRESETS
from spica.sim.engine.emission_cache import emit_cached


@pytest.fixture(scope="session")
def generated(tmp_path_factory):
    """Return a function to the folder of the files of a preset, which no test may change."""

    @functools.cache
    def folder(preset, *, macros=False):
        limits = MacroLimits() if macros else None
        place = tmp_path_factory.mktemp(preset)
        for name, text in package(emit_cached(PRESETS[preset], preset, limits=limits)).items():
            (place / name).write_text(text)
        return place

    return folder
