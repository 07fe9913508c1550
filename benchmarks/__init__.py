"""What is measured against peers; every figure in docs/benchmarks.md names the command here that makes it."""
