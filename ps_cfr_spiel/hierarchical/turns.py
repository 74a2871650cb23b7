"""A turn of modified external sampling: clusters meet only above the cards (Brown et al. 2015, Algorithm 4).

Each turn deals B pairs of hands and plays the *head*, the betting before the first public cards. Where
it leaves the head, every cluster n draws one of its own boards, goes on alone, and hands back a value; the
head takes their mean by F_n, the number of boards of the cluster that both hands leave possible.

As it is printed, the algorithm weighs what a cluster learns by 1, whatever F_n is. A pair of hands and a
board then come with probability 1 / F_n, though chance deals them all equally often, so the histories of an
infostate are weighed wrongly. Here a cluster's increments are multiplied by F_n over the number of all
boards, the probability that chance chooses the cluster.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from ps_cfr_spiel import mccfr
from ps_cfr_spiel.hierarchical.dealt_game import SPECIAL, DealtGame
from ps_cfr_spiel.hierarchical.hierarchy import DealtAbstraction
from ps_cfr_spiel.hierarchical.lines import Lines, ascend, descend, leaving
from ps_cfr_spiel.hierarchical.parts import head_and_child
from ps_cfr_spiel.poker import card_sets

WORD = 32  # bits in which sets of cards are kept


class Cards(NamedTuple):
  """What of the cards sampling needs; a mask is uint32[words], a bit for each card.

  Attributes:
    hand_masks: uint32[H, words].
    hand_swaps: int32[S, H].
    set_masks: for each round from the special one on uint32[N, words], of the sets that may come.
    index, swap: for each of these rounds int32[P, N], as in `Runouts`.
    board_masks: for each of these rounds uint32[K, words], of all public cards.
    buckets: for each round int32[K, H].
    strength: int32[K, H].
  """

  hand_masks: Any
  hand_swaps: Any
  set_masks: tuple[Any, ...]
  index: tuple[Any, ...]
  swap: tuple[Any, ...]
  board_masks: tuple[Any, ...]
  buckets: tuple[Any, ...]
  strength: Any


class Sampled(NamedTuple):
  """A dealt game and its abstraction, ready to be sampled.

  Attributes:
    head, child: the lines of the first round, and those of all others, whose roots are lines of the head.
    leaving: int32[S], these lines in the head.
    cards: see `Cards`.
    every: [], how many boards two hands leave possible.
  """

  head: Lines
  child: Lines
  leaving: Any
  cards: Cards
  every: Any


class HierarchicalState(NamedTuple):
  """All that a run remembers.

  Attributes:
    iteration: int32[], iterations done.
    key: uint32[2], of the run's random numbers; it never changes.
    head_regrets, head_average: [A, S] of the head.
    regrets, average: [C', A, S], of each cluster, and of empty ones that fill up the devices.
  """

  iteration: Any
  key: Any
  head_regrets: Any
  head_average: Any
  regrets: Any
  average: Any


def sampled(game: DealtGame, abstraction: DealtAbstraction) -> Sampled:
  """On the host."""
  form = game.form
  head, child = head_and_child(game, abstraction.sizes)
  deck, later = form.deck.size, range(SPECIAL, game.rounds)
  cards = Cards(
    hand_masks=_masks(game.hands, deck),
    hand_swaps=game.hand_swaps,
    set_masks=tuple(_masks(card_sets(deck, form.public[number]), deck) for number in later),
    index=tuple(game.runouts[number].index for number in later),
    swap=tuple(game.runouts[number].swap for number in later),
    board_masks=tuple(_masks(game.runouts[number].cards, deck) for number in later),
    buckets=tuple(np.maximum(table, 0) for table in abstraction.buckets),
    strength=game.strength,
  )
  return Sampled(head, child, leaving(head), cards, np.asarray(float(game.boards_left(SPECIAL))))


def _masks(sets: np.ndarray, deck: int) -> np.ndarray:
  """uint32[N, words] of sets int[N, n] of cards."""
  masks = np.zeros((len(sets), -(-deck // WORD)), np.uint32)
  for column in sets.T:
    masks[np.arange(len(sets)), column // WORD] |= np.left_shift(
      np.uint32(1), (column % WORD).astype(np.uint32)
    )
  return masks


def deal(cards: Cards, key: jax.Array, batch: int) -> jax.Array:
  """int32[2, B]: pairs of hands without a card in common, all equally likely."""
  first, second = jax.random.split(key)
  mine = jax.random.randint(first, (batch,), 0, len(cards.hand_masks), jnp.int32)
  free = ((cards.hand_masks[None] & cards.hand_masks[mine][:, None]) == 0).all(-1)
  theirs, _ = _pick(free, jax.random.uniform(second, (batch,)))
  return jnp.stack([mine, theirs])


def _pick(free: jax.Array, uniform: jax.Array) -> tuple[jax.Array, jax.Array]:
  """One of the columns that are free in each row of bool[B, N], and how many there are; 0 where none is."""
  passed = jnp.cumsum(free, 1, dtype=jnp.int32)
  count = passed[:, -1]
  wanted = jnp.minimum((uniform * count).astype(jnp.int32), count - 1)
  return (passed > wanted[:, None]).argmax(1).astype(jnp.int32), count


def traverse(
  game: Sampled,
  boards: jax.Array,
  state: HierarchicalState,
  hands: jax.Array,
  first: jax.Array,
  later: jax.Array,
  traverser: jax.Array,
  weight: jax.Array,
  *,
  gather: Callable[[jax.Array], jax.Array],
  plus: bool,
  printed: bool,
) -> HierarchicalState:
  """One turn: B traversals under one strategy profile, and what they add to the tables.

  Args:
    game: see `solve`.
    boards: int32[C', most], of the clusters that are here.
    state: tables of these clusters, and of the head.
    hands: int32[2, B].
    first: [depths, B], uniform numbers for the head.
    later: [C', rounds + depths, n B], uniform numbers for the clusters, each of which draws n boards for a
      pair of hands and goes by their mean.
    traverser: int32[].
    weight: [], of this turn in the averages.
    gather: makes [C, S, B], of all clusters, of the values [C', S, B] that are here.
    plus: see `solve`.
    printed: see `solve`.
  """
  head, batch = game.head, hands.shape[1]
  sign = (1 - 2 * traverser).astype(first.dtype)
  draws = later.shape[-1] // batch
  dealt = jnp.tile(hands, (1, draws))
  buckets = game.cards.buckets[0][0][hands][:, None]
  root = jnp.ones((1, batch), bool)
  fronts = descend(head, state.head_regrets, buckets, traverser, first, root)
  full = jnp.tile(jnp.concatenate([front.full for front in fronts])[game.leaving], (1, draws))

  def cluster(part):
    own, regrets, average, numbers = part
    values, possible, updates = _below(game, own, regrets, dealt, numbers, traverser, sign, full, printed)
    none = jnp.zeros(0, regrets.dtype)
    regrets, average, _ = mccfr.add((regrets, average, none), updates, weight, 0.0, draws * batch, plus)
    values = (values * possible[None]).reshape(-1, draws, batch).mean(1)
    return values, regrets, average

  values, regrets, average = jax.lax.map(cluster, (boards, state.regrets, state.average, later))
  mean = gather(values).sum(0) / game.every
  ends = jnp.repeat(sign * head.constant[:, None], batch, 1).at[game.leaving].set(mean)
  _, updates = ascend(head, fronts, ends, traverser, jnp.ones(batch, first.dtype))
  tables = (state.head_regrets, state.head_average, jnp.zeros(0, first.dtype))
  head_regrets, head_average, _ = mccfr.add(tables, updates, weight, 0.0, batch, plus)
  return state._replace(
    head_regrets=head_regrets, head_average=head_average, regrets=regrets, average=average
  )


def _below(game: Sampled, boards, regrets, hands, numbers, traverser, sign, full, printed: bool):
  """One cluster's part: values of its roots [S, B], F [B], and increments."""
  cards, lines = game.cards, game.child
  rounds = len(cards.set_masks)
  used = cards.hand_masks[hands[0]] | cards.hand_masks[hands[1]]
  sets = jnp.maximum(boards, 0)
  free = (boards >= 0)[None] & ((cards.set_masks[0][sets][None] & used[:, None]) == 0).all(-1)
  chosen, possible = _pick(free, numbers[0])
  board, came = jnp.zeros_like(chosen), sets[chosen]
  buckets = [cards.buckets[0][0][hands]]
  for k in range(rounds):
    if k > 0:
      used = cards.hand_masks[hands[0]] | cards.hand_masks[hands[1]] | cards.board_masks[k - 1][board]
      came, _ = _pick(((cards.set_masks[k][None] & used[:, None]) == 0).all(-1), numbers[k])
    hands = cards.hand_swaps[cards.swap[k][board, came][None], hands]
    board = cards.index[k][board, came]
    buckets.append(cards.buckets[k + 1][board[None], hands])
  first, second = cards.strength[board[None], hands]
  lead = jnp.sign(first - second).astype(regrets.dtype)
  ends = sign * (lines.constant[:, None] + lines.stake[:, None] * lead[None])
  share = possible.astype(regrets.dtype)
  weight = jnp.where(possible > 0, 1, 0).astype(regrets.dtype) if printed else share / game.every
  fronts = descend(lines, regrets, jnp.stack(buckets, 1), traverser, numbers[rounds:], full)
  values, updates = ascend(lines, fronts, ends, traverser, weight)
  return values, share, updates
