"""Boards of rivers, turns or flops as a network's features, for searches that end when their last card comes.

A hand is worth its showdown value if both players check the river down, which the game's own leaf evaluator
has exactly, plus the value of betting: the network's answer for hands of this strength, times the probability
that the opponent has a hand beside it. The answers are shifted together so both players' values sum to zero,
exactly.
"""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from ps_cfr_spiel import storage
from ps_cfr_spiel.arguments import JSON
from ps_cfr_spiel.backend.device import precision
from ps_cfr_spiel.cards.poker import CardGame, Situation, cards, compatible
from ps_cfr_spiel.compilation.compiler import FormOrigin, PublicStateIndex
from ps_cfr_spiel.learning.boards.flop_leaves import FlopLeaves, flop_tables
from ps_cfr_spiel.learning.boards.hand_places import (
  PLACES,
  RATIOS,
  at_places,
  at_ratios,
  balanced,
  hand_places,
)
from ps_cfr_spiel.learning.boards.street_leaves import StreetLeaves, net_wins_on, street_tables
from ps_cfr_spiel.learning.features import Features, Learned, Pair, Solved, unsound
from ps_cfr_spiel.learning.fitting import Errors
from ps_cfr_spiel.learning.network import Network, ValueNetwork, normalised
from ps_cfr_spiel.resolving.subgames import PadTo, Ranges, Subgames
from ps_cfr_spiel.tree import CHANCE, AllInLeaves, Array, BoardLeaves

CHECKED = ("checked0", "checked1")  # of `Examples.inputs`


