"""How a stream came into its epoch."""

from enum import StrEnum


class Begun(StrEnum):
    NEW = "new"
    RENEWED = "renewed"  # its levels stayed
    REBASED = "rebased"  # with another baseline
