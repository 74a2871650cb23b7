"""Subgames in tests: ranges and values by the package, what stands at the roots by `reference_subgames`."""

import functools

import jax
import numpy as np
import pyspiel
from random_games import random_game
from reference_subgames import Game, tables_of

from ps_cfr_spiel import build_tree, cfr
from ps_cfr_spiel.backend.device import jit, precision, to_device
from ps_cfr_spiel.compilation.histories import HistoryOrigin
from ps_cfr_spiel.resolving.subgames import Shape, Subgames, unsafe
from ps_cfr_spiel.resolving.subgames.ranged_leaves import GadgetLeaves
from ps_cfr_spiel.rules import RMPlus
from ps_cfr_spiel.tree import action_values, best_response_values, sequence_reach

TURN = "holdem_subgame(deck=5x2,board=2c3c4d5d,stack=300,ranges=6c6d 5c4c 6d2d:0.5;6c2d 3d2d 5c3d:2)"
TINY = "river_subgame(board=KhKd8c4s2h,stack=500,ranges=AsAd QsQd:0.5 7c6c;JsJd Ah8h 5c4c:3)"


def values_of(leaves, player, reach):
  """A player's values at leaves, compiled as one: step by step, each step would be compiled for itself."""
  return jax.jit(lambda leaves, reach: leaves(player, reach))(leaves, reach)


def decisions(subgames):
  """The public states in which a player acts."""
  return [s for s, state in enumerate(subgames.labels.public_states) if state.player >= 0]


def levels(subgames, player):
  """A player's public states by the number of own decisions before."""
  states, own = subgames.labels.public_states, {}
  for s in decisions(subgames):
    level, above = 0, s
    while states[above].parent >= 0:
      above = states[above].parent
      level += states[above].player == player
    if states[s].player == player:
      own.setdefault(level, []).append(s)
  return [own[level] for level in sorted(own)]


def judge(tree, strategies, range_):
  """How far from equilibrium both players are in a gadget, NashConv, and the best response of who chooses.

  What the chooser gets for not playing on is none of the other player's values, but counts. Values of the
  other player's roots do not know how often that player comes there, by `range_`.
  """
  chooser = tree.leaves.chooser
  best = [best_response_values(tree, i, strategies[1 - i])[1] for i in (0, 1)]
  forest = tree.players[chooser]
  left = forest.leaf.pull(sequence_reach(forest, strategies[chooser]))[-1]
  other = (best[1 - chooser] * range_).sum() - (left * tree.leaves.terminate).sum()
  return best[chooser].sum() + other, best[chooser].sum()


@jit()
def _solve(tree, range_, iterations):
  state = cfr.iterate(tree, cfr.init(tree, RMPlus(), "float64"), iterations, rule=RMPlus())
  average = cfr.average_strategy(tree, state)
  return average, judge(tree, average, range_) if type(tree.leaves) is GadgetLeaves else (0, 0)


def solve(game, range_, iterations):
  """Both players' average strategies in a `GadgetTree`, as host arrays, and what `judge` says of them."""
  with precision("float64"):
    average, found = _solve(*to_device((game.tree, range_), "float64"), iterations)
    return [[np.asarray(block) for block in blocks] for blocks in average], *map(float, found)


def root_histories(subgames, player, roots):
  """For each root and type the actions to a history there, or None if there is none: [R][H]."""
  labels, types = subgames.labels, subgames.tree.players[player].types
  rows, source = [], labels.source
  for node, s in zip(roots.node.tolist(), roots.public.tolist(), strict=True):
    if isinstance(source, HistoryOrigin) and subgames.nodes.histories:
      rows.append([tuple(source.histories.path(node))])
    elif isinstance(source, HistoryOrigin):
      members = np.flatnonzero(source.public == s)
      of = source.types[player][members]
      rows.append([
        tuple(source.histories.path(int(members[of == h][0]))) if (of == h).any() else None
        for h in range(types)
      ])  # fmt: skip
    else:
      moves = labels.source.history(s)[2:]
      compatible = source.lines.dealt.disjoint if player == 0 else source.lines.dealt.disjoint.T
      dead = _dead(subgames, s)
      row = []
      for h, others in enumerate(compatible):
        alive = [g for g in np.flatnonzero(others) if not dead[1 - player][g]]
        pair = (h, int(alive[0])) if alive and not dead[player][h] else None
        row.append(pair and (*(pair if player == 0 else pair[::-1]), *moves))
      rows.append(row)
  return rows


def _dead(subgames, public_state):
  """For each player bool[H]: does the hand hold a card that has come since the deal?"""
  labels = subgames.labels
  state = pyspiel.load_game(labels.game).new_initial_state()
  for move in labels.source.history(public_state):
    state.apply_action(move)
  deck = state.get_game().deck if (dealt := getattr(state, "runout", ())) else ()
  runout = [deck.index(card) for card in dealt]
  return [np.isin(cards, runout).any(1) for cards in labels.source.lines.form.cards]


