"""The checks of a game for `build_tree`, with a report on all of them, not just the first that fails.

The checks are those by which `build_tree` refuses a game: `game_checks`, `history_checks` and
`public_states.public_partition`.
"""

import collections
import dataclasses
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

import numpy as np
import pyspiel

from ps_cfr_spiel import cfr
from ps_cfr_spiel.arguments import declared
from ps_cfr_spiel.cards.poker import CardGame
from ps_cfr_spiel.compilation.compiler.check_report import (
  HISTORIES,
  KEYED,
  UNCHECKED,
  Finding,
  Report,
  Verdict,
)
from ps_cfr_spiel.compilation.compiler.described import form_of
from ps_cfr_spiel.compilation.compiler.form_check import form_fault
from ps_cfr_spiel.compilation.compiler.form_sizes import TreeUse, check_memory, index_of, memory_needs
from ps_cfr_spiel.compilation.compiler.from_form import build_bayesian
from ps_cfr_spiel.compilation.compiler.from_histories import build_general, own_choices, with_recall
from ps_cfr_spiel.compilation.compiler.history_labels import remarks
from ps_cfr_spiel.compilation.histories import (
  Histories,
  Limits,
  PublicPartition,
  actions_fault,
  enumerate_histories,
  foretell,
  kind_faults,
  names_fault,
  public_observer,
  public_partition,
  readable_seconds,
  recall_fault,
  scale_fault,
  strings_of,
  timing_fault,
)
from ps_cfr_spiel.loading import sequential
from ps_cfr_spiel.memory import HISTORY, TooLarge, readable_bytes, readable_count
from ps_cfr_spiel.options import LIMIT, EnumerationOptions
from ps_cfr_spiel.reports import quiet_stderr, waiting
from ps_cfr_spiel.tree import TERMINAL, PublicTree

T = TypeVar("T")


def check_game(
  game: pyspiel.Game,
  options: EnumerationOptions | None = None,
  *,
  progress: bool | None = None,
  **keywords: Any,
) -> Report:
  """Check whether `build_tree` accepts a game, and report all faults.

  For a test of your own game: `ps_cfr_spiel.check_game(pyspiel.load_game("my_game")).assert_solvable()`.

  Args:
    game: from `pyspiel.load_game`.
    options: all options.
    progress: show a progress bar; as for `build_tree`.
    **keywords: options by name; see `EnumerationOptions`. Faults of other public states than these become
      notes.

  Returns:
    The report; its `str` has a line for each check.

  Raises:
    TypeError: `game` is not a game.
    ValueError: an option is not one of the allowed values.
  """
  game, options = sequential(game), EnumerationOptions.of(options, **keywords)
  limits, public_states = Limits.create(options.limit, options.memory), options.public_states
  findings = _kind_findings(game)
  if not _holds(findings):
    return Report(
      str(game),
      tuple(findings + _not_checked(HISTORY_CHECKS + LATER_CHECKS, "it cannot be enumerated")),
    )
  form_tree, form = _compile_form(game, limits, options.memory, progress)
  if form is not None:  # too large to enumerate, or not compilable
    broken = form.verdict == Verdict.FAIL
    why = "it cannot be enumerated" if broken else "it is compiled from its form, not enumerated"
    findings += [
      *_not_checked([check for check in HISTORY_CHECKS + LATER_CHECKS if check != FORM], why),
      form,
    ]
    return Report(str(game), tuple(findings), form_tree.summary() if form_tree else "")
  if limits.histories == LIMIT and (large := _large(game, limits)):
    why = "the game is large, and build_tree checks them later; --limit or limit= checks them here"
    findings += [large, *_not_checked(HISTORY_CHECKS[1:] + LATER_CHECKS, why)]
    return Report(str(game), tuple(findings))
  observer = _Observer.of(game)
  histories, of_states = _enumeration_findings(game, limits, progress, observer)
  findings += of_states
  if histories is None or not _holds(of_states):
    keyed = declared(game, "keyed_form") is not None
    by_keys = [Finding(KEYED, Verdict.NOTE, "train solves it by these keys, without a tree")] * keyed
    return Report(str(game), tuple(findings + by_keys + _not_checked(LATER_CHECKS, "a check above fails")))
  later, tree = _later_findings(game, histories, limits.memory, public_states, observer, form_tree)
  return Report(str(game), tuple(findings + later), tree.summary() if tree else "")


