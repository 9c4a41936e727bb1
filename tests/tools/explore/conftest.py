"""Cache of its own for each test of sweeps, with the shared models and programs."""

import pytest

from spica.base.build_cache import cache_directory
from spica.cli.main import main

#: A small run with all that the sweeps of these tests build, except other programs.
WARM = ("run", "vecadd", "--preset", "tiny", "--engine", "iss", "--size", "10")


@pytest.fixture(scope="session")
def warm():
    """Build the instruction-set model and a program in the shared cache; return its folder."""
    assert main(WARM) == 0
    return cache_directory()


@pytest.fixture
def cache(warm, tmp_path, monkeypatch):
    """Return a cache without records of sweeps, whose models are those of the shared cache."""
    folder = tmp_path / "cache"
    folder.mkdir()
    for entry in warm.iterdir():
        if entry.is_dir() and not entry.name.startswith(("sweep-", "building-")):
            (folder / entry.name).symlink_to(entry)
    monkeypatch.setenv("SPICA_CACHE", str(folder))
    return folder
