"""The methods of the command solve: which flags each has, and how a solver is made of them."""

from collections.abc import Sequence
from typing import Any

import pyspiel
from absl import flags

from ps_cfr_spiel.abstraction import PRESETS
from ps_cfr_spiel.commands.flags import buckets_of, define_clusters, define_processes, define_rule
from ps_cfr_spiel.commands.user_input import UserError, load_game, load_saved_policy, user_errors
from ps_cfr_spiel.device import DTYPES
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
SHARED_ALONE = " By itself: run in so many processes of this machine, for hierarchical."
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


def define_methods(values: flags.FlagValues) -> None:
  """Defines the flags that say how a game is solved."""
  into: dict[str, Any] = {"flag_values": values}
  least: dict[str, Any] = {"lower_bound": 0, **into}
  flags.DEFINE_enum("solver", "ps-cfr", list(METHODS), _HELP["solver"], **into)
  define_rule(values)
  flags.DEFINE_bool("alternating", True, "Update the players in turn rather than both at once.", **into)
  flags.DEFINE_integer("skip", 0, _HELP["skip"], **least)
  flags.DEFINE_enum("dtype", "float32", list(DTYPES), "Precision of the arithmetic.", **into)
  flags.DEFINE_string("abstraction", None, _HELP["abstraction"], **into)
  flags.DEFINE_integer("bound", 10, "CFR+IRA: infostates whose regrets are tracked against a bound.", **least)
  flags.DEFINE_integer("heuristic", 90, "CFR+IRA: infostates that are compared in a turn.", **least)
  flags.DEFINE_multi_string("lock", None, _HELP["lock"], **into)
  flags.DEFINE_enum("baseline", "learned", list(BASELINES), "Sampling: what reduces the variance.", **into)
  flags.DEFINE_float("exploration", 0.6, "Sampling: share of uniform play in what is sampled.", **into)
  flags.DEFINE_integer("batch", 1, _HELP["batch"], lower_bound=1, **into)
  flags.DEFINE_integer("seed", 0, "Sampling and CFR+IRA: seed of the random numbers.", **least)
  define_clusters(values)
  flags.DEFINE_integer("boards", 1, _HELP["boards"], lower_bound=1, **into)
  define_processes(values, SHARED_ALONE)


_HELP = {
  "skip": "Leave this many first iterations out of the average strategy (cfr+ira: 100 unless given).",
  "solver": "ps-cfr visits the whole public tree in each iteration. vr-mccfr and those with sampling in the "
  "name sample it, and need many more, but much cheaper, iterations. cfr+ira and fpira keep strategies for "
  "few sets of infostates, and split these sets until the whole game is solved. hierarchical deals the cards "
  "of a poker game too large to walk, whose boards are in clusters and whose hands are in buckets.",
  "abstraction": "Play alike where the player sees the same now (observation) or has made as many decisions "
  "(initial); identity joins nothing. cfr+ira and fpira begin with it, initial by default. For hierarchical "
  "a file of the command abstract.",
  "lock": "A line after which the player who acts plays as given, LINE=FILE with a saved policy, or "
  "LINE=ACTION for all hands, such as --lock='check, bet 200=fold'; all else is solved around it. May be "
  "given several times.",
  "batch": "Sampling: trajectories, or pairs of hands, for one update (for hierarchical 16 unless given).",
  "boards": "Hierarchical: boards that each cluster draws for a pair of hands.",
}


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