# --- Lines of a report --------------------------------------------------------------------------

CHECKED = 2_000_000  # histories; larger games are enumerated here if the user gives a limit
CHECKED_SECONDS = 120  # of enumeration, likewise
SECONDS = 2e-6  # of building, for a public state of a described game
FORM = "bayesian_form()"
STATE_CHECKS = {  # check by its name in `enumerate_histories`: its name here, and the text where it passes
  "mover": ("movers", "at every state a player or chance moves, or the game is over"),
  "legal actions": ("legal actions", "every decision has some, in ascending order"),
  "chance": ("chance", "the probabilities of every chance node sum to one"),
  "returns": ("returns", "every end has one for each of the {players} players{sum}"),
}
HISTORY_CHECKS = (HISTORIES, *(name for name, _ in STATE_CHECKS.values()))
LATER_CHECKS = (
  "same actions", "perfect recall", "infostate names", "timing", "scale", "public states", "public observer",
  FORM, "declared bounds", "game string",
)  # fmt: skip


def _line(check: str, fault: str | None, holds: str, broken: Verdict = Verdict.FAIL) -> Finding:
  """A passed check without a fault, otherwise one with the verdict `broken`."""
  return Finding(check, broken, fault) if fault else Finding(check, Verdict.PASS, holds)


def _holds(findings: Iterable[Finding]) -> bool:
  return not any(finding.verdict == Verdict.FAIL for finding in findings)


def _not_checked(checks: Iterable[str], why: str) -> list[Finding]:
  return [Finding(check, Verdict.NOTE, f"{UNCHECKED}{why}") for check in checks]


def _attempt(make: Callable[[], T]) -> tuple[T | None, str | None]:
  """The result of `make` and None, or None and the reason why it failed."""
  try:
    return make(), None
  except ValueError as error:  # this package's own
    return None, str(error)
  except Exception as error:  # the game's own code may raise anything
    return None, _name(error)


def _name(error: Exception) -> str:
  return f"{type(error).__name__}: {' '.join(str(error).split())}"


# --- The kind of game, and its histories --------------------------------------------------------


def _kind_findings(game: pyspiel.Game) -> list[Finding]:
  kind = game.get_type()
  holds = {
    "players": "two or more",
    "dynamics": "sequential",
    "information states": f"{strings_of(game)}s are provided".replace("_", " "),
    "chance mode": kind.chance_mode.name,
  }
  return [_line(check, fault, holds[check]) for check, fault in kind_faults(game).items()]


def _compile_form(
  game: Any, limits: Limits, memory: float | None, progress: bool | None
) -> tuple[PublicTree | None, Finding | None]:
  """The tree of the game's form, if it has one, and a finding if no enumeration can follow.

  A large game with a form of `described`, which tests compare with enumerations, is not compiled.
  """
  limit = CHECKED if limits.histories == LIMIT else limits.histories

  def compiled() -> PublicTree | str | None:
    form = form_of(game)
    if form is None:
      return None
    lines = index_of(game, form, memory)
    check_memory(game, lines, memory)
    describes_itself = declared(game, "bayesian_form") is not None
    if not describes_itself and isinstance(form, CardGame) and form.histories > limit:
      needs = memory_needs(lines, TreeUse(cfr.num_tables(cfr.make_rule("nrm+"), "float32")))
      return (
        f"about {readable_count(form.histories)} histories and {form.size:,} public states, built without "
        f"histories in {readable_seconds(SECONDS * form.size)}, "
        f"solved in {readable_bytes(sum(needs.values()))}"
      )
    with waiting(f"Building a tree of {lines.starts[-1]:,} public states", progress):
      return build_bayesian(game, lines)

  tree, fault = _attempt(compiled)
  if tree is None and fault is None:
    return None, None
  if isinstance(tree, str):
    return None, Finding(FORM, Verdict.NOTE, tree)
  if tree is None or tree.labels is None:
    return None, Finding(FORM, Verdict.FAIL, f"cannot be compiled: {fault}")
  histories = tree.labels.histories
  if histories <= limit:
    return tree, None
  text = (
    f"{histories:,} histories by the form, more than the limit of {limit:,}; also check smaller "
    f"parameters of the game, which can be enumerated and compared with the form"
  )
  return tree, Finding(FORM, Verdict.NOTE, text)


