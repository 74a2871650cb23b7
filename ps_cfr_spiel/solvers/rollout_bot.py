"""A search for games that are played, not enumerated: particles, and rollouts of a policy from each of them.

Bayes' rule and the policy give, at a decision, the probabilities of hidden cards or moves. The bot tries
all actions by plays of the policy to the end. With temperature 0 it takes the best (policy improvement by
rollouts: Tesauro and Galperin 1996); against the policy itself this is a sampled local best response (Lisý
and Bowling 2017), and as predictable as one. With a temperature it plays each action with the policy's
probability times exp(value / temperature): a step of mirror descent from the policy, taken at the decision
(Sokota et al. 2024, update-equivalence). For all values, the strategy stays within 2 u / temperature of
the policy in relative entropy, u the largest utility: its safety is that of a small step, not of a gadget.
"""

import warnings
from typing import Any

import numpy as np
import pyspiel

from ps_cfr_spiel.arguments import check_count, check_integer, check_number, declared
from ps_cfr_spiel.simulated import OpenSpielStates, Particles, halving
from ps_cfr_spiel.solvers.simulated_policy import SimulatedPolicy
from ps_cfr_spiel.solvers.solving_bot import SolvingBot

ROLLOUTS, PARTICLES = 4000, 2000


class RolloutBot(SolvingBot):
  """A bot that searches by particles and rollouts of a policy."""

  def __init__(
    self,
    game: pyspiel.Game,
    policy: Any,
    player: int,
    rollouts: int | None = None,
    seconds: float | None = None,
    particles: int = PARTICLES,
    tremble: float = 0.01,
    seed: int = 0,
    temperature: float = 0.0,
  ):
    """Make a bot; nothing is searched yet. ValueError for a wrong argument, or a policy of another game.

    Args:
      game: any whose players move one after the other.
      policy: of all players: an OpenSpiel policy that answers at infostates.
      player: its seat.
      rollouts: plays of a decision; by default 4,000, or by the time alone.
      seconds: the time of a decision's rollouts, above 0; particles come on top.
      particles: the most hidden states, at least 1.
      tremble: share of uniform play that others are expected to mix into the policy, so that no surprise
        rules out all hidden states; from 0 to 1.
      seed: of all random numbers.
      temperature: in units of utility, at least 0: the difference of values for which the ratio of two
        actions' probabilities changes by e; 0 plays the best action alone.
    """
    super().__init__(player, check_integer("seed", seed, 0), policy)
    if not 0 <= player < game.num_players():
      raise ValueError(f"player={player}: {game} has seats 0 to {game.num_players() - 1}.")
    if seconds is not None and not check_number("seconds", seconds, 0, np.inf) > 0:
      raise ValueError("seconds must be above 0, got 0; give rollouts= for a limit without a clock.")
    if rollouts is None and seconds is None:
      rollouts = ROLLOUTS
    self.rollouts = None if rollouts is None else check_count("rollouts", rollouts, 1)
    self.limit = seconds
    tremble = check_number("tremble", tremble, 0, 1)
    form, most = hidden_states(game, policy, tremble), check_count("particles", particles, 1)
    self.particles = Particles(form, player, most, seed)  #: the hidden states that it holds possible
    self.temperature = check_number("temperature", temperature, 0, np.inf)
    self.blind = 0  #: the number of decisions without a particle, which the policy alone made

  def probabilities(self, state: pyspiel.State) -> dict[int, float]:
    """The strategy of the search, that of the policy where no hidden state fits."""
    actions = state.legal_actions()
    if len(actions) == 1:
      return {actions[0]: 1.0}
    self.particles.follow(state)
    if not len(self.particles):
      self.blind += 1
      warnings.warn(
        f"No hidden state fits the play so far, by the policy of the others; player {self.player} plays the "
        "policy without a search. A larger tremble or more particles keep some.",
        stacklevel=2,
      )
      return self.policy.action_probabilities(state)
    return self.search(state, actions)

  def search(self, state: pyspiel.State, actions: list[int]) -> dict[int, float]:
    """`probabilities`, where some hidden state fits."""
    if not self.temperature:
      values, left = self.values(state, actions)
      return {a: float(n == np.argmax(np.where(left, values, -np.inf))) for n, a in enumerate(actions)}
    given: Any = self.policy.action_probabilities(state)  # pyright: ignore[reportOptionalMemberAccess]
    with np.errstate(divide="ignore"):
      prior = self.temperature * np.log([given.get(action, 0.0) for action in actions])
    worth = self.values(state, actions, prior)[0] + prior
    weights = np.exp((worth - worth.max()) / self.temperature)
    return dict(zip(actions, (weights / weights.sum()).tolist(), strict=True))

  def values(
    self, state: pyspiel.State, actions: list[int], bonus: np.ndarray | float = 0.0
  ) -> tuple[np.ndarray, np.ndarray]:
    """Estimated values of actions to the player; bool[A], whether one did not fall behind (`halving`)."""
    form, random, legal = self.particles.form, self._random, np.array(actions)

    def returns(tried: np.ndarray, each: int) -> np.ndarray:
      hidden = self.particles.hidden[np.tile(self.particles.draw(each, random), len(tried))]
      chosen = np.repeat(legal[tried], each)
      return form.rollouts(state, self.player, hidden, chosen, random).reshape(len(tried), each)

    return halving(returns, len(actions), self.rollouts, self.limit, bonus)


def hidden_states(game: pyspiel.Game, policy: Any, tremble: float) -> Any:
  """The hidden states of a game under a policy: its own arrays where it has them, else OpenSpiel's states."""
  own = getattr(policy, "game", game)
  if str(own) != str(game):
    raise ValueError(f"The policy is for {own}, not for {game}.")
  if isinstance(policy, SimulatedPolicy) and declared(policy.form, "hidden_states") is not None:
    form: Any = policy.form
    if not form.why_unavailable():
      return form.hidden_states(policy.table, tremble)
  return OpenSpielStates(game, policy, tremble)
