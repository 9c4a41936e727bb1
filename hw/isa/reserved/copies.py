"""Reserved encodings of asynchronous copies, and of loads and stores of matrices."""

from ..operations import Unit
from .row import Reserved, word4, word_of

__all__ = ["BULK_COPIES", "GROUPS_OF_COPIES", "MATRIX_ACCESSES", "TENSOR_COPIES", "THREAD_COPIES"]

#: Ways of `BULK_COPIES` and `TENSOR_COPIES`, in field rd; funct2 is the binary logarithm of the
#: size of the group in field rs3.
_BULK, _TENSOR = 0, 8
_BARRIER = "address of the barrier"
_BLOCKS = ("copy_blocks",)


def _groups_of_copies() -> tuple[Reserved, ...]:
    """Return commits and waits."""
    rows = {
        "cp.async.commit_group": ("", "the copies of the thread since the last one are a group"),
        "cp.async.wait_group": ("n", "waits until at most n groups of the thread are unfinished"),
        "cp.async.wait_all": ("", "waits for all copies of the thread"),
        "cp.async.mbarrier.arrive": (
            "rs1",
            "1 arrival at barrier rs1 after all copies of the thread, beyond the expected arrivals",
        ),
        "cp.async.mbarrier.arrive.noinc": ("rs1", "the same, as one of the expected arrivals"),
        "cp.async.bulk.commit_group": ("", "the bulk stores and reductions so far are a group"),
        "cp.async.bulk.wait_group": ("n", "waits until at most n of these groups are unfinished"),
        "cp.async.bulk.wait_group.read": ("n", "the same, until their sources have been read"),
    }
    return tuple(
        Reserved(name, Unit.LSU, word_of(0x5B, 4, 0x18 + k), syntax, meaning=meaning)
        for k, (name, (syntax, meaning)) in enumerate(rows.items())
    )


GROUPS_OF_COPIES = _groups_of_copies()


def _thread_copies() -> tuple[Reserved, ...]:
    """Return the copies of each thread from global to shared memory."""
    rows = []
    kinds = {
        "cp.async.ca.4": "4 bytes from rs2 to rs1 in shared memory, through L1",
        "cp.async.ca.8": "8 bytes, the same way",
        "cp.async.ca.16": "16 bytes, the same way",
        "cp.async.cg.16": "16 bytes, through L2 only",
    }
    for k, (name, meaning) in enumerate(kinds.items()):
        filled = f"{meaning}; rs3 bytes are read, the rest becomes 0"
        rows += [
            Reserved(name, Unit.LSU, word4(0x2B, 5, 3, rd=4 + k), "rs1, rs2", meaning=meaning),
            Reserved(
                f"{name}.zfill", Unit.LSU, word4(0x2B, 5, 3, rd=k), "rs1, rs2, rs3", meaning=filled
            ),
        ]
    return tuple(rows)


THREAD_COPIES = _thread_copies()


def _bulk_copies() -> tuple[Reserved, ...]:
    """Return the copies of consecutive bytes, multiples of 16."""
    length = ("bytes", _BARRIER)
    reduction = ("bytes", "operation in 7:0, element type in 15:8", _BARRIER, "unused")
    load = "copies from rs2 in global memory to rs1 in shared memory"
    return (
        Reserved(
            "cp.async.bulk.load",
            Unit.LSU,
            word4(0x2B, 4, 1, rd=_BULK),
            "rs1, rs2, rs3",
            meaning=f"{load}; bytes complete at the barrier",
            contents={"rs3": length},
        ),
        Reserved(
            "cp.async.bulk.load.multicast",
            Unit.LSU,
            word4(0x2B, 4, 1, rd=_BULK + 1),
            "rs1, rs2, rs3",
            meaning=f"{load} of several blocks, and to the barrier of each",
            contents={"rs3": length},
            control_registers=_BLOCKS,
        ),
        Reserved(
            "cp.async.bulk.store",
            Unit.LSU,
            word4(0x2B, 4, 0, rd=_BULK + 2),
            "rs1, rs2, rs3",
            meaning="copies rs3 bytes from rs2 in shared memory to rs1 in global memory",
        ),
        Reserved(
            "cp.async.bulk.copy",
            Unit.LSU,
            word4(0x2B, 4, 1, rd=_BULK + 3),
            "rs1, rs2, rs3",
            meaning="copies from rs2 in shared memory to rs1 in that of a block of the cluster",
            contents={"rs3": length},
        ),
        Reserved(
            "cp.async.bulk.reduce",
            Unit.LSU,
            word4(0x2B, 4, 2, rd=_BULK + 4),
            "rs1, rs2, rs3",
            meaning="combines elements from rs2 in shared memory with those at rs1 in global "
            "memory, or in shared memory of a block of the cluster, whose barrier completes",
            contents={"rs3": reduction},
        ),
        Reserved(
            "cp.async.bulk.prefetch",
            Unit.LSU,
            word4(0x2B, 4, 0, rd=_BULK + 5),
            "rs1, rs2",
            meaning="loads rs2 bytes from rs1 into L2",
        ),
        Reserved(
            "prefetch.tensormap",
            Unit.LSU,
            word4(0x2B, 4, 0, rd=_BULK + 6),
            "rs1",
            meaning="loads the tensor descriptor at rs1 into the copy unit",
        ),
    )


