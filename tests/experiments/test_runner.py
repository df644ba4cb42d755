"""Jobs in processes of this machine."""

import os
from dataclasses import dataclass

from vst.companion.experiments import runner
from vst.companion.experiments.store import Store


@dataclass(frozen=True)
class Who:
    """A job that says which process computed it."""

    number: int

    file, size = "numbers", 1

    @property
    def label(self) -> str:
        return str(self.number)

    def compute(self):
        return [{"key": self.number, "process": os.getpid()}]


def test_every_job_finds_room_for_its_programs(monkeypatch, tmp_path):
    calls = []
    monkeypatch.setattr(runner, "make_room_for_programs", lambda: calls.append(1))
    runner.run([Who(number) for number in range(3)], Store(tmp_path, ("key", "process")), workers=0)
    assert len(calls) == 3


def test_workers_are_replaced_after_so_many_jobs(monkeypatch, tmp_path):
    """A process keeps every program that it compiled."""
    monkeypatch.setattr(runner, "JOBS_OF_A_WORKER", 2)
    store = Store(tmp_path, ("key", "process"))
    runner.run([Who(number) for number in range(5)], store, workers=1)
    found = store.load()
    assert sorted(found["key"].astype(int)) == list(range(5))
    assert sorted(found["process"].value_counts()) == [1, 2, 2]
    assert str(os.getpid()) not in set(found["process"].astype(str))
