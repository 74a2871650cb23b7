"""The package's games with parameters of every kind: {game: {kind: string}}.

Those of `ENUMERATED` are small enough that a test looks at all of their histories.
"""

import pytest

CHEAT = "cheat(ranks=2,suits=2,hand_size=2,max_turns=2)"
ONE_CARD_EACH = "cheat(ranks=3,suits=1,hand_size=1,max_turns=5)"
CARDS_LEFT_OVER = "cheat(ranks=3,suits=2,hand_size=2,max_discard=1,max_turns=2,first_player=0)"
GLASSES = "glasses(edges=0-1 1-2 2-3,start=3:0,turns=2)"
GRAPH_PURSUIT = "graph_pursuit(edges=0-1 1-2 2-3,start=0:3,goal=2,turns=2)"
PARAMETRIC_POKER = "parametric_poker(ranks=2,copies=2)"
RIVER = "river_subgame(ranges=AsKd QsQh;TsTh 8h7h)"
WEIGHTED_RIVER = "river_subgame(ranges=AhKh:0.5 QQ:0.1 6h2d;AhQh:3 QhTs 62o:0.25 6c2h,stack=900)"

ENUMERATED = {
  "cheat": {"tiny": CHEAT, "one card each": ONE_CARD_EACH},
  "glasses": {
    "one stone on a path": GLASSES,
    "one turn": "glasses(turns=1)",
    "triangle": "glasses(edges=0-1 1-2 2-0,start=0:1,turns=3,stay=no)",
    "one stone moves": "glasses(edges=0-1 1-2 2-3 3-0 0-2,start=3:1 1,turns=2,moving=one)",
    "one stone moves, no pass": "glasses(edges=0-1 1-2 2-3 3-0,start=3:1 1,turns=2,moving=one,stay=no)",
    "evader first": "glasses(edges=0-1 1-2 2-3 3-0 0-2,start=3:1,turns=2,first=evader)",
    "short lens": "glasses(preset=lens,turns=2)",
    "three stones": "glasses(edges=0-1 1-2 2-3 3-4 4-5 5-0,start=3:0 0 1,turns=1)",
  },
  "graph_pursuit": {
    "path": GRAPH_PURSUIT,
    "the goal ends it": "graph_pursuit(edges=0-1 1-2 2-3,start=0:3,goal=1,turns=2,goal_ends=yes,timeout=1.0)",
    "one way": "graph_pursuit(edges=0>1 1>2 2>3,start=0:2 3,goal=3,turns=3,sight=1)",
  },
  "holdem_subgame": {
    "a small deck": "holdem_subgame(deck=5x2,board=2c3c4d5d,stack=300,ranges=6c6d 5c4c;6c2d 3d2d)",
    "sizes of each player": "holdem_subgame(deck=5x2,board=2c3c4d5d,stack=600,"
    "bets=x | 0.5 a / 1 | x,ranges=6c6d 5c4c;6c2d 3d2d)",
    "a small deck from the flop": (
      "holdem_subgame(deck=5x2,board=2c3c4d,stack=200,ranges=6c6d 5c4c;6c2d 5d3d)"
    ),
    "raked": "holdem_subgame(deck=5x2,board=2c3c4d5d,stack=300,ranges=6c6d 5c4c;6c2d 3d2d,rake=5%)",
  },
  "parametric_poker": {"small": PARAMETRIC_POKER},
  "river_subgame": {
    "tiny ranges": RIVER,
    "weighted ranges that block each other": WEIGHTED_RIVER,
    "rich bets": "river_subgame(ranges=AsKd 6h2d;QdQc,stack=800,bets=0.25 0.5 1 2.5 a)",
    "fewer sizes later": "river_subgame(ranges=AsKs 6s6h;QsQh,bets=0.5 1 a;1 a;a)",
    "sizes of each player": "river_subgame(ranges=AsKs 66;QQ,stack=1200,bets=x;0.5 a | 0.33 1;x)",
    "one pot behind": "river_subgame(board=AhKh2c2d7s,pot=100,stack=150,ranges=QQ+;72s,bets=0.5 1 a)",
    "no all-in": "river_subgame(ranges=AsKd QQ;TT 87s,stack=1000,bets=0.75;0.75)",
    "all-in before the river": "river_subgame(stack=100,ranges=AsKd QQ;TT 87s)",
    "raked to a cap": "river_subgame(ranges=AsKd QQ;TT 87s,stack=400,rake=5.5%,cap=12)",
    "the board plays": "river_subgame(board=AsKsQsJsTs,ranges=99;88 AdKd,stack=700)",
  },
}

SAMPLED = {
  "cheat": {
    "default, the half deck": "cheat",
    "full deck dealt to two": "cheat(ranks=13,hand_size=26,max_turns=10)",
    "full deck dealt to three": "cheat(players=3,ranks=13,hand_size=17,max_turns=10)",
    "four players": "cheat(players=4,hand_size=3,first_player=2,max_turns=12)",
    "tiny, cards left over": CARDS_LEFT_OVER,
    "one turn": "cheat(players=3,ranks=2,suits=3,hand_size=2,max_turns=1)",
    "two decks": "cheat(ranks=5,suits=8,max_discard=3,hand_size=9)",
  },
  "glasses": {"default": "glasses", "lens": "glasses(preset=lens)"},
  "graph_pursuit": {"grid": "graph_pursuit(turns=2)", "alleys": "graph_pursuit(preset=alleys)"},
  "holdem": {
    "the default": "holdem",
    "raked": "holdem(stack=1000,rake=5%,cap=30)",
    "short stacks": "holdem(stack=2000,bets=2.5x a / 0.5 1 a;a / 1 a)",
    "any bets": "holdem(stack=1000,bets=fullgame)",
    "a small deck": "holdem(stack=12,blinds=2/1,deck=5x2)",
    "other sizes": "holdem(stack=1000,bets=300c 2e 1/3; 3x a / e)",
  },
  "holdem_subgame": {
    "turn": "holdem_subgame(stack=1000,ranges=TT+ AQs+;99+ KQs)",
    "flop": "holdem_subgame(board=QsJh2h,bets=0.5 a / 1 a;a / fcpa,ranges=TT+ AQs+;99+ KQs)",
    "river": "holdem_subgame(board=9s7c5s4h3c,ranges=AsKd QQ;TT 87s)",
    "weighted ranges": "holdem_subgame(stack=900,ranges=AhKh:0.5 QQ:0.1 6h2d;AhQh:3 QhTs 62o:0.25)",
    "all-in before the turn": "holdem_subgame(stack=100,ranges=AsKd QQ;TT 87s)",
  },
  "parametric_poker": {
    "default": "parametric_poker",
    "sizes": "parametric_poker(bets=2,raises=3,max_raises=2,ranks=2)",
    "no raises": "parametric_poker(max_raises=0,ranks=3,copies=1)",
    "fold last": "parametric_poker(bets=3,raises=1,ranks=2,fold_last=true)",
  },
  "river_subgame": {"default": "river_subgame"},
}


def each(*tables, games=()):
  """A test for each variant, enumerated ones and others by default, of some games or of all."""
  rows = {
    f"{game}: {kind}": string
    for table in tables or (ENUMERATED, SAMPLED)
    for game, kinds in table.items()
    for kind, string in kinds.items()
    if not games or game in games
  }
  return pytest.mark.parametrize("game_string", rows.values(), ids=rows)
