"""The CFR loop: one jitted function for every game, rule, leaf evaluator and update order.

PS-CFR (Kovařík et al. 2021, Algorithms 1 and 3): reach down the player's own decisions, leaf
values from the opponent's reach, values up, regrets to the rule.

`iterate` is the loop, for use inside a trace, and `run` the same, jitted. Under an abstraction a turn expands
the strategy to all infostates, and adds the regrets up in the sets.
"""

from typing import Any, NamedTuple, cast

import jax
import jax.numpy as jnp

from ps_cfr_spiel.arguments import declared
from ps_cfr_spiel.cfr import averages
from ps_cfr_spiel.cfr.regret_rules import native_rule
from ps_cfr_spiel.cfr.rule import Rule
from ps_cfr_spiel.cfr.sixteen_bits import is_narrow, kept_as, widen
from ps_cfr_spiel.cfr.state import WHOLE, Abstraction, PlayerState, SolverState, sets_of_players
from ps_cfr_spiel.device import jit
from ps_cfr_spiel.tree import (
  Array,
  LeafEvaluator,
  PublicTree,
  Sets,
  Stream,
  Walk,
  collapse,
  column_of,
  expand,
  others_reach,
  play,
  record_of,
  sum_actions,
  tables_of,
)


class _Step(NamedTuple):
  """An iteration: its number t, the last one that the average leaves out, and the rule."""

  t: Array
  skip: Array | int
  rule: Rule

  def share(self, dtype) -> Array:
    """The weight of the iteration in the average; 0 up to `skip` (Schmid 2021, Section 21.1)."""
    return self.counts(dtype) * averages.weight(self.t, self.rule.gamma, dtype)

  def counts(self, dtype) -> Array:
    """The same without t ** gamma: 0 up to `skip`, else 1 or by the rule's schedule."""
    counts, schedule = (self.t > self.skip).astype(dtype), getattr(self.rule, "schedule", None)
    return counts if schedule is None else counts * schedule(self.t, dtype)


