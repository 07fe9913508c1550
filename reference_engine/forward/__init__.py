"""One forward pass: which rows, and what computes them."""
