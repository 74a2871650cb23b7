"""Games of all shapes for property tests, drawn by hypothesis, as text for OpenSpiel's `efg_game`."""

import dataclasses

import numpy as np
import pyspiel
from hypothesis import strategies as st

SCALES = (1, 1, 1, 1e-20, 1e20)


@dataclasses.dataclass(frozen=True)
class Shape:
  """What a game is like.

  Attributes:
    deepest: most moves of a history.
    ends: share of histories that end early, at each move.
    chance: share of chance among the moves, anywhere in the game.
    never: chance may have outcomes of probability zero.
    forced: players may have a single action.
    idle: player 1 never acts.
    told: share of the moves of others that a player learns.
    timed: players learn that somebody moved, if not what.
    scale: of utilities.
    seed: of all else.
  """

  deepest: int
  ends: float
  chance: float
  never: bool
  forced: bool
  idle: bool
  told: float
  timed: bool
  scale: float
  seed: int


def shapes(deepest: int = 5):
  """A hypothesis strategy; shrinks towards few moves."""
  share = st.sampled_from([0.0, 0.25, 0.5, 1.0])
  return st.builds(
    Shape,
    deepest=st.integers(1, deepest),
    ends=st.sampled_from([0.0, 0.15, 0.3]),
    chance=st.sampled_from([0.0, 0.2, 0.5]),
    never=st.booleans(),
    forced=st.booleans(),
    idle=st.sampled_from([False, False, False, True]),
    told=share,
    timed=st.booleans(),
    scale=st.sampled_from(SCALES),
    seed=st.integers(0, 2**32 - 1),
  )


def text_of(shape: Shape, most: int = 60) -> str:
  """The game: information is made from what a player saw and did, so that recall is perfect.

  Who moves may depend on the whole history, and a player need not know how many moves were made.
  """
  rng = np.random.default_rng(shape.seed)
  names: tuple[dict, dict] = ({}, {})  # what a player knows -> (number of the infoset, actions there)
  lines, chances, outcomes = [], 0, 0

  def walk(depth, known):
    nonlocal chances, outcomes
    if depth == shape.deepest or (depth and rng.random() < shape.ends) or len(lines) > most:
      outcomes += 1
      payoff = int(rng.integers(-9, 10)) * shape.scale
      lines.append(f't "" {outcomes} "" {{ {payoff!r} {-payoff!r} }}')
      return
    mover = -1 if rng.random() < shape.chance else 0 if shape.idle else int(rng.integers(2))
    if mover < 0:
      weights = rng.integers(0 if shape.never else 1, 4, int(rng.integers(1, 4)))
      weights[0] += not weights.any()
      count, chances = len(weights), chances + 1
      listed = " ".join(f'"c{k}" {w / float(weights.sum())!r}' for k, w in enumerate(weights.tolist()))
      lines.append(f'c "" {chances} "" {{ {listed} }} 0')
    else:
      own = names[mover]
      number, count = own.setdefault(known[mover], (len(own) + 1, int(rng.integers(2 - shape.forced, 4))))
      listed = " ".join(f'"a{a}"' for a in range(count))
      lines.append(f'p "" {mover + 1} {number} "i{number}" {{ {listed} }} 0')
    told = rng.random((2, count)) < shape.told
    for a in range(count):
      after = list(known)
      for player in (0, 1):
        if player == mover:
          after[player] += (("did", a),)
        elif told[player, a]:
          after[player] += (("saw", mover, a),)
        elif shape.timed:
          after[player] += ("?",)
      walk(depth + 1, tuple(after))

  walk(0, ((), ()))
  return 'EFG 2 R "any" { "A" "B" } ""\n' + "\n".join(lines) + "\n"


def game_of(shape: Shape) -> pyspiel.Game:
  """See `text_of`."""
  return pyspiel.load_efg_game(text_of(shape))
