"""The methods of the command solve: which flags each has, and how a solver is made of them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import pyspiel
from absl import flags

import ps_cfr_spiel as ps
from ps_cfr_spiel.commands.command import Flag, group
from ps_cfr_spiel.commands.flags import (
  BITS,
  CLUSTERS_AND_BUCKETS,
  DTYPE,
  JOIN,
  RULE,
  buckets_of,
  progress_of,
)
from ps_cfr_spiel.commands.user_input import given, load_game, load_saved_policy, refuse
from ps_cfr_spiel.options import ABSTRACTIONS

# An action and its probability; the commas within an amount, as in "bet 1,200:0.7", separate none.
_PAIR = re.compile(r"\s*((?:[^,]|(?<=\d),(?=\d{3}\b))+?)\s*:\s*([0-9]*\.?[0-9]+)(%?)\s*(?:,|$)")
AT = "@"  # between a strategy and its hands, in --lock
_WALKED = ("public_states", "limit", "memory")  # flags of all that enumerate the game
_SAMPLING = ("rule", "batch", "seed")
_DEALT = ("clusters", "buckets", "special", "abstraction", "boards", "pruning", *_SAMPLING)
METHODS: dict[str, tuple[str, tuple[str, ...]]] = {  # the solver, and the flags that are its own
  "ps-cfr": (
    "PSCFRSolver",
    ("rule", "alternating", "skip", "better", "abstraction", "leaves", "lock", "bits"),
  ),
  "cfr+ira": ("CFRPlusIRASolver", ("bound", "heuristic", "abstraction", "seed", "skip", "leaves")),
  "fpira": ("FPIRASolver", ("abstraction",)),
  "fictitious-play": ("FictitiousPlaySolver", ()),
  "vr-mccfr": ("VRMCCFRSolver", ("baseline", "exploration", *_SAMPLING, "abstraction", "leaves")),
  "outcome-sampling": (
    "OutcomeSamplingSolver",
    ("exploration", *_SAMPLING, "abstraction", "leaves"),
  ),
  "external-sampling": ("ExternalSamplingSolver", (*_SAMPLING, "abstraction", "leaves")),
  "hierarchical": ("HierarchicalMCCFRSolver", (*_DEALT, "join")),
}
_WALKING = ("ps-cfr", "cfr+ira", "fpira", "fictitious-play")  # with progress
_OWN = tuple(dict.fromkeys(name for _, names in METHODS.values() for name in names if name != "join"))
FIXED = ("solver", *_OWN, "dtype", "public_states", "memory")  # on resuming


# fmt: off
METHOD_FLAGS = (
  *group("Method",
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
  Flag("better", False, "Take the last strategies for the average where they are less exploitable."),
  DTYPE,
  BITS,
  Flag("abstraction", None,
    "Infostates that play alike: observation joins those with the same view now, initial those with the same "
    "number of own decisions, identity none. cfr+ira and fpira begin with it, initial by default. For "
    "hierarchical a saved abstraction, or a run in one.", value="NAME|FILE"),
  Flag("lock", None,
    "Line after which the player to act plays as given; all else is solved around it. HOW is a saved policy "
    "(FILE), an action or a mixture for all hands, as in --lock='check, bet 200=fold:0.7,call:0.3'; for some "
    "hands, which leaves the others free: --lock='x b200=call@AKs,QQ+'; or both: --lock='x b200=fold; "
    "call@AKs,QQ+'. May be given several times.",
    kind=tuple, value="LINE=HOW"),
  Flag("seed", 0, "Seed of the random numbers, for sampling and CFR+IRA.", least=0),
  ),
  *group("CFR+IRA",
  Flag("bound", 10, "Infostates whose regrets are tracked against a bound.", least=0),
  Flag("heuristic", 90, "Infostates that are compared in a turn.", least=0),
  ),
  *group("Sampling",
  Flag("baseline", "learned", "Baseline that reduces the variance.",
    choices=("learned", "zero", "oracle")),
  Flag("exploration", 0.6, "Share of uniform play in the samples."),
  Flag("batch", 1,
    "Trajectories, or pairs of hands, for one update (for hierarchical 16 unless given).", least=1),
  ),
  *group("Hierarchical",
  *CLUSTERS_AND_BUCKETS,
  Flag("boards", 1, "Boards that each cluster draws for a pair of hands.", least=1),
  Flag("pruning", None,
    "Negative regret, in chips, below which 95% of the traversals leave an action out (for rm and lcfr).",
    kind=float),
  ),
  JOIN,
)
# fmt: on


def new_solver(values: flags.FlagValues, words: Sequence[str]) -> ps.solvers.ExactSolver:
  """The solver that a command line describes."""
  game = load_game(words, values)
  name, own = METHODS[values.solver]
  kind = getattr(ps.solvers, name)
  common = ("dtype",) if kind is ps.solvers.HierarchicalMCCFRSolver else ("dtype", *_WALKED)
  if wrong := given(values, sorted({*_OWN, *_WALKED, "join"} - {*own, *common})):
    allowed = f"it has --{', --'.join(own)}" if own else "it has no flags of its own"
    raise ValueError(f"--solver={values.solver} has no {', '.join(wrong)}; {allowed}.")
  # A flag that was not given is left to the solver: some defaults differ.
  options: dict[str, Any] = {
    name: values[name].value for name in (*own, *common) if values[name].present and name != "join"
  }
  if kind is ps.PSCFRSolver and "rule" in options:
    options["rule"] = ps.cfr.make_rule(options["rule"], values.iterations, values.alternating)
  if "bits" in options:
    options["bits"] = int(options["bits"])
  if "lock" in options:
    options["locks"] = _locks(options.pop("lock"), values.limit)
  if values.solver in _WALKING:
    options["progress"] = progress_of(values)
  if kind is ps.solvers.HierarchicalMCCFRSolver:
    options |= _cards(values, game)
  elif options.get("abstraction", "identity") not in ABSTRACTIONS:
    raise ValueError(
      f"--abstraction={values.abstraction}: value should be one of <{'|'.join(ABSTRACTIONS)}>; "
      "a file is for --solver=hierarchical."
    )
  return kind(game, **options)


def _cards(values: flags.FlagValues, game: pyspiel.Game) -> dict[str, Any]:
  """The abstraction of a dealt game's cards: a file, or clusters and buckets."""
  if values.abstraction is None:
    return {"clusters": values.clusters, "buckets": buckets_of(values), "special": values.special}
  refuse(values, ("clusters", "buckets", "special"), f"is in --abstraction={values.abstraction} already")
  dealt = ps.hierarchical.DealtGame.of(game, ps.hierarchical.special_in(values.abstraction, str(game)))
  return {"abstraction": ps.hierarchical.load_abstraction(values.abstraction, dealt)}


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
    locks[line] = {hands or ps.policy.ALL: _mixture(text, limit) for text, _, hands in parts}
  return locks


def _mixture(text: str, limit: int) -> Any:
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
