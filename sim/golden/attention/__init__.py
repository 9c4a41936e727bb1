"""Golden models of attention kernels, bit-exact."""
