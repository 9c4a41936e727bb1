"""Golden model of the tile sequencer: inputs of the array for an operation, in order."""

from .....hw.config import MatrixUnitConfig
from .....hw.config.arithmetic import ARITHMETIC
from .....hw.config.formats import FORMATS

__all__ = [
    "expected_d",
    "expected_descriptors",
    "expected_rows",
    "expected_steps",
    "expected_weights",
]


def element(config: MatrixUnitConfig, memory: bytes, line: int, size: int, index: int) -> int:
    """Return the stored element `index` of the access of `size` bytes at `line`."""
    width = config.matrix.operand_bytes
    start = line * size + index * width
    return int.from_bytes(memory[start : start + width], "little")


def element_a(config, operation, memory, i: int, k: int) -> int:
    """Return A(i, k), or 0 beyond K."""
    matrix = config.matrix
    if k >= operation["depth"]:
        return 0
    if operation["transpose_a"]:
        line, index = k * operation["i_blocks"] + i // matrix.rows, i % matrix.rows
    else:
        line, index = i * operation["k_blocks"] + k // matrix.rows, k % matrix.rows
    return element(config, memory, operation["a_line"] + line, matrix.a_bytes, index)


def element_b(config, operation, memory, k: int, j: int) -> int:
    """Return B(k, j), or 0 beyond K."""
    matrix = config.matrix
    if k >= operation["depth"]:
        return 0
    if operation["transpose_b"]:
        line, index = j * operation["k_blocks"] + k // matrix.rows, k % matrix.rows
    else:
        line, index = k * operation["j_blocks"] + j // matrix.columns, j % matrix.columns
    return element(config, memory, operation["b_line"] + line, matrix.b_bytes, index)


def expected_rows(config: MatrixUnitConfig, operation: dict, memory: bytes) -> list[tuple]:
    """Return (elements of A, swap, accumulator row, accumulate) of each row of a compute."""
    rows = config.matrix.rows
    return [
        (
            [
                element_a(config, operation, memory, i, k_block * rows + offset)
                for offset in range(rows)
            ],
            int(i == 0),
            operation["base"] + j_block * operation["i_blocks"] * rows + i,
            int(operation["accumulate"] or k_block > 0),
        )
        for j_block in range(operation["j_blocks"])
        for k_block in range(operation["k_blocks"])
        for i in range(operation["height"])
    ]


def expected_weights(config: MatrixUnitConfig, operation: dict, memory: bytes) -> list[list[int]]:
    """Return the elements of each row of weights of a compute."""
    rows, columns = config.matrix.rows, config.matrix.columns
    return [
        [
            element_b(config, operation, memory, k_block * rows + r, j_block * columns + column)
            for column in range(columns)
        ]
        for j_block in range(operation["j_blocks"])
        for k_block in range(operation["k_blocks"])
        for r in range(rows)
    ]


def expected_steps(config: MatrixUnitConfig, operation: dict, memory: bytes) -> list[tuple]:
    """Return each step of an output-stationary compute.

    A step is (column of A, row of B, first, last); the last one adds (accumulator row,
    accumulate). Rows of A beyond M are zeros.
    """
    rows, columns = config.matrix.rows, config.matrix.columns
    together, depth = config.matrix.element_latency, operation["depth"]
    steps = []
    for group in range(0, operation["j_blocks"], together):
        for i_block in range(operation["i_blocks"]):
            for k in range(depth):
                column = [
                    element_a(config, operation, memory, i, k) if i < operation["height"] else 0
                    for i in range(i_block * rows, (i_block + 1) * rows)
                ]
                for j_block in range(group, min(group + together, operation["j_blocks"])):
                    row = [
                        element_b(config, operation, memory, k, j_block * columns + offset)
                        for offset in range(columns)
                    ]
                    step = (column, row, int(k == 0), int(k == depth - 1))
                    if k == depth - 1:
                        block = j_block * operation["i_blocks"] + i_block
                        address = operation["base"] + block * rows
                        step += (address, int(operation["accumulate"]))
                    steps.append(step)
    return steps


def expected_descriptors(config: MatrixUnitConfig, operation: dict) -> list[dict]:
    """Return the DMA descriptors of an operation: loads, then the store."""
    matrix, descriptors = config.matrix, []
    sizes = {
        "a": (
            operation["height"],
            operation["depth"],
            operation["i_blocks"],
            operation["k_blocks"],
        ),
        "b": (operation["depth"], operation["width"], operation["k_blocks"], operation["j_blocks"]),
    }
    for name, access in (("a", matrix.a_bytes), ("b", matrix.b_bytes)):
        if operation[f"load_{name}"]:
            lines, elements, _, pitch = sizes[name]
            if operation[f"transpose_{name}"]:
                lines, elements, pitch = elements, lines, sizes[name][2]
            descriptors.append({
                "direction": "LOAD",
                "dram": operation[f"{name}_address"],
                "dram_pitch": operation[f"{name}_pitch"],
                "local": operation[f"{name}_line"] * access,
                "local_pitch": pitch * access,
                "rows": lines,
                "bytes": elements * matrix.operand_bytes,
                "fill_rows": 0,
                "fill_bytes": 0,
            })
    if operation["store"]:
        arithmetic = ARITHMETIC[matrix.operand]
        c_format = arithmetic.accumulator if operation["wide"] else arithmetic.narrow
        size = FORMATS[c_format].width // 8
        descriptors.append({
            "direction": "SPILL" if operation["spill"] else "DRAIN",
            "dram": operation["c_address"],
            "dram_pitch": operation["c_pitch"],
            "local": operation["c_line"] * matrix.a_bytes,
            "local_pitch": operation["j_blocks"] * matrix.columns * size,
            "rows": operation["height"],
            "bytes": operation["width"] * size,
            "fill_rows": 0,
            "fill_bytes": 0,
            "block": matrix.columns * size,
        })
    return descriptors


def expected_d(config: MatrixUnitConfig, operation: dict) -> list[dict]:
    """Return the fields of the descriptors that load D, one per column block."""
    matrix = config.matrix
    if not operation.get("load_d"):
        return []
    size = 4 * matrix.columns
    descriptors = []
    for block in range(operation["j_blocks"]):
        outside = (operation["d_address"] + block * size, operation["d_pitch"])
        row = operation["base"] + block * operation["i_blocks"] * matrix.rows
        inside = (row * size, size)
        from_shared = operation["d_shared"]
        dram, local = (inside, outside) if from_shared else (outside, inside)
        descriptors.append({
            "direction": "REFILL" if from_shared else "FILL",
            "dram": dram[0],
            "dram_pitch": dram[1],
            "local": local[0] % config.shared.size,
            "local_pitch": local[1],
            "rows": operation["height"],
            "bytes": min(size, 4 * operation["width"] - block * size),
            "fill_rows": 0,
            "fill_bytes": 0,
        })
    return descriptors
