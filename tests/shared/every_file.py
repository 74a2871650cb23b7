"""The kinds of file that the package writes, one from each maker; what reads them and writes them again."""

import functools
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyspiel
import pytest

import ps_cfr_spiel
from ps_cfr_spiel import learning
from ps_cfr_spiel.apps.commands import show
from ps_cfr_spiel.arguments import MOST_ITERATIONS
from ps_cfr_spiel.hierarchical import card_game, load_abstraction, make_abstraction, save_abstraction
from ps_cfr_spiel.memory import LimitReachedError

KUHN, CHEAT = "kuhn_poker", "cheat(suits=2,ranks=2,hand_size=1,max_turns=6)"
SOLVERS = (
  ("PSCFRSolver", KUHN, {}),
  ("PSCFRSolver", KUHN, {"rule": "pdcfr+", "alternating": False, "dtype": "float64"}),
  ("VRMCCFRSolver", KUHN, {}),
  ("ExternalSamplingSolver", KUHN, {}),
  ("CFRPlusIRASolver", KUHN, {}),
  ("FPIRASolver", KUHN, {}),
  ("FictitiousPlaySolver", KUHN, {}),
  ("KeyedMCCFRSolver", KUHN, {"batch": 2, "cells": 100}),
  ("KeyedMCCFRSolver", CHEAT, {"batch": 2}),
  ("KeyedExternalSolver", CHEAT, {}),
  ("HierarchicalMCCFRSolver", "leduc_poker", {"clusters": 2, "buckets": 2, "batch": 2}),
)

KINDS = (
  *(f"{name} {number}" for number, (name, _, _) in enumerate(SOLVERS)),
  "run as a policy",
  "policy",
  "policy in bytes",
  "situations",
  "values",
  "abstraction",
  "batch",
)

ONE_EACH = KINDS[0], *KINDS[len(SOLVERS) :]


class Kind(NamedTuple):
  """A kind of file.

  Attributes:
    content: of a sound one.
    use: loads what is at a path and looks whether it is sound; ValueError if the file is refused.
    copy: loads what is at a path and saves it at another one; None for a kind that only batches write.
    clusters: names and contents of the files in the folder beside it.
  """

  content: bytes
  use: Callable[[Path], object]
  copy: Callable[[Path, Path], object] | None = None
  clusters: tuple[tuple[str, bytes], ...] = ()

  def write(self, path: Path) -> Path:
    """Put the sound file at a path, with the files beside it."""
    path.write_bytes(self.content)
    for name, beside in self.clusters:
      (file := path.with_suffix(".clusters") / name).parent.mkdir(exist_ok=True)
      file.write_bytes(beside)
    return path


def copy_run(path, other):
  ps_cfr_spiel.load_solver(path).save(other)


def copy_policy(path, other):
  ps_cfr_spiel.load_policy(path).save(other)


def copy_situations(path, other):
  learning.Examples.load(path).save(other)


def copy_values(path, other):
  learning.NetworkValues.load(path).save(other)


def copy_abstraction(path, other):
  save_abstraction(other, load_abstraction(path, dealt()))


def use_policy(path):
  """A policy, or a run's average: all its probabilities are sound."""
  policy = ps_cfr_spiel.load_policy(path, limit=10_000)
  if isinstance(policy, ps_cfr_spiel.KeyedPolicy):
    sound(policy)
    return
  for block in [block for blocks in policy.strategies for block in blocks]:
    assert (block >= 0).all()
    np.testing.assert_allclose(block.sum(0), 1)
  assert show.origin(policy)


def use_run(path):
  """A run goes on, or says why it cannot; what it plays is sound, before and after."""
  solver = ps_cfr_spiel.load_solver(path)
  sound(solver.average_policy())
  if solver.iteration == MOST_ITERATIONS:
    return
  try:
    solver.run(1)
  except (FloatingPointError, LimitReachedError):  # of its dtype, and its own
    return
  sound(solver.average_policy())


def sound(policy):
  for state in states_of(str(policy.game)):
    found = policy.action_probabilities(state)
    assert list(found) == state.legal_actions() and min(found.values()) >= 0
    assert sum(found.values()) == pytest.approx(1, abs=1e-5)


