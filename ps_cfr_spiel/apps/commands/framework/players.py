"""Players by their words on the command line: bots, searches, agents and the policies in files."""

from __future__ import annotations

import dataclasses
import functools
import re
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeGuard

import numpy as np
import pyspiel
from absl import flags

import ps_cfr_spiel as ps
from ps_cfr_spiel.apps.commands.framework.command import flag_of
from ps_cfr_spiel.apps.commands.framework.flags import MOST_HISTORIES
from ps_cfr_spiel.apps.commands.framework.user_input import (
  AGENT,
  PRETRAINED,
  load_opponent,
  load_values,
  names_agent,
  names_search,
  refuse,
  values_of_search,
)
from ps_cfr_spiel.arguments import JSON
from ps_cfr_spiel.cards.poker import betting
from ps_cfr_spiel.loading import load_game
from ps_cfr_spiel.options import AGENTS, HoldemPolicyOptions, ParticleBotOptions
from ps_cfr_spiel.reports import waiting

if TYPE_CHECKING:
  from open_spiel.python import policy as openspiel_policy

HOLDEM = "holdem"
TRANSLATED = {(HOLDEM, HOLDEM), ("universal_poker", HOLDEM)}  # games of a policy and of its play
TEMPERATURE = 0.03  # of the search of an agent of train
# For messages: all by their names (a test compares them).
PLAYERS = (
  "random, search or search:FILE, in poker always_call, fold or all_in, in cheat naive or heuristic, in "
  "holdem and cheat agent or pretrained, in holdem agent:FILE"
)
# 0: no search
MOVE_SECONDS = dataclasses.replace(
  flag_of(ParticleBotOptions, "move_seconds"), default=1.0, least=0, most=1e6
)
PRESET = flag_of(HoldemPolicyOptions, "preset")


def make_opponent(
  game: pyspiel.Game,
  name: str,
  rng: np.random.RandomState,
  limit: int = MOST_HISTORIES.default,
  seconds: float = 0,
  preset: str = AGENTS[0],
  expansions: int | None = None,
) -> Callable[[int], pyspiel.Bot]:
  """A function that makes a bot for a seat, by its name in `bots_for`, `SEARCH`, or the file of its policy.

  A search or a file may enumerate at most `limit` histories; an agent of train searches for `seconds` a
  decision, one of hold'em at most so long a search, if they are not 0, by a preset; trees of search:FILE grow
  by `expansions`. ValueError for a bot or policy of another game.
  """
  bots = ps.matches.bots_for(game)
  if name in bots:
    return lambda seat: bots[name](seat, rng)
  if name in ps.matches.BOTS:
    games = ", ".join(ps.matches.POKER)
    raise ValueError(
      f"The {name} bot plays {games} only, not {game}; choose {', '.join(bots)} or a saved policy."
    )
  if names_search(name):
    known = values_of_search(name)
    return ps.matches.search_player(game, int(rng.randint(2**31)), limit, known, seconds or None, expansions)
  if names_agent(name) and game.get_type().short_name == HOLDEM:
    return agent_on(game, name, int(rng.randint(2**31)), limit, seconds, preset)
  return bots_of(game, policy_for(game, name, limit), name, rng, seconds)


def bots_of(
  game: pyspiel.Game, policy: openspiel_policy.Policy, name: str, rng: np.random.RandomState, seconds: float
) -> Callable[[int], pyspiel.Bot]:
  """A function that makes a bot for a seat by the policy of a file or word, which may search."""
  if searches(policy, name, seconds):
    options: dict[str, JSON] = {"seconds": seconds, "temperature": TEMPERATURE}
    return lambda seat: ps.matches.ParticleBot(game, seat, policy, seed=int(rng.randint(2**31)), **options)
  return lambda seat: ps.matches.PolicyBot(seat, rng, policy)


def searches(policy: object, name: str, seconds: float) -> TypeGuard[ps.KeyedPolicy]:
  """Whether a player searches: by a policy of train, if it has time, and is not `PRETRAINED`."""
  trained = isinstance(policy, ps.KeyedPolicy) and not ps.abstractions.has_clusters(policy)
  return seconds > 0 and name != PRETRAINED and trained


def agent_files(word: str) -> list[str]:
  """The files of an agent, blueprint first; ValueError if one has no name."""
  files = [PRETRAINED] if word == AGENT else word.partition(":")[2].split(",")
  if "" in files:
    raise ValueError(
      f"{word} lacks the name of a file; write {AGENT}:FILE, or {AGENT} for the package's own."
    )
  return files


