"""What may take long says what it does before it begins; how notices look is tested in tests/histories."""

import importlib

import pyspiel
import pytest

import ps_cfr_spiel
from ps_cfr_spiel import batches, evaluation, matches
from ps_cfr_spiel.abstractions import abstract, abstraction_loss

GAME = pyspiel.load_game("kuhn_poker")


class SaidError(Exception):
  """Raised in place of a notice: nothing has been computed by then."""


def everywhere(use):
  return use(ps_cfr_spiel.OnlineOutcomeSampling(GAME, iterations=2))


def uniform():
  return ps_cfr_spiel.PSCFRSolver(GAME).average_policy()


@pytest.mark.parametrize(
  ("module", "notice", "wait"),
  [
    (
      "evaluation.local_best_response",
      "waiting",
      lambda: matches.local_best_response(GAME, uniform()),
    ),
    (
      "evaluation.match_results",
      "waiting",
      lambda: matches.evaluate_match(GAME, [matches.Played(0, (0, 1, 0, 0))], uniform()),
    ),
    (
      "evaluation.match_play",
      "progress_bar",
      lambda: matches.play_games(GAME, matches.player("random"), matches.player("random"), 10),
    ),
    (
      "evaluation.sampling_runs",
      "waiting",
      lambda: evaluation.sampling_runs(GAME, seeds=[0], iterations=2),
    ),
    ("solvers.agents.search_policy", "waiting", lambda: everywhere(lambda oos: oos.tabularise())),
    ("solvers.agents.search_policy", "waiting", lambda: everywhere(lambda oos: oos.at(0, "0"))),
    (
      "batches.batch_run",
      "waiting",
      lambda: batches.solve_batch([{"board": "Ks7d2c5h9s"}], iterations=1),
    ),
    (
      "abstraction.loss",
      "waiting",
      lambda: abstraction_loss(GAME, uniform(), abstract(GAME, "initial")),
    ),
  ],
)
def test_who_waits_is_told(module, notice, wait, monkeypatch):
  def say(*_, **options):
    raise SaidError

  monkeypatch.setattr(importlib.import_module(f"ps_cfr_spiel.{module}"), notice, say)
  with pytest.raises(SaidError):
    wait()
