"""The compilation of a pyspiel game into a `PublicTree`: the one entry for games."""

import math
import warnings
from typing import Any

import pyspiel

from ps_cfr_spiel.cards.poker import BayesianForm, CardGame
from ps_cfr_spiel.compilation.compiler.described import form_of
from ps_cfr_spiel.compilation.compiler.form_sizes import TreeUse, check_memory, index_of
from ps_cfr_spiel.compilation.compiler.forms import PublicStateIndex
from ps_cfr_spiel.compilation.compiler.from_form import build_bayesian, leaves_of
from ps_cfr_spiel.compilation.compiler.from_histories import OF_HISTORIES, build_general, with_recall
from ps_cfr_spiel.compilation.histories import (
  Histories,
  Limits,
  check_kind,
  enumerate_histories,
  public_observer,
  public_partition,
)
from ps_cfr_spiel.loading import sequential
from ps_cfr_spiel.memory import TooLarge
from ps_cfr_spiel.options import TreeOptions
from ps_cfr_spiel.reports import waiting
from ps_cfr_spiel.tree import PublicTree


def build_tree(
  game: pyspiel.Game,
  options: TreeOptions | str | None = None,
  *,
  progress: bool | None = None,
  lines: PublicStateIndex | None = None,
  **keywords: Any,
) -> PublicTree:
  """Compile a game into a public tree.

  A game with a method `bayesian_form()`, or with a form in `compiler.described`, is compiled from that form,
  unless an option needs its histories; any other game is enumerated history by history. The tree of a
  simultaneous game is that of its turn-based version; where infostate strings are missing or forget,
  infostates are the players' pasts (see `histories.player_information`); in a general-sum game, and in one
  of three players or more, each player has utilities of its own. The summary of the tree says so in a line
  each.

  Args:
    game: from `pyspiel.load_game`.
    options: all options, or the leaf evaluator alone.
    progress: show a progress bar while enumerating; None: on a terminal or in a notebook, after two seconds.
    lines: those of `index_of`, of a solver that has counted them; None: of the game's form, if it has one.
    **keywords: options by name; see `TreeOptions`. After half a second of enumeration a game that surely
      exceeds `limit` or `memory` is refused; trees of forms are refused before they are built.

  Returns:
    The tree; its arrays are NumPy's, in float64.

  Raises:
    TypeError: `game` is not a game.
    ValueError: the game has a single player or is faulty (`check_game` lists all faults); it has more than
      `limit` histories, needs more than `memory` bytes or has no valid public states; or an option is unknown
      or does not fit the game.
  """
  game = sequential(game)
  check_kind(game)
  options = TreeOptions.of(options, **keywords)
  leaves, public_states, limit, memory = options.leaves, options.public_states, options.limit, options.memory
  form = form_of(game) if lines is None else lines.form
  if form is not None:
    if leaves not in OF_HISTORIES and public_states == "closure":
      lines = index_of(game, form, memory) if lines is None else lines
      leaves = leaves_of(lines, leaves)
      check_memory(game, lines, memory, TreeUse(leaves=leaves))
      with waiting("Building the tree", progress):
        return build_bayesian(game, lines, leaves)
    _check_size(game, form, limit, f"{leaves=}" if leaves in OF_HISTORIES else f"{public_states=}")
  limits = Limits.create(limit, memory)
  observe = public_observer(game) if public_states == "observer" else None
  return tree_of_histories(
    game, enumerate_histories(game, limits, progress, observe), public_states, leaves, limits.memory
  )


def tree_of_histories(
  game: pyspiel.Game,
  histories: Histories,
  public_states: str = "closure",
  leaves: str = "sparse",
  memory: float = math.inf,
) -> PublicTree:
  """Compile a sequential game's histories, all of them or grown ones.

  Arguments and errors are as of `build_tree`; `public_states` may be "observer" if the histories have its
  observations.
  """
  histories, choices, fault = with_recall(game, histories, memory)
  if fault:
    raise ValueError(f"{game}: {fault} Only games of perfect recall can be compiled.")
  kind = game.get_type()
  converted = kind.short_name == "turn_based_simultaneous_game"  # its strings forget, not the players
  if histories.remembers and kind.provides_information_state_string and not converted:
    warnings.warn(
      f"{game} has imperfect recall: its information states forget. It is solved with perfect recall, "
      "another game: each player remembers the own actions and all that was seen.",
      stacklevel=3,
    )
  none = public_states == "none"
  partition = None if none else public_partition(str(game), histories, choices, public_states)
  return build_general(game, histories, choices, partition, leaves, memory)


def _check_size(game: pyspiel.Game, form: BayesianForm, limit: int, option: str) -> None:
  """TooLarge if the game has more than `limit` histories, by its form, and `option` needs them."""
  count = form.histories if isinstance(form, CardGame) else PublicStateIndex.of(form).histories
  if count > limit:
    raise TooLarge(
      f"{game} has {count:,} histories, more than the limit of {limit:,}, and {option} needs "
      f"all of them. Use public_states='closure' with leaves='auto', 'dense', 'showdown' or 'native', which "
      f"compile its Bayesian form without enumeration, or raise the limit."
    )