@functools.cache
def states_of(game):
  """Some states of a game where players decide, its first ones by uniform play."""
  random, state, found = np.random.default_rng(1), pyspiel.load_game(game).new_initial_state(), []
  while not state.is_terminal():
    if not state.is_chance_node():
      found.append(state.clone())
    moves = [a for a, p in state.chance_outcomes() if p] if state.is_chance_node() else state.legal_actions()
    state.apply_action(int(random.choice(moves)))
  return found


def use_situations(path):
  """Situations can be learned from."""
  found = learning.Examples.load(path)
  states, place = found.features, found.inputs["place"]
  assert ((place >= 0) & (place < len(states.public_states))).all()
  for own, values, possible in zip(found.ranges, found.values, states.possible, strict=True):
    assert (own >= 0).all() and not own[~possible[place]].any()
    np.testing.assert_allclose(own.sum(1), 1, atol=1e-3)
    assert np.isfinite(values).all()


def use_values(path):
  """A network answers."""
  values = learning.NetworkValues.load(path)
  assert str(values.card) and np.isfinite(values.losses).all()


def use_batch(path):
  """A chunk of solutions is read."""
  folder = path.parent / "batch"
  folder.mkdir(exist_ok=True)
  (folder / "000000.safetensors").write_bytes(path.read_bytes())
  solutions = batch(folder)
  for number, solution in enumerate(solutions):
    assert np.isfinite(solution.exploitability) and len(solution.values) == 2
    sound(solutions.policy(number))


def use_abstraction(path):
  """An abstraction has a bucket for every hand, and no more buckets than hands."""
  game = dealt()
  found = load_abstraction(path, game)
  for table, classes in zip(found.buckets, game.deal.hand_classes, strict=True):
    assert ((table >= 0) == (classes >= 0)).all() and table.max() < table.size


@functools.cache
def dealt():
  return card_game(pyspiel.load_game("leduc_poker"))


def batch(folder):
  """Two solved games, or those that the folder has."""
  return ps_cfr_spiel.batches.solve_batch([KUHN] * 2, iterations=2, output=folder, progress=False)


@functools.cache
def made(kind) -> Kind:
  """A file of a kind that the package writes."""
  with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "file.safetensors"
    if kind in KINDS[: len(SOLVERS)]:
      name, game, options = SOLVERS[KINDS.index(kind)]
      solver = getattr(ps_cfr_spiel.solvers, name)(pyspiel.load_game(game), **options)
      solver.run(5)
      solver.save(path)
      clusters = tuple((file.name, file.read_bytes()) for file in path.parent.glob("*.clusters/*"))
      return Kind(path.read_bytes(), use_run, copy_run, clusters)
    if kind == "run as a policy":
      return made(KINDS[0])._replace(use=use_policy, copy=None)
    if kind == "policy":
      path.write_bytes(made(KINDS[0]).content)
      ps_cfr_spiel.load_policy(path).save(path)
      return Kind(path.read_bytes(), use_policy, copy_policy)
    if kind == "policy in bytes":
      name, game, options = SOLVERS[-1]
      solver = getattr(ps_cfr_spiel.solvers, name)(pyspiel.load_game(game), **options)
      solver.run(2, progress=False)
      solver.average_policy().save(path)
      return Kind(path.read_bytes(), use_policy, copy_policy)
    if kind == "batch":
      batch(Path(folder) / "batch")
      (chunk,) = (Path(folder) / "batch").iterdir()
      return Kind(chunk.read_bytes(), use_batch)
    if kind == "abstraction":
      save_abstraction(path, make_abstraction(dealt(), clusters=2, buckets=2))
      return Kind(path.read_bytes(), use_abstraction, copy_abstraction)
    if kind == "situations":
      learning.generate_examples(pyspiel.load_game(KUHN), 4, iterations=5, progress=False).save(path)
      return Kind(path.read_bytes(), use_situations, copy_situations)
    learning.pretrained("leduc_poker").save(path)
    return Kind(path.read_bytes(), use_values, copy_values)
