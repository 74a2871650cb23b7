"""Every solver's numbers to the last bit: what a change that should change nothing must leave as it is.

  python benchmarks/fingerprints.py > before.txt   # on the old code
  python benchmarks/fingerprints.py > after.txt    # on the new: diff before.txt after.txt

Runs every solver of the package on Kuhn, Leduc, a small river and Glasses, and prints for each run its
exploitability, its value or the root's probabilities, and a hash of the bytes of its whole average strategy.
The last bits depend on the processor and on JAX's version: compare two runs of one machine.
"""

import argparse
import hashlib
from collections.abc import Callable, Iterator

import numpy as np
import pyspiel

import ps_cfr_spiel

GAMES = {
  "kuhn": "kuhn_poker",
  "leduc": "leduc_poker",
  "river": "river_subgame(pot=10,stack=20,bets=1 a,ranges=AA KK QJs;QQ AKs T9s)",
  "glasses": "glasses",
}
ITERATIONS = 30
ENUMERATED = ("kuhn", "leduc")  # small enough for every method


def digest(policy: ps_cfr_spiel.TreePolicy) -> str:
  """The hash of all probabilities of a policy."""
  return hashlib.sha256(b"".join(np.asarray(x).tobytes() for x in _arrays(policy))).hexdigest()[:16]


def _arrays(policy) -> Iterator[np.ndarray]:
  for blocks in policy.strategies:
    yield from blocks


def iterated(make: Callable, game: pyspiel.Game) -> str:
  """A solver after `ITERATIONS`."""
  solver = make(game)
  solver.run(ITERATIONS)
  return f"{solver.exploitability()!r} {digest(solver.average_policy())} {digest(solver.current_policy())}"


def searched(make: Callable, game: pyspiel.Game) -> str:
  """A search that has been to every public state."""
  policy = make(game).tabularise()
  return f"{ps_cfr_spiel.exploitability(game, policy)!r} {digest(policy)}"


def online(game: pyspiel.Game) -> str:
  """What online outcome sampling plays at the first decision of player 0."""
  state = game.new_initial_state()
  while state.current_player() != 0:
    state.apply_action(state.legal_actions()[0])
  method = ps_cfr_spiel.OnlineOutcomeSampling(game, 500, seed=1)
  return repr(method.action_probabilities(state))


def runs(name: str) -> Iterator[tuple[str, Callable[[pyspiel.Game], str]]]:
  """The runs of one game: name, and what prints it."""
  for rule in ps_cfr_spiel.rules.RULES:
    for dtype, alternating in (("float32", True), ("float64", False)):
      yield (
        f"PSCFRSolver {rule} {dtype} {'alternating' if alternating else 'simultaneous'}",
        lambda game, r=rule, d=dtype, a=alternating: iterated(
          lambda g: ps_cfr_spiel.PSCFRSolver(g, r, dtype=d, alternating=a), game
        ),
      )
  for kind in ("VRMCCFRSolver", "OutcomeSamplingSolver", "ExternalSamplingSolver"):
    yield kind, lambda game, k=kind: iterated(lambda g: getattr(ps_cfr_spiel, k)(g, seed=1), game)
  if name in ("kuhn", "leduc", "river"):
    yield (
      "VRMCCFRSolver public",
      lambda game: iterated(
        lambda g: ps_cfr_spiel.VRMCCFRSolver(g, trajectories="public", rule="rm+", seed=1), game
      ),
    )
  for gadget in ("unsafe", "cfr-d", "max-margin"):
    yield (
      f"ContinualResolving {gadget}",
      lambda game, k=gadget: searched(
        lambda g: ps_cfr_spiel.ContinualResolving(g, ITERATIONS, gadget=k), game
      ),
    )
  if name in ENUMERATED:
    yield (
      "ContinualResolving lookahead 1",
      lambda game: searched(
        lambda g: ps_cfr_spiel.ContinualResolving(
          g, ITERATIONS, lookahead=1, value_function=ps_cfr_spiel.values.CFRValues(20)
        ),
        game,
      ),
    )
    yield "OnlineOutcomeSampling", online


def main() -> None:
  """Prints a line for every game and run."""
  argparse.ArgumentParser(description=__doc__.splitlines()[0]).parse_args()
  for name, text in GAMES.items():
    game = pyspiel.load_game(text)
    for what, run in runs(name):
      print(f"{name:8} {what:48} {run(game)}", flush=True)


if __name__ == "__main__":
  main()
