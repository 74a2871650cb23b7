"""A walk by several processes gives the tree of one, bit for bit, and ends with a clear error if one dies."""

import io
import os
import pickle
import subprocess
import sys
import types

import faulty_games  # noqa: F401  (registers its game)
import pyspiel
import pytest
from columns import assert_same_histories
from open_spiel.python import games  # noqa: F401  (registers those in Python)

from ps_cfr_spiel.histories import native_walker, recorder, workers
from ps_cfr_spiel.histories.knowledge import sequential
from ps_cfr_spiel.histories.limits import Limits, TooLarge
from ps_cfr_spiel.histories.recorder import Start
from ps_cfr_spiel.histories.walker import walk
from ps_cfr_spiel.histories.workers import WorkerError, subtrees


@pytest.fixture(autouse=True)
def _python_walks(monkeypatch):
  """Nothing is compiled here, and tiny games are shared."""
  monkeypatch.setenv("PS_CFR_SPIEL_CACHE", "off")
  native_walker.compile_library.cache_clear()
  monkeypatch.setattr(workers, "ENOUGH", 1)


@pytest.fixture
def started(monkeypatch):
  """The worker processes that a test starts."""
  found, popen = [], subprocess.Popen
  monkeypatch.setattr(workers.subprocess, "Popen", lambda *a, **k: found.append(popen(*a, **k)) or found[-1])
  return found


@pytest.mark.parametrize(
  "name, processes",
  [
    ("leduc_poker", 3),
    ("first_sealed_auction(max_value=3)", 2),
    ("leduc_poker(players=3,suit_isomorphism=True)", 2),
    ("python_kuhn_poker", 2),
    ("python_iterated_prisoners_dilemma(max_game_length=3)", 2),
    ("cheat(ranks=2,suits=1,hand_size=1,max_turns=2)", 2),
  ],
)
def test_the_tree_is_that_of_one_process(name, processes, started, monkeypatch):
  monkeypatch.setattr(workers, "ENOUGH", 1 if "kuhn" in name or "cheat" in name else 4)
  game = sequential(pyspiel.load_game(name))
  shared = walk(game, progress=False, processes=processes)
  assert len(started) == processes and all(worker.returncode is not None for worker in started)
  assert_same_histories(shared, walk(game, progress=False, processes=1))


def test_subtrees_are_all_of_one_length():
  game = pyspiel.load_game("leduc_poker")
  histories = walk(game, progress=False, processes=1)
  for processes in (1, 6, 7, 30):
    length, starts = subtrees(game, processes)
    assert len(starts) >= processes
    expected = [
      h for h in range(len(histories.parent)) if histories.depth[h] == length and histories.player[h] != -4
    ]
    found = [(list(start.path), start.rank, start.chance) for start in starts]
    assert found == [(histories.path(h), histories.rank[h], histories.chance[h]) for h in expected]
  assert subtrees(game, 10**6) == (0, [])
  assert subtrees(pyspiel.load_game("faulty_game(fault=raises)"), 5) == (0, [])


@pytest.mark.parametrize("fault", ["mover", "returns", "no actions"])
def test_a_fault_has_the_words_of_one_process(fault, started):
  game = pyspiel.load_game(f"faulty_game(fault={fault})")
  said = []
  for processes in (1, 2):
    with pytest.raises(ValueError, match="at history") as caught:
      walk(game, progress=False, processes=processes)
    said.append((str(caught.value), caught.value.__notes__))
  assert len(started) == 2 and said[0] == said[1]


def test_a_killed_worker_is_one_clear_error(started, monkeypatch):
  ask = workers._ask
  monkeypatch.setattr(
    workers, "_ask", lambda worker, task: (isinstance(task, Start) and worker.kill()) or ask(worker, task)
  )
  with pytest.raises(WorkerError, match=r"worker process of the walk ended with code -9.*smaller parameters"):
    walk(pyspiel.load_game("leduc_poker"), progress=False, processes=2)
  assert all(worker.returncode is not None for worker in started)


def test_a_worker_out_of_memory_says_so(monkeypatch):
  """The whole work of a worker, in this process."""

  def no_memory(*_):
    raise MemoryError

  tasks = ("kuhn_poker", [], Limits.create()), Start()
  streams = io.BytesIO(b"".join(map(pickle.dumps, tasks))), io.BytesIO()
  for name, stream in zip(("stdin", "stdout"), streams, strict=True):
    monkeypatch.setattr(sys, name, types.SimpleNamespace(buffer=stream))
  with pytest.raises(EOFError):  # no further task
    workers.answer_tasks(no_memory, os.getppid())
  streams[1].seek(0)
  assert pickle.load(streams[1]) is None  # the game is loaded
  answer = pickle.load(streams[1])
  assert isinstance(answer, WorkerError) and str(answer) == "a worker process of the walk is out of memory."


def test_an_interrupt_ends_the_workers(started, monkeypatch):
  def interrupt(*_):
    raise KeyboardInterrupt

  monkeypatch.setattr(recorder.Recorder, "_take", interrupt)
  with pytest.raises(KeyboardInterrupt):
    walk(pyspiel.load_game("leduc_poker"), progress=False, processes=2)
  assert len(started) == 2 and all(worker.returncode is not None for worker in started)


def test_a_game_that_workers_cannot_load_is_walked_by_one_process(started, monkeypatch):
  """Such as one of a script that is not a module."""
  monkeypatch.setattr(workers, "modules_of", lambda _: ["no_such_module"])
  game = pyspiel.load_game("python_kuhn_poker")
  assert_same_histories(walk(game, progress=False, processes=2), walk(game, progress=False, processes=1))
  assert len(started) == 2


def test_limits_hold(started):
  for limit in (100, 9000):  # within a subtree; all together
    with pytest.raises(TooLarge, match=f"more than {limit:,} histories"):
      walk(pyspiel.load_game("leduc_poker"), Limits.create(limit), progress=False, processes=2)
  assert len(started) == 4


def test_a_subtree_beyond_a_workers_part_of_the_memory_is_walked_by_one_process(started, monkeypatch):
  monkeypatch.setattr(workers, "ENOUGH", 0)  # one subtree, the whole game
  game = pyspiel.load_game("leduc_poker")
  limits = Limits.create(memory=4e6)  # of which the game takes more than a third
  assert_same_histories(
    walk(game, limits, progress=False, processes=2), walk(game, limits, progress=False, processes=1)
  )
  assert len(started) == 2
  with pytest.raises(TooLarge, match="of memory, the limit"):
    walk(game, Limits.create(memory=1e6), progress=False, processes=2)