class _Game(NamedTuple):
  """The parts of the game that the loop visits: the leaves, and each player's walk and sets, if any.

  Its methods take states as `sixteen_bits.widen` gives them.
  """

  leaves: LeafEvaluator
  walks: tuple[Walk, ...]
  sets: tuple[Sets | None, ...]
  stream: Stream | None = None

  def reach(self, player: int, state: PlayerState) -> tuple[Array, list[Array]]:
    """Reach of the sequences, as a column, and of the leaves; see `Walk.down`."""
    return self.walks[player].down(expand(self.sets[player], state.strategy))

  def all_reach(self, players: tuple[PlayerState, ...], rule: Rule) -> tuple[tuple[Array, list[Array]], ...]:
    """The reach of all players; tables possibly in 16 bits."""
    return tuple(self.reach(i, widen(player, rule)) for i, player in enumerate(players))

  def leaf_values(self, player: int, reach) -> list[Array]:
    """The values of the leaves to a player; `reach`: of all players."""
    at_leaves = [leaves for _, leaves in reach]
    return self.leaves(player, others_reach(at_leaves, player), at_leaves[player])

  def collapsed(self, player: int, column: Array) -> Array:
    """A column of all infostates, added up in the player's sets, if there are any."""
    own, sets = self.walks[player].tree, self.sets[player]
    if sets is None:
      return column
    return column_of(collapse(sets, tables_of(column, own.bucket_shapes)), own.types)

  def regrets(self, player: int, state: PlayerState, reach) -> tuple[list[Array], tuple[Array, ...]]:
    """Instantaneous counterfactual regrets, [A, rows, H] for each bucket, and the leaves' record."""
    strategy = expand(self.sets[player], state.strategy)
    leaf_values = self.leaf_values(player, reach)
    values, _ = self.walks[player].up(strategy, leaf_values)
    regrets = [q - sum_actions(p * q) for p, q in zip(strategy, values, strict=True)]
    return regrets, record_of(self.leaves, player, leaf_values)

  def learn(self, player: int, state: PlayerState, reach, step: _Step) -> PlayerState:
    """The player after a turn, in one pass of the native library where that is possible."""
    walk, dtype = self.walks[player], state.average.dtype
    native = native_rule(step.rule, step.t, dtype)
    if native is None or not walk.native or self.sets[player] is not None or state.recorded:
      return self.learn_from(player, state, reach, self.regrets(player, state, reach), step)
    leaf_values = self.leaf_values(player, reach)
    tables = walk.learn(_tables(state), reach[player][0], leaf_values, step.share(dtype), *native)
    return _with_tables(state, tables)

  def plays(self, rule: Rule, players: tuple[PlayerState, ...]) -> bool:
    """Whether the library iterates by itself: for its rules, by boards or where leaves have a matrix each."""
    native = native_rule(rule, jnp.ones((), jnp.int32), players[0].average.dtype)
    if native is None or any(own is not None for own in self.sets) or any(own.recorded for own in players):
      return False
    if self.stream is not None:
      return True
    narrow = any(is_narrow(own.strategy) for own in players)
    has_payoffs = declared(self.leaves, "payoffs") is not None
    return not narrow and has_payoffs and all(walk.native for walk in self.walks)

  def play(
    self, players: tuple[PlayerState, ...], step: _Step, count: Array, alternating: bool
  ) -> tuple[PlayerState, ...]:
    """The players after `count` iterations from `step` on, `averages.LENGTH` at most, if the game `plays`."""
    dtype, leaves = players[0].average.dtype, cast(Any, self.leaves)
    rule, gamma = cast(Any, native_rule(step.rule, step.t, dtype))[0], step.rule.gamma

    def numbers(t) -> Array:
      known = jnp.append(step._replace(t=t).share(dtype), cast(Any, native_rule(step.rule, t, dtype))[1])
      if self.stream is None:
        return known
      folds = jnp.stack([averages.begins(t).astype(dtype), averages.scale(t, gamma).astype(dtype)])
      return jnp.concatenate([folds, known])

    rows = jax.vmap(numbers)(step.t + jnp.arange(averages.LENGTH, dtype=jnp.int32))
    whole = self.stream is not None  # it folds the averages itself
    players = players if whole else tuple(_folded(own, step.rule, step.t) for own in players)
    tables: Any = tuple(_tables(own, whole) for own in players)
    if self.stream is None:
      walks, payoffs = cast(Any, (self.walks, tuple(jnp.asarray(x, dtype) for x in leaves.payoffs())))
      found = play(walks, payoffs, leaves.orders, tables, count, rule, rows, alternating)
    else:
      pair = players[0].average.average is not None
      state = players[0].rule[0] if players[0].rule else players[1].rule[0]
      each = 1 + len(jax.tree.leaves(state))
      found = self.stream.play(leaves, tables, pair, each, count, rule, rows, alternating)
    return tuple(_with_tables(own, new, whole) for own, new in zip(players, found, strict=True))

  def learn_from(self, player: int, state: PlayerState, reach, found, step: _Step) -> PlayerState:
    """The player after a turn, from the result of `regrets`: the reference, for every rule and with sets.

    The leaves' record is kept as S <- S ((t - 1) / t)^gamma + new, which weighs iteration t by t^gamma too;
    leaves are at no infostate, so a rule's `trust` does not touch it.
    """
    (regrets, record), (t, _, rule) = found, step
    average, dtype = state.average, state.average.dtype
    regrets, share = collapse(self.sets[player], regrets), step.share(dtype)
    if (trust := getattr(rule, "trust", None)) is not None:
      factors = [jnp.broadcast_to(trust(x, t), x.shape) for x in regrets]
      share = share * column_of(factors, average.excess.shape[1])
    excess = average.excess - share * self.collapsed(player, reach[player][0])
    buckets = zip(state.rule, state.strategy, regrets, strict=True)
    steps = [rule.update(*bucket, t) for bucket in buckets]
    rules, strategy = zip(*steps, strict=True) if steps else ((), ())
    faded = -jnp.expm1(rule.gamma * jnp.log1p(-1 / t.astype(dtype))) if rule.gamma else jnp.zeros((), dtype)
    terms, counts = (*record, jnp.ones((), dtype)) if record else (), step.counts(dtype)
    recorded = tuple(v + (counts * x - faded * v) for v, x in zip(state.recorded, terms, strict=True))
    return PlayerState(tuple(strategy), average._replace(excess=excess), tuple(rules), recorded)


def _changed(state: PlayerState, whole: bool) -> Any:
  """The tables that a turn changes: the strategy and the rule's of each bucket, and last the average's.

  Of the average that is the excess alone, unless the turn folds it (`whole`).
  """
  buckets = list(zip(state.strategy, state.rule, strict=True))
  return buckets, state.average if whole else state.average.excess


