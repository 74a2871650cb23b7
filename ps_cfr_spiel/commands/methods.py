"""The methods of the command solve: which flags each has, and how a solver is made of them."""

from collections.abc import Sequence
from typing import Any

import pyspiel
from absl import flags

from ps_cfr_spiel.abstraction import PRESETS
from ps_cfr_spiel.commands.command import Flag
from ps_cfr_spiel.commands.flags import CLUSTERS_AND_BUCKETS, DTYPE, RULE, buckets_of, shared
from ps_cfr_spiel.commands.user_input import UserError, load_game, load_saved_policy, user_errors
from ps_cfr_spiel.hierarchical import DealtGame, load_abstraction
from ps_cfr_spiel.solvers import (
  BASELINES,
  CFRPlusIRASolver,
  ExactSolver,
  ExternalSamplingSolver,
  FictitiousPlaySolver,
  FPIRASolver,
  HierarchicalMCCFRSolver,
  OutcomeSamplingSolver,
  PSCFRSolver,
  VRMCCFRSolver,
)

_WALKED = ("public_states", "limit", "memory")  # flags of all that walk the game
_SAMPLING = ("rule", "batch", "seed")
_DEALT = ("clusters", "buckets", "abstraction", "boards", *_SAMPLING)
_SHARED = ("coordinator", "processes", "process")
METHODS: dict[str, tuple[Any, tuple[str, ...]]] = {  # and the flags that are its own
  "ps-cfr": (PSCFRSolver, ("rule", "alternating", "skip", "abstraction", "leaves", "lock")),
  "cfr+ira": (CFRPlusIRASolver, ("bound", "heuristic", "abstraction", "seed", "skip", "leaves")),
  "fpira": (FPIRASolver, ("abstraction",)),
  "fictitious-play": (FictitiousPlaySolver, ()),
  "vr-mccfr": (VRMCCFRSolver, ("baseline", "exploration", *_SAMPLING, "abstraction", "leaves")),
  "outcome-sampling": (OutcomeSamplingSolver, ("exploration", *_SAMPLING, "abstraction", "leaves")),
  "external-sampling": (ExternalSamplingSolver, (*_SAMPLING, "abstraction", "leaves")),
  "hierarchical": (HierarchicalMCCFRSolver, (*_DEALT, *_SHARED)),
}
_WALKING = (PSCFRSolver, CFRPlusIRASolver, FPIRASolver, FictitiousPlaySolver)  # with progress
_OWN = tuple(dict.fromkeys(name for _, names in METHODS.values() for name in names if name not in _SHARED))
FIXED = ("solver", *_OWN, "dtype", "public_states", "memory")  # on resuming


# fmt: off
METHOD_FLAGS = (
  Flag("solver", "ps-cfr",
    "Method. ps-cfr visits the whole public tree in each iteration. vr-mccfr and those with sampling in the "
    "name sample it, and need many more, but much cheaper, iterations. cfr+ira and fpira keep strategies for "
    "few sets of infostates, and split these sets until the whole game is solved. hierarchical deals the "
    "cards of a poker game too large to enumerate, with boards in clusters and hands in buckets.",
    choices=tuple(METHODS)),
  RULE,
  Flag("alternating", True, "Update the players in turn rather than both at once."),
  Flag("skip", 0,
    "First iterations to leave out of the average strategy (cfr+ira: 100 unless given).", least=0),
  DTYPE,
  Flag("abstraction", None,
    "Infostates that play alike: observation joins those with the same view now, initial those with the same "
    "number of own decisions, identity none. cfr+ira and fpira begin with it, initial by default. For "
    "hierarchical a file of abstract."),
  Flag("bound", 10, "CFR+IRA: infostates whose regrets are tracked against a bound.", least=0),
  Flag("heuristic", 90, "CFR+IRA: infostates that are compared in a turn.", least=0),
  Flag("lock", None,
    "Line after which the player to act plays as given, LINE=FILE with a saved policy, or LINE=ACTION for "
    "all hands, such as --lock='check, bet 200=fold'; all else is solved around it. May be given several "
    "times.", kind=tuple),
  Flag("baseline", "learned", "Sampling: baseline that reduces the variance.", choices=tuple(BASELINES)),
  Flag("exploration", 0.6, "Sampling: share of uniform play in the samples."),
  Flag("batch", 1,
    "Sampling: trajectories, or pairs of hands, for one update (for hierarchical 16 unless given).", least=1),
  Flag("seed", 0, "Sampling and CFR+IRA: seed of the random numbers.", least=0),
  *CLUSTERS_AND_BUCKETS,
  Flag("boards", 1, "Hierarchical: boards that each cluster draws for a pair of hands.", least=1),
  *shared(" By itself: processes of this machine, for hierarchical."),
)
# fmt: on


def new_solver(values: flags.FlagValues, words: Sequence[str]) -> ExactSolver:
  """The solver that a command line describes; `UserError` if it is wrong."""
  game = load_game(words, values)
  kind, own = METHODS[values.solver]
  common = ("dtype",) if kind is HierarchicalMCCFRSolver else ("dtype", *_WALKED)
  foreign = sorted({*_OWN, *_WALKED, *_SHARED} - {*own, *common})
  wrong = [f"--{name}" for name in foreign if values[name].present]
  if wrong:
    allowed = f"it has --{', --'.join(own)}" if own else "it has no flags of its own"
    raise UserError(f"--solver={values.solver} has no {', '.join(wrong)}; {allowed}.")
  # What was not given is left to the solver: of some flags the defaults differ.
  given = [name for name in (*own, *common) if values[name].present and name not in _SHARED]
  options: dict[str, Any] = {name: values[name].value for name in given}
  if "lock" in options:
    options["locks"] = _locks(options.pop("lock"), values.limit)
  if kind in _WALKING:
    options["progress"] = False if values.quiet or values.json else None
  with user_errors():
    if kind is HierarchicalMCCFRSolver:
      options |= _cards(values, game)
    elif options.get("abstraction", "identity") not in PRESETS:
      raise UserError(
        f"--abstraction={values.abstraction}: value should be one of <{'|'.join(PRESETS)}>; a file is for "
        f"--solver=hierarchical."
      )
    return kind(game, **options)


def _cards(values: flags.FlagValues, game: pyspiel.Game) -> dict[str, Any]:
  """How the cards of a dealt game are abstracted: a file, or clusters and buckets."""
  if values.abstraction is None:
    return {"clusters": values.clusters, "buckets": buckets_of(values)}
  if values["clusters"].present or values["buckets"].present:
    raise UserError(f"--abstraction={values.abstraction} has clusters and buckets; leave out both flags.")
  return {"abstraction": load_abstraction(values.abstraction, DealtGame.of(game))}


def _locks(words: Sequence[str], limit: int) -> dict[str, Any]:
  """What --lock says: for each line a policy from a file, or one action."""
  locks: dict[str, Any] = {}
  for word in words:
    line, equals, how = word.rpartition("=")
    if not equals or not how:
      raise UserError(f"--lock={word}: expected LINE=FILE or LINE=ACTION, such as 'check, bet 200=fold'.")
    if line in locks:
      raise UserError(f"--lock: {line!r} is locked twice.")
    locks[line] = load_saved_policy(how, limit) if how.endswith(".npz") else {how: 1}
  return locks
