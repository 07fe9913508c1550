"""Alerts: a pure machine from verdicts to what people are told. No I/O, no clock, no database."""