def known_at(game, subgames, player, roots):
  """What a player knows at each root and type, as `reference_subgames.Game` has it: [R][H], or None."""
  return [
    [None if path is None else game.known[game.index[path]][player] for path in row]
    for row in root_histories(subgames, player, roots)
  ]


def at_roots(game, subgames, player, roots, values):
  """What `reference_subgames.Game` found, at the roots: [n, H]."""
  rows = known_at(game, subgames, player, roots)
  return np.array([[0.0 if known is None else values[known] for known in row] for row in rows])


def ranges_at(subgame, reach):
  """Both players' ranges at the roots of a subgame, from `reaches`; padding is zero."""
  ranges = []
  for flat, roots in zip(reach, subgame.roots, strict=True):
    range_ = flat[roots.sequence]
    range_[len(roots.knowledge) :] = 0
    for s in np.unique(roots.public):
      here = np.flatnonzero(roots.public == s)
      range_[here] = range_[here] if range_[here].any() else 1.0  # where nobody comes, all count the same
    ranges.append(range_)
  return tuple(ranges)


def reaches(tree, tables):
  """Reach of every sequence of both players, [sequences, H]."""
  with precision("float64"):
    found = _reach(to_device(tree.players, "float64"), to_device(tables, "float64"))
    return [np.concatenate(parts) for parts in found]


@jit()
def _reach(players, tables):
  return [sequence_reach(player, table) for player, table in zip(players, tables, strict=True)]


@jit()
def _values(tree, strategies):
  reach = [sequence_reach(p, s) for p, s in zip(tree.players, strategies, strict=True)]
  return [action_values(tree, i, strategies[i], reach)[1] for i in (0, 1)]


@jit()
def _responses(tree, strategies):
  return [best_response_values(tree, i, strategies[1 - i])[1] for i in (0, 1)]


def values_at_roots(subgame, tables, ranges, frontier=None, best=False):
  """Both players' values at the roots, [n, H], when they play by tables of the whole game.

  Args:
    subgame: cut.
    tables: of the whole game.
    ranges: at the roots.
    frontier: bound values, if there is a frontier.
    best: best responses to the tables instead.
  """
  tree = unsafe(subgame, 0, ranges, None, frontier).tree
  strategies = [subgame.there(i, tables[i]) for i in (0, 1)]
  with precision("float64"):
    found = (_responses if best else _values)(*to_device((tree, strategies), "float64"))
    return [np.asarray(v)[: len(s.knowledge)] for v, s in zip(found, subgame.roots, strict=True)]


def rounded(shape):
  """All sizes rounded up to powers of two: a `pad_to`."""

  def up(sizes):
    return tuple(1 << (n - 1).bit_length() if n else 0 for n in sizes)

  rows = tuple({key: 1 << (n - 1).bit_length() for key, n in blocks.items()} for blocks in shape.rows)
  return Shape(rows, tuple(map(up, shape.leaves)), up(shape.roots), up(shape.frontier))


def common_shape(subgames, groups, **options):
  """The least shape that holds the subgames of all of these groups of public states: a `pad_to`."""
  shapes = [subgames.cut(group, **options).shape for group in groups]
  shape = shapes[0]
  for other in shapes[1:]:
    shape = shape.union(other)
  return lambda own: shape


@functools.cache
def whole(name):
  """A game's histories in plain Python."""
  return Game(random_game(int(name)) if name.isdigit() else pyspiel.load_game(name))


@functools.cache
def subgames_of(name, leaves="auto"):
  game = random_game(int(name)) if name.isdigit() else pyspiel.load_game(name)
  return Subgames(build_tree(game, leaves=leaves))


@functools.cache
def played(name, leaves="auto", seed=1):
  """A random profile with everything that is to know of it."""
  profile = whole(name).random(seed)
  tables = tables_of(subgames_of(name, leaves).tree, profile)
  return profile, tables, reaches(subgames_of(name, leaves).tree, tables)


def check_values(name, leaves, public_states, pad_to=None, best=False):
  """Values at each of these roots, cut alone, against plain Python."""
  subgames, game = subgames_of(name, leaves), whole(name)
  profile, tables, reach = played(name, leaves)
  truth = [game.responses(profile, i) for i in (0, 1)] if best else game.values(profile)
  for s in public_states:
    subgame = subgames.cut([s], pad_to=pad_to)
    found = values_at_roots(subgame, tables, ranges_at(subgame, reach), best=best)
    for i in (0, 1):
      expected = at_roots(game, subgames, i, subgame.roots[i], truth[i])
      if subgames.labels.public_states[s].player < 0:  # before the deal there is one infostate, of all types
        expected, found[i] = expected[:, 0], found[i].sum(1)
      np.testing.assert_allclose(found[i], expected, rtol=0, atol=1e-11)
