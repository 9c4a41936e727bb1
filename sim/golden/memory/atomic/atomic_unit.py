"""Golden model of one atomic operation: the bytes that it writes and its result."""

from .....hw.isa.operations import AtomicOperation

__all__ = ["atomic_operation", "atomic_word"]

#: Operations that only load, and those that only store.
LOADS = (AtomicOperation.LR, AtomicOperation.LOAD)
STORES = (AtomicOperation.SC, AtomicOperation.STORE)


def signed(value: int, width: int) -> int:
    """Return the number in the lower bits of a value, with its sign."""
    low = value & ((1 << width) - 1)
    return low - (low >> (width - 1) << width)


def atomic_operation(
    operation: AtomicOperation, size: int, old: int, operand: int, expected: int = 0
) -> tuple[int | None, int]:
    """Return the value that an operation writes, None if it does not, and its result in rd.

    Parameters
    ----------
    operation : AtomicOperation
        A store-conditional is one of a thread that has its reservation.
    size : int
        Bytes are ``2**size``, as in funct3.
    old : int
        Contents of memory.
    operand, expected : int
        rs2 and, for a compare-and-swap, rd; upper bits have no effect.

    """
    width = 8 << size
    mask = (1 << width) - 1
    result = signed(old, width) & 0xFFFF_FFFF
    old, operand, expected = old & mask, operand & mask, expected & mask
    if operation in LOADS:
        return None, result
    if operation in STORES:
        return operand, 0
    if operation == AtomicOperation.CAS:
        return operand if old == expected else None, result
    return combined(operation, width, old, operand), result


def combined(operation: AtomicOperation, width: int, old: int, operand: int) -> int:
    """Return the new value of an operation on both values of `width` bits, without signs."""
    match operation:
        case AtomicOperation.ADD:
            return (old + operand) & ((1 << width) - 1)
        case AtomicOperation.SWAP:
            return operand
        case AtomicOperation.XOR:
            return old ^ operand
        case AtomicOperation.OR:
            return old | operand
        case AtomicOperation.AND:
            return old & operand
        case AtomicOperation.MINU:
            return min(old, operand)
        case AtomicOperation.MAXU:
            return max(old, operand)
    is_less = signed(old, width) < signed(operand, width)
    return old if is_less == (operation == AtomicOperation.MIN) else operand


def atomic_word(
    operation: AtomicOperation, mask: int, old: int, operand: int, expected: int = 0
) -> int | None:
    """Return the new bytes of a word at the place of an access, None if it does not write.

    The values have the access at the bytes that `mask` selects; other bytes have no effect.
    """
    size = mask.bit_count().bit_length() - 1
    place = 8 * ((mask & -mask).bit_length() - 1)
    low = (value >> place for value in (old, operand, expected))
    written, _ = atomic_operation(operation, size, *low)
    return None if written is None else written << place