BULK_COPIES = _bulk_copies()

#: First register of the group of a tensor copy by kind.
_LEADS = {
    "load": _BARRIER,
    "load.multicast": _BARRIER,
    "store": "unused",
    "reduce": "operation",
    "prefetch": "unused",
}


def _tensor_copies() -> tuple[Reserved, ...]:
    """Return the copies of a box of a tensor, by the descriptor of the tensor and coordinates."""
    meanings = {
        "load": "box of the tensor of descriptor rs2 to rs1 in shared memory",
        "load.multicast": "the same to several blocks, and to the barrier of each",
        "store": "rs2 in shared memory to a box of the tensor of descriptor rs1",
        "reduce": "combines rs2 in shared memory with a box of the tensor of descriptor rs1",
        "prefetch": "box of the tensor of descriptor rs1 into L2",
    }
    ranks = {1: "1 coordinate", 3: "up to 3 coordinates", 5: "up to 5 coordinates"}
    rows = []
    for k, (kind, meaning) in enumerate(meanings.items()):
        for funct2, (rank, words) in enumerate(ranks.items(), start=1):
            coordinates = [f"coordinate {axis}" for axis in range(rank)]
            unused = ["unused"] * ((1 << funct2) - 1 - rank)
            rows.append(
                Reserved(
                    f"cp.async.bulk.tensor.{kind}.{rank}d",
                    Unit.LSU,
                    word4(0x2B, 4, funct2, rd=_TENSOR + k),
                    "rs1, rs3" if kind == "prefetch" else "rs1, rs2, rs3",
                    meaning=f"{meaning}; {words}",
                    contents={"rs3": (_LEADS[kind], *coordinates, *unused)},
                    control_registers=_BLOCKS if "multicast" in kind else (),
                )
            )
    return (*rows, *_special_boxes(_TENSOR + len(meanings)))


def _special_boxes(way: int) -> tuple[Reserved, ...]:
    """Return the copies of boxes other than tiles; `way` is the first free value of field rd."""
    coordinates = tuple(f"coordinate {axis}" for axis in range(5))
    filter_ = (*coordinates, "offsets 0 and 1 of the filter", "offset 2 of the filter")
    rows_ = ("column", "row 0", "row 1", "row 2", "row 3", "unused", "unused")
    kinds = {
        "load.im2col": (_BARRIER, filter_, "load of a box by its position in an image", ()),
        "load.im2col.multicast": (_BARRIER, filter_, "the same to several blocks", _BLOCKS),
        "store.im2col": ("unused", filter_, "store of such a box", ()),
        "load.gather4": (_BARRIER, rows_, "load of four rows of a matrix", ()),
        "load.gather4.multicast": (_BARRIER, rows_, "the same to several blocks", _BLOCKS),
        "store.scatter4": ("unused", rows_, "store of four rows of a matrix", ()),
    }
    return tuple(
        Reserved(
            f"cp.async.bulk.tensor.{kind}",
            Unit.LSU,
            word4(0x2B, 4, 3, rd=way + k),
            "rs1, rs2, rs3",
            meaning=meaning,
            contents={"rs3": (lead, *contents)},
            control_registers=control_registers,
        )
        for k, (kind, (lead, contents, meaning, control_registers)) in enumerate(kinds.items())
    )


TENSOR_COPIES = _tensor_copies()


def _matrix_accesses() -> tuple[Reserved, ...]:
    """Return loads and stores of 8 x 8 matrices of 16-bit elements in shared memory.

    Bits 26:25 are the binary logarithm of the matrices, never 3, which marks copies of threads.
    """
    rows = []
    for funct5, suffix, order in ((0, "", ""), (1, ".trans", ", transposed")):
        for log in range(3):
            count = 1 << log
            threads = f"threads 0 to {8 * count - 1} have the addresses of the rows in rs1"
            word = word_of(0x2B, 5, funct5 << 2 | log)
            matrices = "matrices" if log else "matrix"
            rows += [
                Reserved(
                    f"ldmatrix.x{count}{suffix}",
                    Unit.LSU,
                    word,
                    "fd, (rs1)",
                    meaning=f"loads {count} {matrices}{order}; {threads}",
                    sizes={"rd": count},
                ),
                Reserved(
                    f"stmatrix.x{count}{suffix}",
                    Unit.LSU,
                    word | 8 << 27,
                    "fs2, (rs1)",
                    meaning=f"stores {count} {matrices}{order}; {threads}",
                    sizes={"rs2": count},
                ),
            ]
    move = word_of(0x2B, 5, 16 << 2)
    transposed = "fd := the 8 x 8 matrix in fs1, transposed"
    return (*rows, Reserved("movmatrix.trans", Unit.LSU, move, "fd, fs1", meaning=transposed))


MATRIX_ACCESSES = _matrix_accesses()
