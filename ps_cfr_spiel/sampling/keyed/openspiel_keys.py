"""Any OpenSpiel game as a keyed one, by its strings of infostates or of observations.

Keys get their cells at their first visit, until the tables are full; a digest of 16 bytes is kept of each.
"""

import functools
import hashlib
from collections.abc import Sequence

import numpy as np
import pyspiel

from ps_cfr_spiel.arguments import check_count, check_option
from ps_cfr_spiel.cards.poker import cards
from ps_cfr_spiel.compilation.histories import check_observer, scale_fault
from ps_cfr_spiel.keyed_game import KeyedGame
from ps_cfr_spiel.loading import check_is_game
from ps_cfr_spiel.options import KEYS

DIGEST = 16  # bytes of a key
CELLS = 1_000_000
HOLDEM = "holdem"  # the game of this package
SAVED_KEYS = ("digests", "players", "counts")  # arrays in files, as of `KeyTable.arrays`


def check_keys(saved: Sequence[np.ndarray], players: int | None = None) -> None:
  """ValueError if these cannot be the keys of a game with that number of players; see `KeyTable.arrays`."""
  arrays = list(saved) if isinstance(saved, Sequence) else []
  if [type(array) for array in arrays] == [np.ndarray] * 3:
    digests, owners, counts = arrays
    kinds = digests.dtype == np.uint8 and all(
      np.issubdtype(x.dtype, np.integer) and x.shape == digests.shape[:1] for x in (owners, counts)
    )
    kinds = kinds and (players is None or (owners < players).all())
    if kinds and digests.shape[1:] == (DIGEST,) and (owners >= 0).all() and (counts >= 1).all():
      return
  last = "" if players is None else f" to {players - 1}"
  raise ValueError(
    f"keys: expected those of an earlier run: digests uint8[n, {DIGEST}], players from 0{last}, and numbers "
    f"of moves of at least 1, int[n] each."
  )


