"""The statistics: arrays in, evidence out; no I/O, no clock, no database."""