@dataclasses.dataclass(frozen=True)
class BoardFeatures(Features):
  """Stacks behind and ranges at fixed places, of all boards of a street of hold'em, for the street before.

  The network leads from them to the value of betting; `scale` is float32[], in pots.
  """

  NAME = "places and stacks of boards"

  cards: int = cards.BOARD_SIZE  #: number of cards on the boards: 5 of rivers

  @property
  def extent(self) -> tuple[int, tuple[int, int]]:
    """The numbers of stacks, and of places of each player's hands, in a network; the same on one street."""
    places = PLACES * (1 + (self.cards < cards.BOARD_SIZE))
    return len(RATIOS), (places, places)

  @property
  def hands(self) -> tuple[int, int]:
    return len(cards.ALL_HANDS), len(cards.ALL_HANDS)

  def text(self, card: Mapping[str, JSON]) -> str:
    return f"{card.get('learned_from', 0)} {cards.STREETS[self.cards]}s"

  def shapes(self, count: int) -> dict[str, storage.Shape]:
    """Those of `board`; of `ratio`, the stack behind in pots; and of `checked0` and `checked1`.

    The last are the values of each player's hands without chips behind, in pots, as all values of boards.
    """
    single = np.dtype(np.float32)
    checked = dict.fromkeys(CHECKED, ((count, len(cards.ALL_HANDS)), single))
    return {"board": ((count, self.cards), np.dtype(int)), "ratio": ((count,), single), **checked}

  @staticmethod
  def checked(examples: Solved) -> Pair:
    """For each player float32[n, 1326], the values if both check from there on."""
    first, second = (examples.inputs[name] for name in CHECKED)
    return first, second

  def fault(self, examples: Solved) -> str | None:
    if wrong := unsound(examples.ranges, self.checked(examples)):
      return wrong
    return None if (examples.inputs["ratio"] >= 0).all() else "a stack behind is negative"

  def unlike(self, other: Features) -> str | None:
    return None if self.cards == other.cards else f"have {other.cards} cards, not {self.cards}"

  def scale(self, examples: Solved) -> np.ndarray:
    added = [v - c for v, c in zip(examples.values, self.checked(examples), strict=True)]
    return np.asarray(np.sqrt(np.mean([np.mean(x**2) for x in added])) or 1.0, np.float32)

  def untrained(
    self, examples: Solved, scale: np.ndarray, seed: int, width: int, layers: int
  ) -> ValueNetwork:
    with precision("float32"):
      return ValueNetwork(*self.extent, width, layers, jax.random.key(seed))

  def tensors(self, scale: np.ndarray, examples: Solved, rows: np.ndarray) -> "BoardTensors":
    ranges = [r[rows] for r in examples.ranges]
    added = [v[rows] - c[rows] for v, c in zip(examples.values, self.checked(examples), strict=True)]
    return self._tensors(scale, examples.inputs["board"][rows], examples.inputs["ratio"][rows], ranges, added)

  @staticmethod
  def _tensors(
    scale: np.ndarray,
    board: np.ndarray,
    ratio: np.ndarray,
    ranges: Sequence[np.ndarray],
    added: Sequence[np.ndarray],
  ) -> "BoardTensors":
    """Boards with what betting adds, in pots."""
    place = hand_places(board)
    beside = [compatible(r.astype(float)) for r in ranges[::-1]]
    alive, single = place[:, :, 0] >= 0, np.float32
    at = [
      np.concatenate([_ranges_at(r[k : k + 64], place[k : k + 64]) for k in range(0, len(r), 64)])
      for r in ranges
    ]
    pair = lambda x: (jnp.asarray(x[0], single), jnp.asarray(x[1], single))  # noqa: E731
    return BoardTensors(
      at_ratios(ratio),
      jnp.asarray(place),
      pair(at),
      pair(ranges),
      pair([b * alive for b in beside]),
      pair([x / scale for x in added]),
    )

  @classmethod
  def blank(cls, places: int, slots: tuple[int, int], width: int, layers: int) -> Network:
    return eqx.filter_eval_shape(ValueNetwork, places, slots, width, layers, jax.random.key(0))

  @classmethod
  def stored(cls, places: int) -> dict[str, storage.Shape]:
    if places != len(RATIOS):
      raise ValueError(f"The network knows {places} fixed stacks, these values {len(RATIOS)}; train it anew.")
    return {"scale": ((), np.dtype(np.float32))}

  def to_arrays(self) -> dict[str, np.ndarray]:
    return {}

  @classmethod
  def from_file(cls, card: Mapping[str, JSON], arrays: Mapping[str, np.ndarray]) -> "BoardFeatures":
    return cls(card.get("cards", cards.BOARD_SIZE))

  def worths(self, values: Learned, given: Situation) -> np.ndarray:
    """float64[2, 1326]: the mean wins of the hands of a turn or flop, in chips; 0 of hands that it blocks.

    Each range of the situation has some hand, and needs no scale. The bets do not matter.
    """
    board, live = np.array([given.board]), np.flatnonzero(cards.unblocked(given.board))
    ranges = given.ranges * cards.unblocked(given.board)
    ranges /= ranges.sum(1, keepdims=True)
    nothing = np.zeros((1, len(cards.ALL_HANDS)))
    ratio, known = np.array([given.stack / given.pot - 0.5]), (ranges[:1], ranges[1:])
    one = self._tensors(values.scale, board, ratio, known, (nothing, nothing))
    betting = _errors(values.network, one).differences  # over values of 0
    wins = np.concatenate([np.asarray(x, float) for x in betting]) * values.scale
    with precision("float32"):
      net_wins = np.asarray(net_wins_on(board[0], cards.ALL_HANDS[live]), float)
    wins[:, live] += ranges[::-1, live] @ net_wins.T / 2
    beside = np.array([compatible(other) for other in ranges[::-1]])
    return given.pot * np.divide(wins, beside, out=np.zeros_like(wins), where=beside > 0)

  def street_leaves(
    self,
    situations: Sequence[Situation],
    hands: np.ndarray,
    ranges: Sequence[np.ndarray],
    ends: tuple[np.ndarray, np.ndarray],
  ) -> StreetLeaves:
    """The leaves of streets before these boards; see `batches.StreetValues`."""
    showdown_payoff, fold_payoff = ends
    stacks = np.array([one.stack for one in situations])[:, None]
    (left,) = np.nonzero(showdown_payoff[0] < stacks[0])
    ratio = at_ratios((stacks - showdown_payoff[:, left]) / (2 * showdown_payoff[:, left]))
    pot = np.array([one.pot for one in situations], float)
    boards = np.array([one.board for one in situations])
    later = boards.size > 0  # than before the flop
    kind, tables = (StreetLeaves, street_tables(boards, hands)) if later else (FlopLeaves, flop_tables())
    chips = {"showdown_payoff": showdown_payoff, "fold_payoff": fold_payoff, "pot": pot, "ratio": ratio}
    first, second, chips = jax.tree.map(jnp.asarray, (*ranges, chips))
    return kind(ranges=(first, second), left=tuple(left.tolist()), **tables, **chips)

  def bind(
    self, values: Learned, subgames: Subgames, public_states: Sequence[int], pad_to: PadTo | None
  ) -> "BoundBoards":
    """See `search.ValueFunction`; ValueError but for all next cards after some lines of betting."""
    (form, lines, leaves), game = lines_of(subgames, self.cards - 1), subgames.labels.game
    held, betting = form.deal.held, lines.betting
    boards, count = lines.boards[1], len(public_states)
    places = [lines.place(s) for s in public_states]
    line = [at for at, runout in places if runout == 0]
    whole = [(at, runout) for at in line for runout in range(boards)] == places
    if not whole or any(betting.player[betting.parent[at]] != CHANCE for at in line):
      raise ValueError(
        f"{game}: values of {cards.STREETS[self.cards]}s are for searches that end with the "
        f"{cards.STREETS[self.cards - 1]}; set lookahead='round'."
      )
    shape = subgames.shape([public_states] if count else [])
    rows = (shape if pad_to is None else pad_to(shape)).roots[0] // boards  # lines of betting, with padding
    spent = np.array([max(form.game.public_states[at].spent) for at in line] + [0] * (rows - len(line)))
    behind = form.game.get_parameters()["stack"] - spent
    place = hand_places(np.array([(*form.deal.board, *card) for card in lines.dealt.runouts[1].tolist()]))

    def paid(street: int, showdown_payoff: np.ndarray, fold_payoff: np.ndarray) -> BoardLeaves:
      """The leaves on all boards of a street that pay these showdowns and folds."""
      count, evaluator = lines.boards[street], leaves.streets[street]
      evaluator = evaluator.folds if isinstance(evaluator, AllInLeaves) else evaluator
      showdowns, folds = (np.tile(x.astype(float), (count, 1)) for x in (showdown_payoff, fold_payoff))
      evaluator = dataclasses.replace(evaluator, showdown_payoff=showdowns, fold_payoff=folds)
      return BoardLeaves((evaluator,), (count,), ((len(showdown_payoff), len(fold_payoff)),), leaves.batched)

    mixtures = [np.asarray(at_places(place[:, numbers])) for numbers in held]
    weights = [w * (place[:, numbers, 0] >= 0) for w, numbers in zip(form.weights, held, strict=True)]
    return BoundBoards(
      values.network,
      values.scale,
      paid(-1, spent, spent[:0]),
      paid(1, spent[:0], 2 * spent),
      np.asarray(at_ratios(behind / np.maximum(2 * spent, 1))),
      (mixtures[0], mixtures[1]),
      (weights[0], weights[1]),
    )


