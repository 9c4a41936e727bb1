"""Tests of the cache of values: round trip, damage, killed writers, unwritable folders."""

import os
import re

import pytest

from spica.base.errors import UserError
from spica.base.value_cache import load_value, save_value


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("SPICA_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def test_value_is_found_by_kind_and_key():
    save_value("things", "a", {"x": (1, 2)})
    assert load_value("things", "a") == {"x": (1, 2)}
    assert load_value("things", "b") is None
    assert load_value("others", "a") is None


@pytest.mark.parametrize("length", [0, 5, 30])
def test_damaged_entry_is_missing(folder, length):
    save_value("things", "a", "text" * 100)
    (entry,) = (folder / "things").iterdir()
    entry.write_bytes(entry.read_bytes()[:length])
    assert load_value("things", "a") is None
    save_value("things", "a", "whole")
    assert load_value("things", "a") == "whole"


def test_entry_appears_only_when_it_is_complete(folder, monkeypatch):
    def killed(source, target):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", killed)
        with pytest.raises(KeyboardInterrupt):
            save_value("things", "a", 1)
    assert list(folder.rglob("*")) == [folder / "things"]
    assert load_value("things", "a") is None


def test_unwritable_cache_is_one_sentence(folder):
    folder.write_text("")
    message = f"the cache {re.escape(str(folder))} cannot be written: "
    with pytest.raises(UserError, match=message):
        save_value("things", "a", 1)
