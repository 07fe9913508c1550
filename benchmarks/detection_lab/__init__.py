"""The lab of detection: changed stacks made from the bundled weights, what they answer as arrays, and rival methods."""
