"""The command `ps-cfr-spiel match`: bots, saved policies and programs on other machines play each other."""

from __future__ import annotations

import contextlib
import dataclasses
import math
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyspiel
from absl import flags

import ps_cfr_spiel as ps
from ps_cfr_spiel import storage
from ps_cfr_spiel.apps.commands.framework.command import INTERRUPTED, INTERRUPTION, Command, Flag, flag_of
from ps_cfr_spiel.apps.commands.framework.flags import (
  EXPANSIONS,
  JSON,
  MOST_HISTORIES,
  QUIET,
  progress_of,
  say,
)
from ps_cfr_spiel.apps.commands.framework.players import (
  MOVE_SECONDS,
  PLAYERS,
  PRESET,
  agent_files,
  blueprint_of,
  bots_of,
  check_preset,
  make_opponent,
  policy_for,
  searches,
)
from ps_cfr_spiel.apps.commands.framework.user_input import (
  PRETRAINED,
  SEARCH,
  check_expansions,
  given,
  in_words,
  load_game,
  names_agent,
  names_search,
  refuse,
  values_of_search,
  writable,
)
from ps_cfr_spiel.apps.commands.play import FAILED
from ps_cfr_spiel.cards.poker import check_unraked, describe
from ps_cfr_spiel.loading import sequential
from ps_cfr_spiel.options import MatchOptions, MatchResultOptions
from ps_cfr_spiel.reports import progress_bar

ACPC, SLUMBOT = "acpc", "slumbot"
LBR = "lbr"
OF_AGENT = ("imaginary", "aivat")  # estimates by the probabilities of A
DEFAULT_GAME = "holdem(bets=fullgame)"
POKER = "holdem"

# fmt: off
FLAGS = (
  flag_of(MatchOptions, "hands"),
  Flag("game", None,
    f"The game (default: that of the first file, or {DEFAULT_GAME}). In holdem a policy for other bets, also "
    "one for universal_poker, plays by translation."),
  dataclasses.replace(flag_of(MatchOptions, "mirrored"), default=True),
  flag_of(MatchResultOptions, "method"),
  Flag("phh", None, "File for the hands of holdem, in the PHH format (.phhs).", value="FILE"),
  flag_of(MatchOptions, "seed"),
  dataclasses.replace(MOVE_SECONDS, default=0.0),
  EXPANSIONS,
  PRESET,
  MOST_HISTORIES,
  QUIET,
  JSON,
)
# fmt: on


class Remote(NamedTuple):
  """A player elsewhere."""

  kind: str  #: `ACPC` or `SLUMBOT`
  host: str  #: of a server; "" for a program that comes to a port of ours, and for Slumbot its URL
  port: int = 0  #: of either

  @property
  def serves(self) -> bool:
    """Whether it deals itself."""
    return self.kind == SLUMBOT or bool(self.host)


def _run(values: flags.FlagValues, words: Sequence[str]) -> int | None:
  if len(words) != 2:
    raise ValueError(
      f"match needs two players, got {', '.join(words) or 'none'}; name two, such as always_call and "
      "runs/holdem/run.safetensors, and the game by --game."
    )
  players = [remote(word) or word for word in words]
  game = _game(values, players)
  check_preset(values, game, words)
  check_expansions(values, words)
  if any(isinstance(player, Remote) for player in players) and game.get_type().short_name != POKER:
    raise ValueError(f"acpc and slumbot play {POKER}, not {game}; leave out --game.")
  file = writable("phh", values.phh, "match.phhs") if values.phh else None
  if file and game.get_type().short_name != POKER:
    raise ValueError(f"--phh is for {POKER}, not for {game}.")
  if file:
    check_unraked(game, "records of hands (--phh)")
    ps.protocols.check_pokerkit()
    storage.check_no_arrays(file)
  first, second = players
  if words[0].split(":")[0] == LBR:
    lines, facts, hands = *_response(values, game, words), []
  elif isinstance(first, Remote) and first.serves:
    raise ValueError(f"{words[0]} deals itself; name it second.")
  elif isinstance(second, Remote) and second.serves:
    lines, facts, hands = _elsewhere(values, game, words, second)
  else:
    lines, facts, hands = _here(values, game, words, players)
  if file:
    ps.protocols.write_hands(file, game, hands, (words[0], words[1]))
    lines["saved"] = facts["saved"] = str(file)
  say(values, {"game": str(game), "players": list(words), **facts}, {"game": describe(str(game)), **lines})
  if facts.get("failed") == INTERRUPTION:
    return INTERRUPTED
  return FAILED if "failed" in facts else 0


def remote(word: str) -> Remote | None:
  """The player elsewhere that a word names, None for another word; ValueError for one that is mistaken."""
  kind, _, rest = word.partition(":")
  if kind == SLUMBOT:
    return Remote(SLUMBOT, rest or ps.protocols.SLUMBOT)
  if kind != ACPC:
    return None
  host, _, port = rest.rpartition(":")
  if not port.isdecimal() or not 0 < int(port) < 2**16:
    raise ValueError(
      f"{word}: expected acpc:HOST:PORT, a server, or acpc:PORT, for a program that connects to this machine."
    )
  return Remote(ACPC, host, int(port))


