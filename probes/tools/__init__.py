"""Tool-call probes: cases with a known right answer, and how what came is scored."""
