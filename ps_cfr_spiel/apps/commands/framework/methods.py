"""The methods of the command solve, and how a solver is made of its flags."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import pyspiel
from absl import flags

import ps_cfr_spiel as ps
from ps_cfr_spiel.apps.commands.framework.command import Flag, flags_of, given_options, option_flags
from ps_cfr_spiel.apps.commands.framework.flags import JOIN, progress_of
from ps_cfr_spiel.apps.commands.framework.user_input import given, load_game, load_saved_policy, refuse
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
  locks: dict[str, Any] = {}
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
    locks[line] = {hands or "*": _mixture(text, limit) for text, _, hands in parts}
  return locks


def _mixture(text: str, limit: int) -> ps.TreePolicy | dict[str, float]:
  """One strategy of a lock: a file, an action, or "fold:0.7,call:0.3"."""
  if text.endswith(".safetensors"):
    return load_saved_policy(text, limit)
  pairs = [*_PAIR.finditer(text)]
  if not pairs:
    return {text: 1}
  if "".join(pair[0] for pair in pairs) != text:
    raise ValueError(f"--lock: {text!r} must give every action its probability, as in fold:0.7,call:0.3.")
  return {
    action: float(share) / (100 if percent else 1) for action, share, percent in map(re.Match.groups, pairs)
  }
