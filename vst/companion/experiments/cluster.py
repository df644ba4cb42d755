"""Runs the same jobs on the workers of a Dask cluster.

If a worker dies, another one computes its job. Workers need the same version of this package, and the
data: bundled, or in the directory named by their own ``VST_DATA``.
"""

from collections.abc import Callable, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

import vst
from vst.errors import UserError
from vst.runtime import configure

if TYPE_CHECKING:
    from vst.companion.experiments.runner import Job

#: How often a job is retried after its own error; a dead worker does not count.
RETRIES = 2

#: Seconds to wait for the scheduler.
TIMEOUT = 20


def run_on(
    address: str, jobs: "Sequence[Job]", finish: "Callable[[Job, list[dict[str, Any]]], None]"
) -> None:
    """Compute jobs on a scheduler's cluster, and pass on each job's rows when it ends.

    Parameters
    ----------
    address
        Address of the scheduler, such as ``tcp://10.0.0.1:8786``.
    jobs
        What to compute.
    finish
        Called in this process with a job and its rows.
    """
    try:
        from distributed import Client, KilledWorker, as_completed
    except ModuleNotFoundError:
        raise UserError('Dask is not installed: run pip install "vst[cluster]"') from None
    try:
        client = Client(address, timeout=TIMEOUT, set_as_default=False)
    except (OSError, ValueError) as error:
        raise UserError(
            f"no Dask scheduler answers at {address} ({error}): check the address, or start one with "
            "`dask scheduler`"
        ) from None
    with client:
        _require_same_version(client, address)
        waiting = {client.submit(compute, job, pure=False, retries=RETRIES): job for job in jobs}
        for future in as_completed(list(waiting), loop=client.loop):
            job = waiting.pop(future)
            try:
                finish(job, future.result())
            except KilledWorker:
                raise UserError(
                    f"several workers died while computing {job.label}: give them more memory"
                ) from None


def compute(job: "Job") -> list[dict[str, Any]]:
    """Compute one job in a worker."""
    _prepare()
    return job.compute()


@cache
def _prepare() -> None:
    """Set up JAX once per worker, with one device, as in the local runner's processes."""
    configure(devices=1)


def _require_same_version(client: Any, address: str) -> None:
    versions = client.run(_version)
    if not versions:
        raise UserError(f"the scheduler at {address} has no workers: start some with `dask worker`")
    others = {worker: version for worker, version in versions.items() if version != vst.__version__}
    if others:
        listed = ", ".join(f"{worker} has {version}" for worker, version in others.items())
        raise UserError(f"this is vst {vst.__version__}, but {listed}: install the same everywhere")


def _version() -> str:
    return vst.__version__
