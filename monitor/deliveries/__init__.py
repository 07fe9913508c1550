"""Notices on their way to people: gathered into groups, written in a channel's format, signed, sent and tried again."""