def _game(values: flags.FlagValues, players: Sequence[str | Remote]) -> pyspiel.Game:
  if values.game is not None:
    return sequential(load_game([values.game]))
  if not any(isinstance(player, Remote) for player in players):
    for player in players:
      if names_search(str(player)) and (known := values_of_search(str(player))) is not None:
        return sequential(load_game([known.card["game"]]))
      named = player in (*ps.matches.BOTS, SEARCH) or _is_packaged(str(player))
      if not named and str(player).split(":")[0] != LBR:
        return blueprint_of(str(player), values.limit).game
  return load_game([DEFAULT_GAME])


def _is_packaged(word: str) -> bool:
  """Whether a word names a policy, or an agent with a blueprint, that comes with the package."""
  return (agent_files(word)[0] if names_agent(word) else word) == PRETRAINED


def _player(values: flags.FlagValues, game: pyspiel.Game, who: str, seed: int) -> tuple[Any, Any]:
  """A player of this process, and its policy if that is known."""
  from open_spiel.python.policy import UniformRandomPolicy  # help does without

  rng = np.random.RandomState(seed)
  if names_search(who):
    expansions = values.expansions if ":" in who else None
    return make_opponent(game, who, rng, values.limit, values.move_seconds, expansions=expansions), None
  if who in (*ps.matches.BOTS, *ps.matches.bots_for(game)):
    known = {"random": UniformRandomPolicy(game)}
    known |= {habit: ps.matches.Habit(habit) for habit in ps.matches.HABITS}
    return make_opponent(game, who, rng, values.limit), known.get(who)
  if names_agent(who) and game.get_type().short_name == POKER:
    make = make_opponent(game, who, rng, values.limit, values.move_seconds, values.preset)
    return make, make(0).policy
  policy = policy_for(game, who, values.limit)
  maker = bots_of(game, policy, who, rng, values.move_seconds)
  return maker, None if searches(policy, who, values.move_seconds) else policy


def _here(values: flags.FlagValues, game: pyspiel.Game, words: Sequence[str], players: Sequence[Any]) -> Any:
  seats: list[Any] = []
  policy, other = None, None
  with contextlib.ExitStack() as stack:
    for number, player in enumerate(players):
      if isinstance(player, Remote):
        seat = stack.enter_context(contextlib.closing(ps.protocols.Seat(player.port, "")))
        seats.append(seat.player)
        if not (values.quiet or values.json):
          print(f"Waiting for {words[number]} at port {seat.port} of all interfaces.", file=sys.stderr)
      else:
        made, known = _player(values, game, player, values.seed + number)
        seats.append(made)
        policy, other = (known, other) if number == 0 else (policy, known)
    method = values.method or _usual_method(game, policy)
    if method in OF_AGENT and policy is None:
      raise ValueError(f"--method={method} needs the probabilities of {words[0]}; choose chips or mivat.")
    poker = game.get_type().short_name == POKER
    agent = policy if method in OF_AGENT or not poker else None
    opponent = other if method == "aivat" and poker else None
    estimate = ps.matches.MatchEstimate(game, agent, method=method, opponent=opponent)
    options = MatchOptions(games=values.hands, seed=values.seed, mirrored=values.mirrored)
    played = ps.matches.each_game(game, seats[0], seats[1], options)
    records, failure = _until_the_end(values, played, values.hands, estimate.add)
  hands = [ps.protocols.hand_of(game, record) for record in records] if poker else []
  chips = ps.matches.evaluate_match(game, records, method="chips")
  return *_report(game, words[0], chips, estimate.result(), failure), hands


def _usual_method(game: pyspiel.Game, policy: object) -> str:
  if game.get_type().short_name != POKER:
    return "chips"
  return "mivat" if policy is None else "aivat"


def _response(values: flags.FlagValues, game: pyspiel.Game, words: Sequence[str]) -> Any:
  """The gain of a local best response to B."""
  refuse(values, ("method", "mirrored", "phh"), f"is not for {words[0]}, which is credited with its mean win")
  there = remote(words[1]) or words[1].split(":")[0] == LBR
  policy = None if there else _player(values, game, words[1], values.seed)[1]
  if policy is None or game.get_type().short_name != POKER:
    raise ValueError(
      f"{words[0]} plays {POKER} against a player with known probabilities, not {words[1]}; name a file."
    )
  _, colon, actions = words[0].partition(":")
  if colon and not actions.strip():
    raise ValueError(f"{words[0]} names no actions; write lbr for all, or lbr:ACTIONS, such as lbr:c/fcpa.")
  options = {"hands": values.hands, "seed": values.seed, "progress": progress_of(values)}
  response = ps.matches.local_best_response(game, policy, actions or None, **options)
  unit = 1000 / ps.protocols.big_blind(game)
  mean, error = unit * response.mean, unit * response.error
  facts = {"hands": values.hands, "mbb": mean, "mbb_standard_error": error}
  return {words[0]: f"{mean:,.0f} ± {1.96 * error:,.0f} mbb a hand (95% interval)"}, facts


