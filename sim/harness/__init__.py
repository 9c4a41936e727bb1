"""C++ harness seen from Python: ports, DRAM model, host, stop reasons."""
