"""Check of a built program: no value crosses the start of threads in registers or on a stack."""
