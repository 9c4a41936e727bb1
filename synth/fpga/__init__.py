"""FPGA flow: boards, bitstreams, technology mapping."""