@dataclasses.dataclass
class _Observer:
  """The public observer during an enumeration: a failure is stored, not raised."""

  see: Callable[[pyspiel.State], str] | None  #: state -> public observation, or None
  fault: str | None  #: why there is no observer, or its first failure

  @classmethod
  def of(cls, game: pyspiel.Game) -> "_Observer":
    return cls(*_attempt(lambda: public_observer(game)))

  def __call__(self, state: pyspiel.State) -> str:
    if self.see is None or self.fault:
      return ""
    try:
      return self.see(state)
    except Exception as error:  # the game's own code may raise anything
      self.fault = f"at history {state.history()}, it raises {_name(error)}"
      return ""


def _large(game: pyspiel.Game, limits: Limits) -> Finding | None:
  """Size and time of a game that is likely too large for this check, but not for `build_tree`; else None."""
  try:
    size, seconds = foretell(game, CHECKED)
  except Exception:  # of the game: the enumeration reports it
    return None
  small = size.count <= CHECKED and not size.exceeds and seconds <= CHECKED_SECONDS
  if small or size.cut or size.count * HISTORY > limits.memory:  # enumerating refuses the last two at once
    return None
  text = (
    f"about {readable_count(size.count)}, by {size.probes} random paths: "
    f"{readable_bytes(size.count * HISTORY)} and {readable_seconds(seconds)} of enumeration on free cores; "
    f"allowed are {readable_bytes(limits.memory)}"
  )
  return Finding("histories", Verdict.NOTE, text)


def _enumeration_findings(
  game: pyspiel.Game, limits: Limits, progress: bool | None, observer: _Observer
) -> tuple[Histories | None, list[Finding]]:
  """The histories, None if they are not available, and the faults of single states."""
  faults: dict[str, str] = {}
  counts: collections.Counter[str] = collections.Counter()

  def on_fault(check: str, state: pyspiel.State, fault: str) -> None:
    counts[check] += 1
    faults.setdefault(check, f"at history {state.history()}, {fault}")

  histories, text = None, ""
  try:
    histories = enumerate_histories(game, limits, progress, observer, on_fault)
    count, longest = len(histories.parent), histories.depth.max()
    text = f"{count:,}, at most {longest:,} moves long; the limit is {limits.histories:,}"
  except TooLarge as error:
    text = str(error)
  except Exception as error:  # the game's own code may raise anything
    text = f"{' '.join(getattr(error, '__notes__', []))}: {_name(error)}"
  findings = [Finding("histories", Verdict.PASS if histories else Verdict.FAIL, text)]
  zero = game.get_type().utility == pyspiel.GameType.Utility.ZERO_SUM
  filled = {"players": game.num_players(), "sum": ", and they sum to zero" if zero else ""}
  for check, (name, holds) in STATE_CHECKS.items():
    others = f" (and {counts[check] - 1:,} more)" if counts[check] > 1 else ""
    if histories is None and check not in faults:
      findings += _not_checked([name], "not all histories were enumerated")
    else:
      findings.append(
        _line(name, faults[check] + others if check in faults else None, holds.format(**filled))
      )
  return histories, findings


# --- Infostates and public states ---------------------------------------------------------------


