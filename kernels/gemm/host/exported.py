"""Export of a product for a host of any kind: its commands and the places of its matrices.

The list begins with the cluster just reset and ends with C in DRAM. A host executes the commands in
order, one access of the AXI4-Lite slave at a time (`kernels.commands`).
"""

import json
import re

from ....base.errors import UserError
from ....hw.config import MachineConfig
from ....hw.machine.artifacts import generator
from ....hw.machine.register_blocks import register_blocks
from ...commands import Operation
from ..problem import GemmProblem
from ..target import systolic_unit
from .schedule import schedule

__all__ = ["exported_product"]

Names = dict[int, str]
Rows = list[tuple[int, int, int, int]]

#: Meaning of each operation, for C.
MEANINGS = {
    Operation.WRITE: "write data to address",
    Operation.WAIT_EQUAL: "read address until (value & mask) == data",
    Operation.WAIT_REACHED: "read address until (int32_t)(value - data) >= 0",
    Operation.READ: "read address, and keep the value as a result",
}


def exported_product(config: MachineConfig, name: str, m: int, n: int, k: int) -> dict[str, str]:
    """Return the JSON file and the C header of a product on the cluster `name`, by file name.

    A and B have the format of the matrix unit's operands, C the narrow one of its results.
    """
    unit = systolic_unit(config, "gemm")
    try:
        problem = GemmProblem.placed(m=m, n=n, k=k, operand=unit.operand)
    except ValueError as error:
        raise UserError(str(error)) from None
    rows = schedule(config, problem).commands.rows
    names = {
        base + register.offset: f"{block}.{register_name}"
        for block, base, registers in register_blocks(config)
        for register_name, register in registers.items()
    }
    return {
        f"{name}_gemm.json": json_text(name, problem, rows, names),
        f"{name}_gemm.h": c_text(name, problem, rows, names),
    }


def sentence(name: str, problem: GemmProblem) -> str:
    """Return the sentence that heads each file."""
    sizes = f"m={problem.m} n={problem.n} k={problem.k}"
    return f"{generator()}: commands of gemm {sizes} for the cluster {name}"


def matrices(problem: GemmProblem) -> dict[str, dict]:
    """Return place and shape of each matrix; the pitch is in elements."""
    return {
        name: {
            "address": getattr(problem, f"{name}_base"),
            "rows": rows,
            "columns": columns,
            "pitch": getattr(problem, f"{name}_pitch"),
            "format": form,
        }
        for name, (rows, columns, form) in problem.shapes.items()
    }


def json_text(name: str, problem: GemmProblem, rows: Rows, names: Names) -> str:
    """Return the description as JSON, with a command per line."""
    head = {
        "generator": sentence(name, problem),
        "cluster": name,
        "kernel": "gemm",
        "matrices": matrices(problem),
        "commands": [],
    }
    lines = ",\n".join(
        "    "
        + json.dumps({
            "operation": Operation(operation).name.lower(),
            "register": names[address],
            "address": address,
            "data": data,
            "mask": mask,
        })
        for operation, address, data, mask in rows
    )
    return json.dumps(head, indent=2).replace("[]\n}", f"[\n{lines}\n  ]\n}}") + "\n"


def c_text(name: str, problem: GemmProblem, rows: Rows, names: Names) -> str:
    """Return the description as a C header: sizes, places, and a table of commands."""
    guard = "SPICA_" + re.sub(r"\W", "_", name).upper() + "_GEMM_H"
    lines = [f"/* {sentence(name, problem)}. */", f"#ifndef {guard}", f"#define {guard}", ""]
    lines += ["#include <stdint.h>", "", "/* Matrices, row-major; a pitch is in elements. */"]
    for matrix, facts in matrices(problem).items():
        for fact, value in facts.items():
            text = f"{value:#010x}u" if fact == "address" else json.dumps(value)
            lines.append(f"#define SPICA_GEMM_{matrix.upper()}_{fact.upper()} {text}")
    lines += ["", "/* Operations of a command, which a host executes in order. */"]
    lines += [
        f"#define SPICA_{operation.name} {operation.value}u /* {MEANINGS[operation]} */"
        for operation in Operation
    ]
    lines += ["", "struct spica_command {", "    uint32_t operation, address, data, mask;", "};"]
    lines += ["", "static const struct spica_command spica_gemm_commands[] = {"]
    for operation, address, data, mask in rows:
        words = f"SPICA_{Operation(operation).name}, {address:#06x}u, {data:#010x}u, {mask:#x}u"
        lines.append(f"    {{{words}}}, /* {names[address]} */")
    return "\n".join([*lines, "};", "", "#endif", ""])