def lines_of(
  subgames: Subgames, size: int = cards.BOARD_SIZE - 1
) -> tuple[CardGame, PublicStateIndex, BoardLeaves]:
  """A turn, or another street with `size` cards, its lines of betting and its leaves; else ValueError."""
  source, leaves = subgames.labels.source, subgames.tree.leaves
  if isinstance(source, FormOrigin) and isinstance(leaves, BoardLeaves):
    lines, form = source.lines, source.lines.form
    streets, deck = cards.BOARD_SIZE - size + 1, len(cards.WHOLE_DECK)
    if isinstance(form, CardGame) and (len(lines.boards), len(getattr(form.game, "deck", ()))) == (
      streets,
      deck,
    ):
      return form, lines, leaves
  game = subgames.labels.game
  raise ValueError(
    f"{game}: values of {cards.STREETS[size + 1]}s are for {cards.STREETS[size]}s of hold'em with the whole "
    f"deck; use {size} board cards."
  )


@eqx.filter_jit
def _errors(network: Network, data: "BoardTensors") -> Errors:
  return data.errors(network)


@jax.jit
def _ranges_at(ranges: Array, place: Array) -> Array:
  """[n, K]: the shares of the fixed places in ranges [n, H] of hands at places [n, H, Q]."""
  return jnp.einsum("nh,nhk->nk", ranges, at_places(place))


