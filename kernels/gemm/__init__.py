"""GEMM: C = A · B for any M, N, K."""
