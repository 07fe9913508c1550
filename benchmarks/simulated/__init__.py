"""What the stream level of detection promises, by simulation: false alarms, delays and dates of changes."""
