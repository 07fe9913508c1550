"""Kernels in C++ that keep a row's bits: built where a compiler is at hand, and left aside where none is."""
