"""GEMM on the matrix unit: C = A · B for any M, N, K."""
