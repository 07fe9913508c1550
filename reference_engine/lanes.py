"""The lanes of an engine, one for each profile in use, and the memory that they share."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from reference_engine.drafters import drafter_of
from reference_engine.errors import EngineRequestError
from reference_engine.forward.choice import Choice, Loaded, tested
from reference_engine.forward.self_test import PAGES_NEEDED
from reference_engine.kv.arena import Arena
from reference_engine.kv.page_pools import PagePools
from reference_engine.kv.radix import RadixTree
from reference_engine.kv.records import RecordCells
from reference_engine.kv.subpool import SubPool
from reference_engine.lane import Lane
from reference_engine.loop import Loop
from reference_engine.model.groups import layer_groups
from reference_engine.model.tensors import ModelWeights
from reference_engine.options import EngineOptions
from reference_engine.profile import FURTHER_PROFILES, PROFILES, NumericsProfile, profile_named
from reference_engine.runner import Runner
from reference_engine.sched.limits import Limits
from reference_engine.sched.request import pages_for
from reference_engine.sched.scheduler import Scheduler
from reference_engine.sched.tree_memory import TreeMemory
from reference_engine.weights.source import WeightSource

_RECORDED_TOP_K = 20
_LEAST_KV_BYTES = 1 << 29


@dataclass(slots=True)
class _Use:
    """A lane, and how many callers wait for it."""

    lane: Lane
    users: int = 0


class Lanes:
    """Safe for several threads. A lane is built when it is first used; of those with altered weights only the last few
    stay."""

    def __init__(self, source: WeightSource, options: EngineOptions) -> None:
        self._config = source.config
        self._options = options
        self._choice = Choice(source, kept=options.kept_profiles, threads=options.threads, exact=options.exact)
        profiles = (PROFILES | FURTHER_PROFILES).values()
        sizes = [self._choice.page_bytes(profile) for profile in profiles]
        largest = max(max(each) for each in sizes)
        kv_bytes = options.kv_bytes or _default_kv_bytes(self._config.context_length, [sum(each) for each in sizes])
        _check_kv_bytes(
            kv_bytes, largest, [self._choice.page_bytes(profile) for profile in profiles if not profile.oracle]
        )
        self._arena = Arena(kv_bytes, largest)
        self._records = RecordCells(self._arena, _RECORDED_TOP_K)
        self._windows = tuple(group.window for group in layer_groups(self._config))
        self._pools: dict[tuple[int, int], SubPool] = {}
        self._first_tree: RadixTree | None = None
        self._uses: OrderedDict[str, _Use] = OrderedDict()
        self._lock = threading.RLock()
        self.loop = Loop()

    def arithmetic(self, profile: NumericsProfile) -> str:
        """What decides the order of operations, for the fingerprint."""
        return self._choice.arithmetic(profile)

    @property
    def kv_bytes(self) -> int:
        return self._arena.frames * self._arena.frame_bytes

    @property
    def kv_bytes_used(self) -> int:
        return self.kv_bytes - self._arena.free_frames * self._arena.frame_bytes

    def tensors(self, profile: NumericsProfile) -> ModelWeights:
        with self._lock:
            return self._choice.tensors(profile)

    def open(self) -> list[Lane]:
        with self._lock:
            return [use.lane for use in self._uses.values()]

    def close(self) -> None:
        """Fails what is left to do and lets the weights go."""
        self.loop.close()
        with self._lock:
            self._uses.clear()
            self._choice.close()

    @contextmanager
    def using(self, profile: str) -> Iterator[Lane]:
        """The lane of a profile, built where it is missing, and not closed while it is in use."""
        with self._lock:
            use = self._uses.get(profile) or self._opened(profile)
            self._uses.move_to_end(profile)
            use.users += 1
        try:
            yield use.lane
        finally:
            with self._lock:
                use.users -= 1

    def _opened(self, profile: str) -> _Use:
        known = profile_named(profile)
        self._make_room(known)
        loaded = self._choice.load(known, self._arena.buffer)
        use = self._uses[profile] = _Use(self.loop.call(lambda: self._new_lane(known, loaded)))
        return use

    def _make_room(self, coming: NumericsProfile) -> None:
        """Of the altered weights only those last used stay."""
        if coming.weights == "as-stored":
            return
        altered = [name for name in self._uses if profile_named(name).weights != "as-stored"]
        for name in altered[: max(len(altered) - self._options.kept_profiles + 1, 0)]:
            if not self._uses[name].users:
                lane = self._uses.pop(name).lane
                self.loop.call(lambda lane=lane: self.loop.remove(lane))  # type: ignore[misc]

    def _new_lane(self, profile: NumericsProfile, loaded: Loaded) -> Lane:
        pools = self._page_pools(self._choice.page_bytes(profile))
        tree = RadixTree(pools, self._records, beside=self._first_tree)
        self._first_tree = self._first_tree or tree
        # What is only kept must not keep a profile from its test.
        tree.make_room([PAGES_NEEDED] * len(pools.pools))
        exactness, remark = tested(loaded.forward, profile, pools, self._config.vocab_size, self.loop.as_pass)
        memory = TreeMemory(tree)
        options = self._options
        drafter = drafter_of(options, loaded.forward, self._config.n_layers)
        most_drafted = options.most_drafted if drafter else 0
        lane = Lane(
            Scheduler(Limits(options.token_budget, options.max_running, most_drafted), memory),
            Runner(loaded.forward, memory, drafter),
            tree,
            exactness=exactness,
            remark=remark,
            # Records hold float32, which the oracle's numbers are finer than.
            recorded_top_k=None if profile.oracle else _RECORDED_TOP_K,
            weight_bytes=loaded.weight_bytes,
        )
        self.loop.add(lane)
        return lane

    def _page_pools(self, sizes: Sequence[int]) -> PagePools:
        return PagePools(tuple(map(self._pool, sizes, self._windows)), self._windows)

    def _pool(self, page_bytes: int, window: int) -> SubPool:
        """Profiles whose pages are of one size share a sub-pool."""
        key = page_bytes, window
        if key not in self._pools:
            name = f"pages of {page_bytes} bytes" + (f" in a window of {window}" if window else "")
            self._pools[key] = self._arena.pool(name, page_bytes)
        return self._pools[key]


def _default_kv_bytes(context: int, page_sizes: Sequence[int]) -> int:
    return max(_LEAST_KV_BYTES, (pages_for(context) + 1) * max(page_sizes))


def _check_kv_bytes(kv_bytes: int, largest_page: int, tested_pages: Sequence[Sequence[int]]) -> None:
    """The self-test has to have room in every layer group. Memory is handed out in pieces of the largest page."""
    pieces = [sum(-(-PAGES_NEEDED // (largest_page // size)) for size in sizes) for sizes in tested_pages]
    least = largest_page * max(pieces)
    if kv_bytes < least:
        raise EngineRequestError(
            f"{kv_bytes:,} bytes are too little memory for the keys and values of this model.",
            remedy=f"Give --kv-bytes {least} or more.",
        )