class KeyTable:
  """The cells of keys, in the order in which they were met."""

  def __init__(self, cells: int, saved: Sequence[np.ndarray] | None = None):
    """An empty table, or that of `arrays`: OverflowError if that has more cells, ValueError for others."""
    self.cells = cells  #: the most cells
    self.used = 0  #: the number of cells in use
    #: player, first cell and number of moves of each key, by digest.
    self.known: dict[bytes, tuple[int, int, int]] = {}
    if saved is not None:
      check_keys(saved)
      digests, players, counts = saved
      for digest, player, count in zip(digests, players.tolist(), counts.tolist(), strict=True):
        self.add(digest.tobytes(), player, count)

  def add(self, digest: bytes, player: int, count: int) -> tuple[int, int, int]:
    """A new key; OverflowError if its moves find no place."""
    if self.used + count > self.cells:
      raise OverflowError(
        f"The tables are full: {len(self.known):,} keys have {self.used:,} of {self.cells:,} cells, and one "
        f"with {count} moves came. The run is unchanged; start a new one with a larger cells=."
      )
    entry = self.known[digest] = player, self.used, count
    self.used += count
    return entry

  def arrays(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """uint8[n, DIGEST] digests, int32[n] players and int32[n] numbers of moves."""
    digests = np.frombuffer(b"".join(self.known), np.uint8).reshape(-1, DIGEST)
    rows = np.array(list(self.known.values()), np.int32).reshape(-1, 3)
    return digests, rows[:, 0], rows[:, 2]


class OpenSpielKeys(KeyedGame):
  """A game of OpenSpiel with keys that are numbered as plays meet them."""

  def __init__(
    self,
    game: pyspiel.Game,
    key: str = "infostate",
    cells: int = CELLS,
    saved: Sequence[np.ndarray] | None = None,
  ):
    """Nothing is played yet; `saved` are the arrays of a table of keys.

    The `key` is "infostate", or "observation", which forgets the past where observations do. ValueError if
    the game is not zero-sum and sequential, of two players or more, or has no strings to be keys, or has
    utilities out of range; or `saved` holds no keys, or too many. TypeError if `game` is not a game.
    """
    check_is_game(game)
    kind = game.get_type()
    self.key = check_option("key", key, KEYS)
    needs = {
      "second player": game.num_players() > 1,
      "utilities that sum to zero": kind.utility == pyspiel.GameType.Utility.ZERO_SUM,
      "players who move one after the other": kind.dynamics == pyspiel.GameType.Dynamics.SEQUENTIAL,
      "information state strings": key != "infostate" or kind.provides_information_state_string,
      "observation strings": key != "observation" or kind.provides_observation_string,
    }
    if missing := [need for need, met in needs.items() if not met]:
      raise ValueError(
        f"{game} cannot be played here: it has no {' and no '.join(missing)}. PSCFRSolver (solve) takes any "
        f"number of players and any utilities."
      )
    if fault := scale_fault(max(abs(game.min_utility()), abs(game.max_utility()))):
      raise ValueError(f"{game} cannot be played here: {fault}")
    if saved is not None:
      check_keys(saved, game.num_players())
    try:
      self.table = KeyTable(check_count("cells", cells, 1), saved)
    except OverflowError as error:
      raise ValueError(f"cells={cells} are fewer than the keys of that run have. {error}") from error
    self.game, self.cells = game, cells

  def locate(self, state: pyspiel.State) -> tuple[slice, list[int]]:
    _, first, count = self.table.known.get(self._digest(state), (0, 0, 0))
    return slice(first, first + count), state.legal_actions()

  def visit(self, state: pyspiel.State) -> tuple[slice, list[int]]:
    actions, digest, player = state.legal_actions(), self._digest(state), state.current_player()
    if (known := self.table.known.get(digest)) is None:
      known = self.table.add(digest, player, len(actions))
    owner, first, count = known
    if owner != player:
      string = self._string(state)
      raise ValueError(f"{self.game}: players {owner} and {player} have the {self.key} {string!r}.")
    if count != len(actions):
      raise ValueError(
        f"{self.game}: {count} moves and {len(actions)} moves are legal at the same {self.key} "
        f"{self._string(state)!r}; it is no key to choose by."
      )
    return slice(first, first + count), actions

  def hands_at(self, state: pyspiel.State) -> tuple[np.ndarray, np.ndarray] | None:
    """See `KeyedGame`: of hands whose keys have cells, in `holdem`, where keys begin such as "p0 AsKd"."""
    if self.game.get_type().short_name != HOLDEM:
      return None
    known, (seat, _, public) = self.table.known, self._string(state).split(" ", 2)
    cells = [known.get(_digest(f"{seat} {hand} {public}"), (0, 0, 0))[1:] for hand in _hand_names()]
    held = [h for h, (_, count) in enumerate(cells) if count]
    first = np.array([cells[h][0] for h in held], int)
    return first + np.arange(len(state.legal_actions()))[:, None], np.array(held, int)

  def arrays(self) -> dict[str, np.ndarray]:
    return dict(zip(SAVED_KEYS, self.table.arrays(), strict=True))

  def _string(self, state: pyspiel.State) -> str:
    try:
      if self.key == "observation":
        return state.observation_string(state.current_player())
      return state.information_state_string(state.current_player())
    except AttributeError as error:
      check_observer(self.game, error)
      raise

  def _digest(self, state: pyspiel.State) -> bytes:
    return _digest(self._string(state))


def _digest(key: str) -> bytes:
  return hashlib.blake2b(key.encode(), digest_size=DIGEST).digest()


@functools.cache
def _hand_names() -> list[str]:
  """The hands of `cards.ALL_HANDS` as states of hold'em name them."""
  return [cards.card_names(sorted(hand, reverse=True)) for hand in cards.ALL_HANDS.tolist()]
