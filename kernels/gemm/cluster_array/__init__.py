"""``gemm`` on a matrix unit: programs of the cores, commands of a host, and their tiles."""
