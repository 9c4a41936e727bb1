"""Address checks, store strobes and load alignment of a thread's access."""

from collections.abc import Sequence

from amaranth import *

__all__ = [
    "is_atomic",
    "is_misaligned",
    "is_store",
    "is_unaddressable",
    "load_values",
    "store_strobes",
    "store_word",
]

#: Bits of an operation: bits 1:0 are the size; bit 2 of a load disables sign extension.
STORE = 3
ATOMIC = 4
UNSIGNED = 2
#: All memory lies in the upper half of the address space.
UPPER_HALF = 31


def is_atomic(operation: Value) -> Value:
    """Return whether a `MemoryOperation` is atomic; its size and sign are those of a load."""
    return operation[ATOMIC]


def is_store(operation: Value) -> Value:
    """Return whether a `MemoryOperation` is a store."""
    return operation[STORE]


def is_misaligned(operation: Value, addresses: Sequence[Value]) -> Value:
    """Return a bit for each of `addresses` that is not a multiple of the operation's size."""
    odd = Cat(address[0] for address in addresses)
    odd_half = Cat(address[1] for address in addresses)
    word, half = operation[1], operation[0]
    return ((word | half).replicate(len(odd)) & odd) | (word.replicate(len(odd)) & odd_half)


def is_unaddressable(addresses: Sequence[Value]) -> Value:
    """Return a bit for each of `addresses` outside the address range of memories."""
    return ~Cat(address[UPPER_HALF] for address in addresses)


def store_word(operation: Value, value: Value) -> Value:
    """Return `value` replicated to every position in a word that a store of its size may write."""
    word, half = operation[1], operation[0]
    byte_1 = Mux(word | half, value[8:16], value[:8])
    return Cat(value[:8], byte_1, Mux(word, value[16:32], Cat(value[:8], byte_1)))


def store_strobes(operation: Value, address: Value) -> Value:
    """Return the byte strobes of a store to the word that contains the aligned `address`."""
    word, half = operation[1], operation[0]
    bytes_of_size = Cat(Const(1, 1), word | half, word, word)
    return (bytes_of_size << address[:2])[:4]


def load_values(
    m: Module, operation: Value, addresses: Sequence[Value], words: Sequence[Value]
) -> Value:
    """Return the values that loads of the aligned `addresses` extract from `words`, extended."""
    is_word, is_half, is_signed = operation[1], operation[0], ~operation[UNSIGNED]
    lanes = range(len(words))
    halves = [Signal(16, name=f"half_{lane}") for lane in lanes]
    bytes_ = [Signal(8, name=f"byte_{lane}") for lane in lanes]
    signs = Signal(len(words))
    for lane in lanes:
        address, word, half = addresses[lane], words[lane], halves[lane]
        m.d.comb += [
            half.eq(Mux(address[1], word[16:32], word[:16])),
            bytes_[lane].eq(Mux(address[0], half[8:16], half[:8])),
        ]
    half_signs, byte_signs = Cat(half[15] for half in halves), Cat(byte[7] for byte in bytes_)
    m.d.comb += signs.eq(Mux(is_half, half_signs, byte_signs) & is_signed.replicate(len(words)))
    return Cat(
        Cat(
            bytes_[lane],
            Mux(is_word | is_half, halves[lane][8:16], signs[lane].replicate(8)),
            Mux(is_word, words[lane][16:32], signs[lane].replicate(16)),
        )
        for lane in lanes
    )