def _tables(state: PlayerState, whole: bool = False) -> list[Array]:
  return jax.tree.leaves(_changed(state, whole))


def _with_tables(state: PlayerState, tables: list[Array], whole: bool = False) -> PlayerState:
  buckets, average = jax.tree.unflatten(jax.tree.structure(_changed(state, whole)), tables)
  strategy, rules = zip(*buckets, strict=True) if buckets else ((), ())
  return PlayerState(strategy, average if whole else state.average._replace(excess=average), rules)


def _folded(state: PlayerState, rule: Rule, t: Array) -> PlayerState:
  """The player before iteration t, with the average as `averages.fold` leaves it."""
  return state._replace(average=averages.fold(state.average, t, rule.gamma))


def _play(game: _Game, players, reach, turn, step: _Step):
  """Players and reach after one turn; `turn`: the players who learn in it."""
  rule, wide = step.rule, {i: widen(players[i], step.rule) for i in turn}
  learned = {i: game.learn(i, wide[i], reach, step) for i in turn}  # all answer the same reach
  learned = {i: kept_as(players[i], state, rule) for i, state in learned.items()}
  players = tuple(learned[i] if i in turn else player for i, player in enumerate(players))
  found = {i: game.reach(i, widen(players[i], rule)) for i in turn}
  return players, tuple(found[i] if i in turn else reach[i] for i in range(len(reach)))


def iterate(
  tree: PublicTree,
  state: SolverState,
  iterations: Array | int,
  skip: Array | int = 0,
  sets: Abstraction = WHOLE,
  *,
  rule: Rule,
  alternating: bool = True,
) -> SolverState:
  """The state after further iterations of CFR, inside a trace; `run` is the same, jitted.

  A run in two calls equals a run in one, bit by bit. The average leaves out iterations 1..`skip`. With
  `alternating` updates a player answers the new strategies of those before; otherwise all answer old ones.
  """
  everyone = tuple(range(len(tree.players)))
  turns = tuple((i,) for i in everyone) if alternating else (everyone,)
  game, end = _game(tree, sets), state.iteration + iterations
  native = game.plays(rule, state.players)  # a call of the library begins with the reach
  reach = () if native else game.all_reach(state.players, rule)

  def iteration(t, carry):
    t, (players, reach) = jnp.asarray(t, jnp.int32), carry  # with `jax.disable_jit` the loop counts in Python
    for turn in turns:
      players, reach = _play(game, players, reach, turn, _Step(t, skip, rule))
    return players, reach

  def block(carry):
    done, players, reach = carry
    t = done + 1
    last = jnp.minimum(averages.last_of_block(t), end)
    if native:
      return last, game.play(players, _Step(t, skip, rule), last - done, alternating), ()
    folded = tuple(_folded(player, rule, t) for player in players)
    return last, *jax.lax.fori_loop(t, last + 1, iteration, (folded, reach))

  t, players, _ = jax.lax.while_loop(
    lambda carry: carry[0] < end, block, (state.iteration, state.players, reach)
  )
  return SolverState(t, players)


run = jit(static_argnames=("rule", "alternating"))(iterate)


run_in_place = jit(static_argnames=("rule", "alternating"), donate_argnames=("state",))(iterate)


def _game(tree: PublicTree, sets: Abstraction) -> _Game:
  return _Game(tree.leaves, tuple(map(Walk.of, tree.players)), sets_of_players(tree, sets), tree.stream)


def take_turn(
  tree: PublicTree,
  state: SolverState,
  skip: Array | int,
  sets: Abstraction = WHOLE,
  *,
  player: int,
  rule: Rule,
) -> tuple[tuple[PlayerState, ...], list[Array]]:
  """One player's turn of the next iteration, for callers that need the regrets of every infostate.

  Player 0's turn and then player 1's are an iteration with alternating updates; the caller counts. Arguments
  are those of `iterate`. Returns both players afterwards, and the regrets of the turn, [A, rows, H] for each
  bucket.
  """
  game = _game(tree, sets)
  reach = game.all_reach(state.players, rule)
  t, players = state.iteration + 1, list(state.players)
  before = players[player]
  own = _folded(widen(before, rule), rule, t)
  found = game.regrets(player, own, reach)
  players[player] = kept_as(before, game.learn_from(player, own, reach, found, _Step(t, skip, rule)), rule)
  return tuple(players), found[0]
