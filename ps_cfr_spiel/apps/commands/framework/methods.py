"""The methods of the command solve, and how a solver is made of its flags."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from typing import Any

import pyspiel
from absl import flags

import ps_cfr_spiel as ps
from ps_cfr_spiel import storage
from ps_cfr_spiel.apps.commands.framework.command import Flag, flags_of, given_options, option_flags
from ps_cfr_spiel.apps.commands.framework.flags import JOIN, progress_of
from ps_cfr_spiel.apps.commands.framework.user_input import given, load_game, load_saved_policy, refuse
from ps_cfr_spiel.cards.notation import legal_moves, play_moves, read_move
from ps_cfr_spiel.options import (
  ABSTRACTIONS,
  METHOD,
  CFRPlusIRAOptions,
  ClusteringOptions,
  EnumerationOptions,
  ExternalSamplingOptions,
  FictitiousPlayOptions,
  FPIRAOptions,
  HierarchicalMCCFROptions,
  Options,
  OutcomeSamplingOptions,
  PSCFROptions,
  VRMCCFROptions,
)

# An action and its probability; the commas within an amount, as in "bet 1,200:0.7", separate none.
_PAIR = re.compile(r"\s*((?:[^,]|(?<=\d),(?=\d{3}\b))+?)\s*:\s*([0-9]*\.?[0-9]+)(%?)\s*(?:,|$)")
_CARD = re.compile(r"[2-9TJQKA][cdhs]", re.IGNORECASE)
AT = "@"  # between a strategy and its hands, in --lock
METHODS: dict[str, type[Options]] = {
  "ps-cfr": PSCFROptions,
  "cfr+ira": CFRPlusIRAOptions,
  "fpira": FPIRAOptions,
  "fictitious-play": FictitiousPlayOptions,
  "vr-mccfr": VRMCCFROptions,
  "outcome-sampling": OutcomeSamplingOptions,
  "external-sampling": ExternalSamplingOptions,
  "hierarchical": HierarchicalMCCFROptions,
}
SOLVER = Flag(
  "solver",
  "ps-cfr",
  "Method. ps-cfr visits the whole public tree in each iteration. vr-mccfr and those with sampling in the "
  "name sample it, and need many more, but much cheaper, iterations. cfr+ira and fpira keep strategies for "
  "few sets of infostates, and split these sets until the whole game is solved. hierarchical deals the cards "
  "of a poker game too large to enumerate, with boards in clusters and hands in buckets.",
  choices=tuple(METHODS),
  group=METHOD,
)
METHOD_FLAGS = (SOLVER, *option_flags(METHODS), JOIN)


def new_solver(values: flags.FlagValues, words: Sequence[str]) -> ps.measures.ExactSolver:
  """The solver that a command line describes."""
  game, kind = load_game(words, values), METHODS[values.solver]
  solver, names = ps.measures.ExactSolver.kind_for(kind), flags_of(kind)
  names += ["join"] if solver.shared else []
  if wrong := given(values, sorted({flag.name for flag in METHOD_FLAGS[1:]} - {*names})):
    raise ValueError(f"--solver={values.solver} has no {', '.join(wrong)}; it has --{', --'.join(names)}.")
  options = given_options(values, kind)
  if kind is PSCFROptions and "rule" in options:
    options["rule"] = ps.rules.make_rule(options["rule"], values.iterations, values.alternating)
  if "locks" in options:
    options["locks"] = _locks(options["locks"], values.limit)
  if kind is HierarchicalMCCFROptions and "abstraction" in options:
    options["abstraction"] = _cards(values, game)
  elif options.get("abstraction", "identity") not in ABSTRACTIONS:
    raise ValueError(
      f"--abstraction={values.abstraction}: value should be one of <{'|'.join(ABSTRACTIONS)}>; "
      "a file is for --solver=hierarchical."
    )
  progress = {"progress": progress_of(values)} if issubclass(kind, EnumerationOptions) else {}
  return solver(game, kind.of(**options), **progress)


def _cards(values: flags.FlagValues, game: pyspiel.Game) -> ps.abstractions.Hierarchy:
  """The abstraction of a dealt game's cards in a file."""
  refuse(values, flags_of(ClusteringOptions), f"is in --abstraction={values.abstraction} already")
  return ps.abstractions.load_abstraction(values.abstraction, ps.abstractions.card_game(game))


def _locks(words: Sequence[str], limit: int) -> dict[str, Any]:
  """The value of --lock: for each line and its hands a policy from a file, or a mixture of actions."""
  return {
    line: {
      hands: load_saved_policy(text, limit) if text.endswith(storage.SUFFIX) else _mixture(text)
      for hands, text in parts.items()
    }
    for line, parts in _lock_texts(words).items()
  }


def _lock_texts(words: Sequence[str]) -> dict[str, dict[str, str]]:
  """The parts of --lock: for each line and its hands the text of a strategy."""
  locks: dict[str, dict[str, str]] = {}
  for word in words:
    line, equals, how = word.rpartition("=")
    if not equals or not how:
      raise ValueError(f"--lock={word}: expected LINE=FILE or LINE=ACTION, such as 'check, bet 200=fold'.")
    parts = [[text.strip() for text in part.partition(AT)] for part in how.split(";")]
    if any(at and not hands for _, at, hands in parts) or sum(not at for _, at, _ in parts) > 1:
      raise ValueError(
        f"--lock={word}: expected ACTION{AT}HANDS for some hands and at most one ACTION for all others, such "
        f"as 'check, bet 200=fold; call{AT}AKs,QQ+'."
      )
    if line in locks:
      raise ValueError(f"--lock: {line!r} is locked twice.")
    locks[line] = {hands or "*": text for text, _, hands in parts}
  return locks


def check_locks(game: pyspiel.Game, words: Sequence[str]) -> None:
  """ValueError for a lock of a spot that cannot be read, or whose line or actions do not exist.

  They are played in one deal, far sooner than a tree is made; a mistake that this does not see, the tree has.
  """
  for line, parts in _lock_texts(words).items():
    mixtures = [_mixture(text) for text in parts.values() if not text.endswith(storage.SUFFIX)]
    start = _dealt_without(game, line)
    if start is None or "#" in line or re.fullmatch(r"[\d\s,]+", line):  # numbers are the tree's
      continue
    try:
      state, names = play_moves(game, line, start)
      if state.current_player() < 0:
        raise ValueError(f"no player acts after it in {game}; choose a line where one does.")
      for action in itertools.chain(*mixtures):
        read_move(action, legal_moves(state, names))
    except ValueError as error:
      raise ValueError(f"locks: {line!r}: {error}") from error


def _dealt_without(game: pyspiel.Game, line: str) -> pyspiel.State | None:
  """A spot after a deal of hands without the cards that a line may name; else None."""
  state, named = game.new_initial_state(), {card.lower() for card in _CARD.findall(line)}
  while state.is_chance_node():
    hands = {action: _CARD.findall(state.action_to_string(action)) for action in state.legal_actions()}
    free = [action for action, hand in hands.items() if named.isdisjoint(map(str.lower, hand))]
    if not free:
      return None
    state.apply_action(free[0])
  return state


def _mixture(text: str) -> dict[str, float]:
  """One strategy of a lock: an action, or "fold:0.7,call:0.3"."""
  pairs = [*_PAIR.finditer(text)]
  if not pairs:
    return {text: 1}
  if "".join(pair[0] for pair in pairs) != text:
    raise ValueError(f"--lock: {text!r} must give every action its probability, as in fold:0.7,call:0.3.")
  return {
    action: float(share) / (100 if percent else 1) for action, share, percent in map(re.Match.groups, pairs)
  }