def _later_findings(
  game: pyspiel.Game,
  histories: Histories,
  memory: float,
  source: str,
  observer: _Observer,
  form_tree: PublicTree | None,
) -> tuple[list[Finding], PublicTree | None]:
  """The checks of all histories together, and the tree, if the game can have one."""
  remembered = own_choices(histories)[1]
  try:
    histories, choices, _ = with_recall(game, histories, memory)
  except TooLarge as error:
    return [Finding("perfect recall", Verdict.FAIL, f"{remembered}; {error}")], None
  no_strings = not game.get_type().provides_information_state_string
  forgets = (None if no_strings else remembered) if histories.remembers else recall_fault(histories, choices)
  demanded = Verdict.NOTE if source == "none" else Verdict.FAIL
  findings = [
    _line(
      "same actions", actions_fault(histories), "an infostate offers the same actions in all its histories"
    ),
    _line(
      "perfect recall",
      forgets,
      "an infostate has one past of its own player",
      Verdict.NOTE if histories.remembers else Verdict.FAIL,
    ),
    _line("infostate names", names_fault(histories), "no two infostates share one", Verdict.NOTE),
    _line("timing", timing_fault(histories), "all histories of an infostate have one length", demanded),
    _line("scale", scale_fault(histories.largest_value), "float32 can hold utilities of this size"),
    *(Finding(name, Verdict.NOTE, text) for name, text in remarks(game, histories).items()),
  ]
  if not _holds(findings[:2]):
    return findings + _not_checked(LATER_CHECKS[5:], "a check above fails"), None
  partition, public = _public_findings(game, histories, choices, source, observer)
  findings += public
  tree = None
  if _holds(findings):
    tree = build_general(game, histories, choices, partition)
    if form_tree is not None:
      findings.append(_line(FORM, form_fault(form_tree, tree), "the same game as the one from its histories"))
      tree = form_tree if source == "closure" else tree
  return findings + _declared_findings(game, histories), tree


def _public_findings(
  game: pyspiel.Game, histories: Histories, choices: list[np.ndarray], source: str, observer: _Observer
) -> tuple[PublicPartition | None, list[Finding]]:
  """The chosen public states, and the findings on both kinds."""
  if timing_fault(histories):
    return None, _not_checked(("public states", "public observer"), "timing is broken")
  partitions: dict[str, PublicPartition | None] = {"none": None}
  faults: dict[str, str | None] = {"observer": observer.fault}
  for kind in ("closure", "observer"):
    if not faults.get(kind):
      partitions[kind], faults[kind] = _attempt(
        lambda kind=kind: public_partition(str(game), histories, choices, kind)
      )
  levels = {kind: Verdict.FAIL if kind == source else Verdict.NOTE for kind in faults}
  count = {kind: len(p.parent) for kind, p in partitions.items() if p is not None}
  closure = f"{count.get('closure', 0):,} by common-knowledge closure, valid"
  seen = f"valid; {count.get('observer', 0):,} public states"
  return partitions.get(source), [
    _line("public states", faults["closure"], closure, levels["closure"]),
    _line("public observer", faults["observer"], seen, levels["observer"]),
  ]


def _declared_findings(game: pyspiel.Game, histories: Histories) -> list[Finding]:
  """Declarations of the game that `build_tree` does not need: notes at most."""
  ends = histories.utility[histories.player == TERMINAL]
  others = (-histories.utility,) if histories.others is None else histories.others
  utilities = np.concatenate([ends, *(other[histories.player == TERMINAL] for other in others)])
  low, high = game.min_utility(), game.max_utility()
  bounds = f"utilities reach {np.abs(utilities).max():g}, the game declares {low:g} to {high:g}"
  inside = low - 1e-9 <= utilities.min() and utilities.max() <= high + 1e-9
  findings = [_line("declared bounds", None if inside else bounds, "utilities are within them", Verdict.NOTE)]
  try:
    with quiet_stderr():
      again = str(pyspiel.load_game(str(game)))
    fault = None if again == str(game) else f"loads as {again}"
  except Exception as error:  # SpielError, or any error of the game's own code
    fault = f"does not load again ({_name(error)}), so saved runs cannot be read"
  findings.append(_line("game string", fault, "loads the same game again", Verdict.NOTE))
  return findings
