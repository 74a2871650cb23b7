"""A walk by several processes: each walks whole subtrees, and the pieces are joined in the order of one walk.

A worker is a fresh interpreter (`python -c`), not a copy of this one: threads of JAX do not survive a fork,
and `multiprocessing` would run the user's script once more. It gets the game by its string, and imports the
modules of a game in Python first. Tasks and pieces go through its pipes; its end is an error here.
"""

import contextlib
import dataclasses
import importlib
import itertools
import os
import pickle
import queue
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pyspiel

from ps_cfr_spiel.histories.histories import Histories
from ps_cfr_spiel.histories.limits import FaultAtError, Limits, Stopped, TooLarge, Watch
from ps_cfr_spiel.histories.recorder import Start
from ps_cfr_spiel.histories.size_estimate import SizeEstimate

ENOUGH = 16  # subtrees for each worker, so that all end at about the same time
MOST = 20_000  # subtrees: they are found by one process
NOTHING = SizeEstimate(0, 0, cut=False, exceeds=False)  # the caller has made an estimate
SERVE = "import sys; sys.path[:] = {}; from ps_cfr_spiel.histories import walker; walker.serve({})"


class WorkerError(Stopped, RuntimeError):
  """A worker process ended before its work was done."""


class NoWorkersError(Stopped):
  """Worker processes cannot load the game, or not walk a subtree within their share of the memory."""


def subtrees(game: pyspiel.Game, processes: int) -> tuple[int, list[Start]]:
  """A length of history, and in order all histories of that length that are not over, enough for all workers.

  The list is empty if no length has enough, or if the game raises an error on the way.
  """
  layer = [(game.new_initial_state(), Start())]
  length = 0
  with contextlib.suppress(Exception):  # of the game: the walk in order raises it again
    while layer and len(layer) <= MOST:
      if len(layer) >= ENOUGH * processes:
        return length, [start for _, start in layer]
      below = (child for state, start in layer for child in _children(state, start))
      layer = list(itertools.islice((child for child in below if not child[0].is_terminal()), MOST + 1))
      length += 1
  return 0, []


def _children(state: pyspiel.State, start: Start) -> Iterator[tuple[pyspiel.State, Start]]:
  is_chance = state.is_chance_node()
  moves = sorted(pair for pair in state.chance_outcomes() if pair[1] > 0) if is_chance else None
  for rank, (action, odds) in enumerate(moves or [(action, 1.0) for action in state.legal_actions()]):
    yield state.child(action), Start((*start.path, action), rank, start.chance * odds)


@contextlib.contextmanager
def pieces(
  game: pyspiel.Game, starts: list[Start], limits: Limits, processes: int
) -> Iterator[Iterator[Histories]]:
  """The histories that begin with each of `starts`, in order; on leaving, the workers end.

  The memory is shared out: a part for each worker, and one for the joined pieces.

  Raises:
    NoWorkersError: they cannot load the game, or a subtree needs more than a worker's part.
    WorkerError: a worker ended.
    FaultAtError: a subtree, the one below this history, has a fault.
  """
  part = dataclasses.replace(limits, memory=limits.memory / (processes + 1))
  workers: list[subprocess.Popen] = []
  free: queue.Queue[subprocess.Popen] = queue.Queue()
  pool = ThreadPoolExecutor(processes)

  def run(start: Start) -> Histories:
    worker = free.get()
    try:
      return _ask(worker, start)
    finally:
      free.put(worker)

  try:
    for _ in range(processes):
      # A session of its own: Ctrl-C is for the one who waits for the workers.
      streams: Any = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
      command = [sys.executable, "-c", SERVE.format(sys.path, os.getpid())]
      workers.append(subprocess.Popen(command, start_new_session=True, **streams))
    list(pool.map(lambda worker: _ask(worker, (str(game), modules_of(game), part)), workers))
    for worker in workers:
      free.put(worker)
    yield pool.map(run, starts)
  finally:
    for worker in workers:
      worker.kill()
    pool.shutdown(cancel_futures=True)
    for worker in workers:
      worker.communicate()


def _ask(worker: subprocess.Popen, task: Any) -> Any:
  assert worker.stdin and worker.stdout
  try:
    pickle.dump(task, worker.stdin)
    worker.stdin.flush()
    answer = pickle.load(worker.stdout)
  except (EOFError, OSError, ValueError, pickle.UnpicklingError) as error:
    raise WorkerError(
      f"a worker process of the walk ended with code {worker.wait()}, perhaps for want of memory. Choose "
      f"smaller parameters of the game, or try again with more free memory."
    ) from error
  if isinstance(answer, Exception):
    raise answer
  return answer


def modules_of(game: pyspiel.Game) -> list[str]:
  """The module whose import registers a game of Python's; none for OpenSpiel's own."""
  inner = game.get_parameters().get("game")
  found = modules_of(pyspiel.load_game(inner["name"])) if isinstance(inner, dict) else []
  return [*found, type(game).__module__]


def _exit_with(parent: int) -> None:
  """End this worker soon after the process that started it, which may have been killed."""
  while os.getppid() == parent:
    time.sleep(1)
  os._exit(1)


def answer_tasks(walk_from: Any, parent: int) -> None:
  """The work of a worker of process `parent`: pieces for starts, from its standard input to its output."""
  threading.Thread(target=_exit_with, args=(parent,), daemon=True).start()
  source, sink = sys.stdin.buffer, sys.stdout.buffer
  sys.stdout = sys.stderr  # a game that prints must not spoil a piece

  def send(answer: Any) -> None:
    pickle.dump(answer, sink, pickle.HIGHEST_PROTOCOL)
    sink.flush()

  name, modules, limits = pickle.load(source)
  try:
    for module in modules:
      importlib.import_module(module)
    game = pyspiel.load_game(name)
  except Exception as error:  # of the user's module
    send(NoWorkersError(f"{type(error).__name__}: {error}"))
    return
  send(None)
  while True:
    start = pickle.load(source)
    try:
      with Watch(game, limits, False, size=NOTHING) as watch:
        send(walk_from(game, start, watch))
    except TooLarge:
      send(NoWorkersError("a subtree is too large for a part of the memory"))
    except MemoryError:
      send(WorkerError("a worker process of the walk is out of memory."))
    except Exception:  # of the game: the caller repeats this subtree
      send(FaultAtError(list(start.path)))
