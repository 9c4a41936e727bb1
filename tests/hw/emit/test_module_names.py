"""Tests of the names of modules: the class, and what distinguishes blocks of one class."""

import enum
from dataclasses import dataclass

from spica.hw.emit.module_names import distinct_names, fields_of, with_names


class Kind(enum.Enum):
    """Kind of a store."""

    FAST = 1
    SLOW = 2


@dataclass(frozen=True)
class Cache:
    """Config in another."""

    ways: int = 2
    sets: int = 64


@dataclass(frozen=True)
class Store:
    """Config of a block."""

    width: int
    kind: Kind = Kind.FAST
    cache: Cache = Cache()
    deep: bool = False
    number: int = 0
    place: int = 0


def named(*blocks) -> list[str]:
    """Return the names of blocks, each a class and a config."""
    modules = {
        f"{stem}_{place:08x}": (stem, fields_of(config))
        for place, (stem, config) in enumerate(blocks)
    }
    return list(distinct_names(modules).values())


def test_one_block_of_a_class_has_its_name():
    assert named(("store", Store(8)), ("queue", (4, 54))) == ["store", "queue"]


def test_numbers_of_small_configs_follow_the_class():
    assert named(("arbiter", 2), ("arbiter", 4)) == ["arbiter_2", "arbiter_4"]
    assert named(("queue", (54, 4)), ("queue", (54, 8)), ("queue", (32, 4))) == [
        "queue_54x4",
        "queue_54x8",
        "queue_32x4",
    ]


def test_fields_that_differ_follow_the_class():
    assert named(("store", Store(8)), ("store", Store(16))) == ["store_width8", "store_width16"]
    assert named(("store", Store(8)), ("store", Store(8, cache=Cache(ways=4)))) == [
        "store_ways2",
        "store_ways4",
    ]
    assert named(("store", Store(8)), ("store", Store(8, Kind.SLOW))) == [
        "store_fast",
        "store_slow",
    ]
    assert named(("store", Store(8)), ("store", Store(8, deep=True))) == [
        "store_no_deep",
        "store_deep",
    ]


def test_few_fields_distinguish_blocks_that_differ_in_many():
    assert named(("store", Store(8)), ("store", Store(16, Kind.SLOW, Cache(4, 128), True))) == [
        "store_width8",
        "store_width16",
    ]


def test_a_hash_only_where_names_would_clash():
    # The class of the last is what the first would be called.
    names = named(("store", 2), ("store", 4), ("store_2", None))
    assert len(set(names)) == 3
    assert names[0] == "store_00000000" and names[1] == "store_4"
    long = [("store", ("a" * 40,)), ("store", ("b" * 40,))]
    assert named(*long) == ["store_00000000", "store_00000001"]


def test_no_module_has_the_name_of_another_or_a_keyword():
    config = fields_of(Store(8))
    blocks = {"table_00000001": ("table", config), "store_00000002": ("store", config)}
    own = {"table_00000001": "table_00000001", "store_00000002": "store_00000002"}
    assert distinct_names(blocks) == own | {"store_00000002": "store"}
    assert distinct_names(blocks, used={"store"}) == own


def test_heads_and_instances_are_renamed_with_the_modules_below():
    text = (
        "module core_00000001 (\n  input clk\n);\n  core_00000001__part part (\n    .a(a)\n  );\n"
        "  store_00000002 store (\n    .b(store_00000002)\n  );\nendmodule\n"
        "module core_00000001__part (\nendmodule\nmodule store_00000002 (\nendmodule\n"
    )
    names = {"core_00000001": "core", "store_00000002": "store_8"}
    assert with_names(text, names) == (
        "module core (\n  input clk\n);\n  core__part part (\n    .a(a)\n  );\n"
        "  store_8 store (\n    .b(store_00000002)\n  );\nendmodule\n"
        "module core__part (\nendmodule\nmodule store_8 (\nendmodule\n"
    )
