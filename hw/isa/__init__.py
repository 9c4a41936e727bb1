"""What programs are made of: instructions, control registers, command words of the matrix unit."""
