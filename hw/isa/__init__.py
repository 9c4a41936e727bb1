"""Instruction set: instructions, control registers, command words of the matrix unit."""
