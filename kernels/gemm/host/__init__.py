"""``gemm`` by a host that commands the DMA and a matrix unit of the cluster."""
