"""Small games of dealt cards, as OpenSpiel's strings."""


def poker(ranks, suits, hole, board, raises=2, bets="limit"):
  """A small game of OpenSpiel's `universal_poker`."""
  rounds = len(board.split())
  sizes, first, most = (" ".join(map(str, x[:rounds])) for x in ((2, 4, 4, 4), (1,) * 4, (raises,) * 4))
  return (
    f"universal_poker(betting={bets},numPlayers=2,numRounds={rounds},blind=1 2,raiseSize={sizes},"
    f"firstPlayer={first},maxRaises={most},numSuits={suits},numRanks={ranks},numHoleCards={hole},"
    f"numBoardCards={board},stack=20 20)"
  )
