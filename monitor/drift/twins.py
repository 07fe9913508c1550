"""The same probe with and without streaming: do the two modes fail alike?"""

from __future__ import annotations


def twins_test(only_stream: int, only_plain: int) -> float:
    """Exact two-sided p of McNemar's test, of pairs in which one mode alone failed; 1 where there are none."""
    from scipy.special import bdtr  # scipy.stats, which has it ready, takes 45 MB of every worker

    discordant = only_stream + only_plain
    return min(1.0, 2.0 * float(bdtr(min(only_stream, only_plain), discordant, 0.5))) if discordant else 1.0
