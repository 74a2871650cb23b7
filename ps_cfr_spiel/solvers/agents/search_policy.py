"""The contract of policies that search, and the one bot that plays a policy, theirs and any other."""

import contextlib
import time
from collections.abc import Iterator

import numpy as np
import pyspiel
from open_spiel.python import policy as openspiel_policy

from ps_cfr_spiel.arguments import check_integer, check_player
from ps_cfr_spiel.policy import OpenSpielPolicy, answer_of, check_turn
from ps_cfr_spiel.reports import waiting
from ps_cfr_spiel.resolving.search import SearchSettings
from ps_cfr_spiel.resolving.subgames import GADGETS, Gadget

Random = np.random.Generator | np.random.RandomState


def gadget_name(given: Gadget) -> str:
  """The name of a gadget in `GADGETS`, or of its function."""
  representation = getattr(given.make, "__name__", repr(given.make))
  return next((name for name, known in GADGETS.items() if known == given), representation)


def describe(settings: SearchSettings) -> str:
  """The settings of searches, as text that begins after the name of the method."""
  s = settings
  ahead = "to the end" if s.lookahead is None else f"lookahead {s.lookahead}, then {s.value_function}"
  rule = type(s.rule).__name__
  known = "" if s.knowledge is None else f", knowledge {s.knowledge}{'' if s.keep else ', not kept'}"
  trembles = f", every action at least {s.tremble:g} / t" if s.tremble else ""
  gadget = gadget_name(s.gadget)
  return f"{known}, {s.iterations:,} iterations of {rule}{trembles}, {gadget}, {ahead}, {s.dtype}"


class SearchPolicy(openspiel_policy.Policy):
  """A policy of two players that has no table of answers: it searches when it is asked.

  A subclass has `action_probabilities`, and puts each search into `with self.searching():`. The answer at a
  state follows from its player's knowledge there alone, not from earlier questions; a subclass that keeps
  something for a match forgets it in `restart`.
  """

  def __init__(self, game: pyspiel.Game):
    super().__init__(game, [0, 1])
    self.seconds: list[float] = []  #: duration of each search so far, compilation included

  @contextlib.contextmanager
  def searching(self, progress: bool | None = None) -> Iterator[None]:
    """Time a search, with a notice if it takes long; `progress` as of `reports.waiting`."""
    began = time.perf_counter()
    with waiting("Searching", progress):
      yield
    self.seconds.append(time.perf_counter() - began)

  def restart(self) -> None:
    """Begin a new match: forget all that is kept for one, by default nothing."""

  def bot(self, player: int, seed: int | None = None) -> "PolicyBot":
    """A bot that searches at each decision; `seed` is of its choice among actions, ValueError if wrong."""
    seed = None if seed is None else check_integer("seed", seed, 0)
    return PolicyBot(check_player(player), seed, self)


class PolicyBot(pyspiel.Bot):
  """The player of a seat who draws moves from a policy."""

  def __init__(
    self,
    player: int,
    random: Random | int | None,
    policy: OpenSpielPolicy,
  ):
    """A bot without games yet.

    Args:
      player: its seat.
      random: of its choice among actions: random numbers, which several bots may share; or a seed, None for
        one of its own.
      policy: any OpenSpiel policy.
    """
    super().__init__()
    self.player = player  #: its seat
    self.policy = policy  #: as given
    self.seconds: list[float] = []  #: duration of each of its decisions so far
    given = isinstance(random, np.random.Generator | np.random.RandomState)
    self._random = random if given else np.random.default_rng(random)

  def probabilities(self, state: pyspiel.State) -> dict[int, float]:
    """Probability of every legal action at a state in which it is the player's turn."""
    return answer_of(self.policy, state, self.player)

  def provides_policy(self) -> bool:
    return True

  def get_policy(self, state: pyspiel.State) -> list[tuple[int, float]]:
    """(action, probability) for every legal action; ValueError if it is not the player's turn."""
    check_turn(state, self.player)
    return list(self.probabilities(state).items())

  def step_with_policy(self, state: pyspiel.State) -> tuple[list[tuple[int, float]], int]:
    began = time.perf_counter()
    policy = self.get_policy(state)
    self.seconds.append(time.perf_counter() - began)
    actions, probabilities = zip(*policy, strict=True)
    return policy, int(self._random.choice(actions, p=np.array(probabilities) / sum(probabilities)))

  def step(self, state: pyspiel.State) -> int:
    return self.step_with_policy(state)[1]

  def restart(self) -> None:
    """A new match begins; see `SearchPolicy.restart`."""
    if isinstance(self.policy, SearchPolicy):
      self.policy.restart()

  def restart_at(self, state: pyspiel.State) -> None:
    """A new match begins at a state; the next decision needs nothing but the state it is asked about."""
    self.restart()
