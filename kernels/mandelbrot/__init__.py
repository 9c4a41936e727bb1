"""Mandelbrot set: number of steps that each pixel takes to escape."""
