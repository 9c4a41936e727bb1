"""Check of a built program: every path pairs the instructions of SPICA_IF and SPICA_WHILE."""
