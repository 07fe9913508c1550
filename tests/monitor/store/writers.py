"""What other processes do to a database in the tests of concurrency and of sudden ends."""

from __future__ import annotations

import os
import resource
import sys
import time
from collections.abc import Callable

from monitor.errors import StorageError
from monitor.store import Store
from tests.monitor.store.material import AT, finished_run, identity, later, sample, start


def write_runs(path: str, provider: str, count: int) -> None:
    """Open the database at the same time as others do, and store `count` runs with samples."""
    with Store.open(path, at=AT) as store:
        endpoint = store.ensure_endpoint(identity(provider), at=AT)
        for number in range(count):
            run_id = store.begin_run(start(endpoint.id), at=later(number))
            store.add_samples(run_id, [sample(f"{number}-{i}") for i in range(10)], at=later(number))
            finished_run(store, endpoint.id, later(number))


def stop_in_mid_run(path: str) -> None:
    """Begin a run, store some of its samples, say so, and wait to be killed."""
    store = Store.open(path, at=AT)
    endpoint = store.ensure_endpoint(identity(), at=AT)
    run_id = store.begin_run(start(endpoint.id), at=AT)
    store.add_samples(run_id, [sample("a"), sample("b")], at=AT)
    sys.stdout.write(f"{run_id}\n")
    sys.stdout.flush()
    while True:
        time.sleep(60)


def fill_the_disk(path: str, limit: str) -> None:
    """Store samples until no file may grow past `limit` bytes; exit 3 with the error on stdout, once it comes."""
    store = Store.open(path, at=AT)
    endpoint = store.ensure_endpoint(identity(), at=AT)
    run_id = store.begin_run(start(endpoint.id), at=AT)
    resource.setrlimit(resource.RLIMIT_FSIZE, (int(limit), resource.RLIM_INFINITY))
    number = 0
    while True:
        batch = [sample(f"{number}-{i}", body=os.urandom(4000)) for i in range(50)]
        try:
            store.add_samples(run_id, batch, at=AT)
        except StorageError as error:
            sys.stdout.write(f"{number}\n{error}\n")
            sys.exit(3)
        number += 1


COMMANDS: dict[str, Callable[..., None]] = {"stop_in_mid_run": stop_in_mid_run, "fill_the_disk": fill_the_disk}

if __name__ == "__main__":
    COMMANDS[sys.argv[1]](*sys.argv[2:])
