"""Golden model of the operand collectors: expected operands of each operation."""

from spica.hw.config import PipelineConfig
from spica.hw.lib.interfaces.execution_unit import beat_field

__all__ = ["expected_operations", "mixture"]

#: Fields copied from the decoded instruction to the operation.
PASSED = ("pc", "operation", "rd", "writes", "immediate", "rounding", "a_is_pc", "b_is_immediate")


def mixture(operation: dict) -> list[int]:
    """Return a result for each thread that depends on every operand, each in a different way."""
    a, b, c = operation["operands"]
    return [
        (3 * x + 5 * (y ^ (y >> 7)) + 7 * (z ^ (z << 3)) + operation["pc"]) & 0xFFFFFFFF
        for x, y, z in zip(a, b, c, strict=True)
    ]


def expected_operations(config: PipelineConfig, issues: list[dict], registers: dict) -> list[dict]:
    """Return the expected operations of `issues`, as if executed one after the other.

    Results are those of `mixture`.

    Parameters
    ----------
    config : PipelineConfig
        The core.
    issues : list of dict
        Payloads of `issue_layout`, those of each warp in the order of its program.
    registers : dict
        Lists of values by thread, by warp and register; overwritten.

    """
    operations = []
    for issue in issues:
        instruction = issue["instruction"]
        operands = [
            list(registers[issue["warp"], source]) if instruction["reads"] >> k & 1 else None
            for k, source in enumerate(instruction["sources"])
        ]
        operation = {"warp": issue["warp"], "mask": issue["mask"]}
        operation |= {name: instruction[name] for name in PASSED}
        operation |= {name: issue[name] for name in beat_field(config)}
        operation["operands"] = [operand or [0] * config.threads for operand in operands]
        operations.append(operation)
        if instruction["writes"]:
            values = registers[issue["warp"], instruction["rd"]]
            for thread, value in enumerate(mixture(operation)):
                if issue["mask"] >> thread & 1:
                    values[thread] = value
    return operations
