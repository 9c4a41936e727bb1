"""Mandelbrot set: how many steps each pixel takes to escape."""
