"""GEMM on a matrix unit or on tensor units: C = A · B for any M, N, K."""
