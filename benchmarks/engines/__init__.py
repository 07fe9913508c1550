"""The engines that benchmarks.engine compares: each in a process of its own, all asked the same."""