class BoardTensors(NamedTuple):
  """Examples on the device; the value of betting is in units of `NetworkValues.scale`."""

  ratio: Array  #: [n, len(RATIOS)]
  place: Array  #: [n, 1326, Q], see `hand_places`
  at: tuple[Array, Array]  #: for each player the range at the fixed places, [n, K]
  ranges: tuple[Array, Array]  #: of each player [n, 1326]
  #: for each player's hands the share of the opponent's range that they do not block.
  beside: tuple[Array, Array]
  added: tuple[Array, Array]  #: for each player's hands the value of betting

  def rows(self, at: Array) -> "BoardTensors":
    """Some examples, by number."""
    return jax.tree.map(lambda x: x[at], self)

  def errors(self, network: Network) -> Errors:
    """The errors of a network."""
    mixtures = at_places(self.place)
    added = [jnp.einsum("nk,nhk->nh", x, mixtures) for x in network(self.ratio, self.at)]
    added = balanced(added, [r * b for r, b in zip(self.ranges, self.beside, strict=True)])
    alive = (self.place[..., 0] >= 0).astype(self.place.dtype)
    first, second = ((x * b - a) * alive for x, b, a in zip(added, self.beside, self.added, strict=True))
    return Errors((first, second), self.added, (alive, alive), self.ranges)


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class BoundBoards:
  """`NetworkValues` on all B next boards after n lines of betting on a street; rows are line by line."""

  #: network, scale: see `NetworkValues`.
  network: Network
  scale: Array
  showdowns: BoardLeaves  #: n without further bets, on each board of five cards
  folds: BoardLeaves  #: n folds of player 1 that win the whole pot, on each of the B boards
  ratio: Array  #: [n, len(RATIOS)]
  mixtures: tuple[Array, Array]  #: for each player [B, H, K], the places of the hands on each board
  weights: tuple[Array, Array]  #: for each player [B, H], of the hands that the board leaves

  def __call__(self, player: int, ranges: Ranges) -> Array:
    """The values that `subgames.BoundValues` asks for; rows are lines, one after the other."""
    boards, lines = len(self.weights[0]), len(self.ratio)
    by_board = [r.reshape(lines, boards, -1).swapaxes(0, 1) for r in ranges]  # [B, n, H]
    at = []
    for r, weight, mixture in zip(by_board, self.weights, self.mixtures, strict=True):
      sums = normalised((r * weight[:, None]).reshape(boards * lines, -1), jnp.repeat(weight > 0, lines, 0))[
        0
      ]
      at.append(jnp.einsum("bnh,bhk->bnk", sums.reshape(r.shape), mixture).reshape(boards * lines, -1))
    outputs = self.network(jnp.tile(self.ratio, (boards, 1)), (at[0], at[1]))
    added = [
      jnp.einsum("bnk,bhk->bnh", x.reshape(boards, lines, -1), m).reshape(boards * lines, -1)
      for x, m in zip(outputs, self.mixtures, strict=True)
    ]
    reach = [r.reshape(boards * lines, -1) for r in by_board]
    below = self.showdowns.boards[0] // boards  # boards of five cards after each
    down = jnp.repeat(by_board[1 - player], below, 0).reshape(below * boards * lines, -1)
    down = self.showdowns(player, [down, down[:0]])[0].reshape(boards, below, lines, -1)
    folds = [self.folds(i, [reach[1 - i][:0], reach[1 - i]])[1] for i in (0, 1)]
    pots = [(1 - 2 * i) * fold for i, fold in enumerate(folds)]
    added = balanced(added, [r * pot for r, pot in zip(reach, pots, strict=True)])
    values = down.sum(1).reshape(boards * lines, -1) + pots[player] * added[player] * self.scale
    return values.reshape(boards, lines, -1).swapaxes(0, 1).reshape(boards * lines, -1)