def _elsewhere(values: flags.FlagValues, game: pyspiel.Game, words: Sequence[str], server: Remote) -> Any:
  refuse(values, ("method", "mirrored"), f"is for matches dealt here, not by {words[1]}")
  player, _ = _player(values, game, words[0], values.seed)
  if server.kind == SLUMBOT:
    played = ps.protocols.play_slumbot(player, game, values.hands, server.host)
    hands, failure = _until_the_end(values, played, values.hands)
  else:
    if given(values, ["hands"]):
      raise ValueError(f"--hands: {words[1]} decides the number of hands; leave it out.")
    played = ps.protocols.join(server.host, server.port, player, game)
    hands, failure = _until_the_end(values, played, None)
  if not hands:
    raise ValueError(f"{words[1]} dealt no hand; check its address.")
  estimate = ps.protocols.result(hands)
  return *_report(game, words[0], estimate, estimate, failure), hands


def _until_the_end(
  values: flags.FlagValues,
  played: Iterator[Any],
  total: int | None,
  evaluate: Callable[[Any], None] = lambda _: None,
) -> tuple[list[Any], str | None]:
  """All hands that are played, and what ended them early if anything failed, such as a bot or a connection.

  Each is evaluated right after it. Ctrl-C ends them too. Without a hand the error is raised.
  """
  hands: list[Any] = []
  try:
    for hand in progress_bar(
      progress_of(values), iterable=played, total=total, desc="Playing", unit=" hands"
    ):
      evaluate(hand)
      hands.append(hand)
  except KeyboardInterrupt:
    if not hands:
      raise
    print(f"\nInterrupted after {len(hands):,} hands.", file=sys.stderr)
    return hands, INTERRUPTION
  except Exception as error:  # a player may raise anything
    if not hands:
      raise
    failure = in_words(error)
    print(f"\nFailed after {len(hands):,} hands: {failure}", file=sys.stderr)
    return hands, failure
  return hands, None


def _report(
  game: pyspiel.Game,
  name: str,
  chips: ps.matches.MatchResult,
  estimate: ps.matches.MatchResult,
  failure: str | None,
) -> tuple[dict[str, Any], dict[str, Any]]:
  """The result for people and for programs; `estimate` is the more exact one."""
  big = ps.protocols.big_blind(game) if game.get_type().short_name == POKER else None
  facts: dict[str, Any] = {"hands": chips.score.games, **({"failed": failure} if failure else {})}
  lines: dict[str, Any] = {name: chips.score}
  for key, result in {"chips": chips, estimate.method: estimate}.items():
    error = None if math.isnan(result.standard_error) else result.standard_error  # of one deal
    facts[key] = {"mean": result.mean, "standard_error": error}
    lines[key] = result.interval("a hand")
    if big:
      unit = 1000 / big
      facts[key] |= {"mbb": unit * result.mean, "mbb_standard_error": error and unit * error}
      lines[key] = result.interval("mbb a hand", ",.0f", ",.0f", unit)
  return lines, facts


COMMAND = Command(
  name="match",
  arguments="A B",
  summary="Let two players play a match",
  text="Prints the gain of A, which has each seat in turn; B has the other, or all others where more play. "
  f"A player is the file of a policy, a bot of the game, or {PLAYERS}. "
  "agent:FILE searches from the turn on, with a blueprint from the "
  "file; agent:FILE,VALUES searches flops too, by values of turns: a file of learn, or pretrained; "
  "agent:FILE,FLOPS,VALUES searches before the flop too, by values of flops. agent alone has the blueprint "
  "and values of the package; in cheat it searches with --move_seconds only. pretrained never searches. "
  "acpc:PORT is a program that connects by the ACPC's protocol to a port of this machine, from any machine, "
  "as to the ACPC's dealer: the port is open on all network interfaces, and the first program to connect "
  "plays. B may also deal itself: acpc:HOST:PORT, a server of that protocol, or slumbot (slumbot:URL for "
  "another server with its interface). In holdem A may be lbr or lbr:ACTIONS, a local best response to B: "
  "bets with / between streets (default: fcpa), fc for folds and calls, c for calls. Ctrl-C ends a match "
  "early, and so does a player that fails; the result so far is printed.",
  examples=(
    "match always_call random --hands=200",
    "match always_call all_in --hands=100 --phh=match.phhs",
    "match runs/kuhn_poker/run.safetensors random --method=aivat",
    "match lbr:fc agent:runs/holdem/run.safetensors --hands=200",
    "match agent:runs/holdem/run.safetensors,pretrained runs/holdem/run.safetensors --hands=200",
    "match acpc:18791 acpc:18792 --hands=3000",
    "match runs/holdem/run.safetensors acpc:localhost:18791",
    "match runs/holdem/run.safetensors slumbot --hands=100",
  ),
  options=FLAGS,
  run=_run,
)
