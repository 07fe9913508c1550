"""Runs the service: its processes, one per data directory, and what they tell of their health."""