def saved_player(word: str, limit: int, game: pyspiel.Game | None = None) -> ps.TreePolicy | ps.KeyedPolicy:
  """The policy in a file, or the package's for a `game`; ValueError with all players for no path."""
  if game is not None and word in (AGENT, PRETRAINED):
    return ps.matches.pretrained_policy(game)
  path = Path(word)
  if names_agent(word) and Path(file := agent_files(word)[0]).exists() and not path.exists():
    raise ValueError(f"{word} plays {HOLDEM}, not {game}; name {file} alone to play by its policy.")
  mistyped = re.split("[:,]", word)[0] in (AGENT, PRETRAINED) or (path.name == word and not path.suffix)
  if mistyped and not path.exists():
    raise ValueError(
      f"no such file or player: {word}; players are {PLAYERS}, or a file of solve, resolve or train."
    )
  return load_opponent(word, limit)


def check_preset(values: flags.FlagValues, game: pyspiel.Game, players: Sequence[str]) -> None:
  """ValueError for --preset without an agent of hold'em among the players."""
  if game.get_type().short_name != HOLDEM or not any(map(names_agent, players)):
    refuse(values, (PRESET.name,), "is for an agent of holdem")


def agent_on(
  game: pyspiel.Game, name: str, seed: int, limit: int, seconds: float = 0, preset: str = AGENTS[0]
) -> Callable[[int], pyspiel.Bot]:
  """A maker of agents that play hold'em from a blueprint, and with values search earlier streets too."""
  policy = _agent(str(game), name, limit, seconds, preset)
  return lambda seat: policy.bot(seat, seed)


@functools.lru_cache(maxsize=2)  # a default opponent is made before it is chosen
def _agent(text: str, name: str, limit: int, seconds: float, preset: str) -> ps.HoldemPolicy:
  """The policy of an agent for the game of a text."""
  game = load_game(text)
  blueprint = blueprint_of(name, limit, game)  # first, so that its error comes before that of the values
  _, *files = agent_files(name)
  values = _values_if_installed(game) if name == AGENT else [load_values(file, game) for file in files]
  if values and preset == AGENTS[0]:  # the turns of others take gigabytes
    _prepare(ps.HoldemPolicy(game, blueprint, values=values, preset=preset, iterations=2))
  return ps.HoldemPolicy(game, blueprint, values=values, preset=preset, seconds=seconds or None)


def _prepare(policy: ps.HoldemPolicy) -> None:
  """Search in some hand until the turn, so that the first decisions do not wait for compilation."""
  state = policy.game.new_initial_state()
  with waiting("Preparing searches"):
    for _ in range(6):  # calls and checks before the flop, on it and on the turn
      while state.is_chance_node():
        state.apply_action(state.legal_actions()[0])
      policy.for_hands_at(state)
      state.apply_action(betting.CALL)


def _values_if_installed(game: pyspiel.Game) -> ps.values.NetworkValues | None:
  """The values of the package; None without the extra `learn`, and then the turn is searched first."""
  try:
    return load_values(PRETRAINED, game)
  except ModuleNotFoundError as error:
    print(f"The agent searches from the turn on, not the flop: {error}", file=sys.stderr)
    return None


def blueprint_of(name: str, limit: int, game: pyspiel.Game | None = None) -> ps.TreePolicy | ps.KeyedPolicy:
  """The policy of a file, or the blueprint of an agent, without its values; see `saved_player`."""
  file = agent_files(name)[0] if names_agent(name) else name
  policy = saved_player(name if file == AGENT else file, limit, game)
  if file != name and (policy.game.get_type().short_name, HOLDEM) not in TRANSLATED:
    kinds = " or ".join(sorted(kind for kind, _ in TRANSLATED))
    why = f"an agent needs one for {kinds}; name such a file, or {file} alone to play by its policy"
    raise ValueError(f"{name}: {file} holds a policy for {policy.game}, and {why}.")
  return policy


def policy_for(game: pyspiel.Game, path: str, limit: int) -> openspiel_policy.Policy:
  """The policy in a file, by translation if for other bets of hold'em; ValueError if of another game."""
  policy = saved_player(path, limit, game)
  if str(policy.game) == str(game):
    return policy
  kinds = policy.game.get_type().short_name, game.get_type().short_name
  if kinds not in TRANSLATED:
    raise ValueError(f"{path} holds a policy for {policy.game}, not for {game}.")
  return ps.abstractions.WrappedPolicy(game, policy, ps.abstractions.Translation())
