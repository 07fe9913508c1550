"""JUDGES: configuration, storage, detectors, verdicts and the command line."""
