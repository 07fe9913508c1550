"""The fire drill: a drift that is known beforehand has to reach the channels, and everybody is told that it is one."""
