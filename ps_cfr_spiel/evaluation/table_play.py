"""A person at the table: plays a game against bots, in the terminal, a notebook or a browser."""

from collections.abc import Callable
from typing import NamedTuple, TextIO

import numpy as np
import pyspiel

from ps_cfr_spiel.cards.notation import (
  MAX_LISTED,
  Moves,
  bets_text,
  grouped,
  legal_moves,
  move_name,
  read_move,
)
from ps_cfr_spiel.evaluation.player_views import map_of, present_view, revealed_view, rules_of, whole_view

HELP_WORDS, QUIT_WORDS = ("?", "help"), ("quit", "exit", "q")


Reader = Callable[[], str]  # the next line of a person, empty at the end: a file's `readline`


class QuitError(Exception):
  """The person quits."""


class Thought(NamedTuple):
  """A bot's decision."""

  moves: int  #: number of moves of the game before it
  player: int  #: the bot's seat
  view: str  #: the bot's view, as far as it has words
  chances: dict[int, float] | None  #: probability of each action; None from a bot that hides it
  action: int  #: the action drawn


class Sitting:
  """One game of a person and bots, which waits at the person's turns."""

  def __init__(
    self,
    game: pyspiel.Game,
    human: int,
    opponent: Callable[[int], pyspiel.Bot],
    rng: np.random.RandomState | None = None,
  ):
    """A game before its first move; `opponent` makes the bot for each seat but `human`."""
    self.game, self.human = game, human
    self.bots = {seat: opponent(seat) for seat in range(game.num_players()) if seat != human}
    self.state = game.new_initial_state()
    self.thoughts: list[Thought] = []  #: of the bots, in order
    self.made = ""  #: the person's last move, in full
    self._rng = np.random.RandomState() if rng is None else rng
    for bot in self.bots.values():
      bot.restart_at(self.state)

  def advance(self) -> bool:
    """Let chance and the bots move on to the person's turn; whether there is one."""
    while not self.state.is_terminal() and self.state.current_player() != self.human:
      if self.state.is_chance_node():
        actions, chances = zip(*self.state.chance_outcomes(), strict=True)
        self.move(int(self._rng.choice(actions, p=np.asarray(chances) / sum(chances))))
      else:
        self.move(self._think())
    return not self.state.is_terminal()

  def move(self, action: int) -> None:
    """Make the next move, of any player or chance, and inform the bots."""
    player = self.state.current_player()
    if player == self.human:
      self.made = grouped(move_name(self.state, action))
    for seat, bot in self.bots.items():
      if seat != player:
        bot.inform_action(self.state, player, action)
    self.state.apply_action(action)

  def _think(self) -> int:
    player, chances = self.state.current_player(), None
    bot = self.bots[player]
    if bot.provides_policy():
      answers, action = bot.step_with_policy(self.state)
      chances = {a: float(chance) for a, chance in answers}
    else:
      action = bot.step(self.state)
    self.thoughts.append(
      Thought(len(self.state.history()), player, whole_view(self.state, player), chances, action)
    )
    return action

  def views(self) -> tuple[str, str]:
    """The person's view since the start, and the present one; "" if that only repeats the past."""
    return whole_view(self.state, self.human), present_view(self.state, self.human)

  def revealed(self) -> list[str]:
    """The other players' views, and all moves, for the end."""
    others = [revealed_view(self.state, seat) for seat in self.bots]
    return [*others, f"All moves: {_moves_text(self.state)}"]

  def result(self) -> str:
    """The person's result at the end, in words."""
    return _result_text(self.state, self.human)


def play(
  game: pyspiel.Game,
  human: int,
  opponent: Callable[[int], pyspiel.Bot],
  read: Reader,
  output: TextIO,
  rng: np.random.RandomState | None = None,
) -> pyspiel.State:
  """Let a person in the seat `human` play a game once; they see the view of their seat alone.

  `opponent` makes the bot for each of the other seats; at the end of the lines the person quits. Returns the
  last state, terminal unless they quit.
  """
  sitting, shown = Sitting(game, human, opponent, rng), ""
  print(f"{game.get_type().long_name}: you are player {human}.{map_of(game)}", file=output)
  try:
    while sitting.advance():
      shown = _show(sitting.state, human, shown, output)
      sitting.move(ask(sitting.state, read, output))
      print(f"You: {sitting.made}", file=output)
  except (QuitError, KeyboardInterrupt):
    print("You quit.", file=output)
    return sitting.state
  _show(sitting.state, human, shown, output)
  print("\n".join([*sitting.revealed(), sitting.result()]), file=output)
  return sitting.state


def _show(state: pyspiel.State, player: int, shown: str, output: TextIO) -> str:
  """Print the player's present view and its news since `shown`; return the whole view."""
  known = whole_view(state, player)
  if shown and known.startswith(shown):
    news = known[len(shown) :].lstrip(" ;|,")
    print(f"\nSince then: {news}" if news else "", file=output)
  else:
    print(f"\nSo far: {known}", file=output)
  if present := present_view(state, player):
    print(f"Now:    {present}", file=output)
  return known


def _moves_text(state: pyspiel.State) -> str:
  """Every move of a finished game, hidden ones too."""
  position, moves = state.get_game().new_initial_state(), []
  for action in state.history():
    moves.append(grouped(move_name(position, action)))
    position.apply_action(action)
  return ", ".join(moves)


def _result_text(state: pyspiel.State, human: int) -> str:
  utility, returns = state.get_game().get_type().utility, state.returns()
  won = returns[human]
  if utility != utility.ZERO_SUM:
    others = (f", player {seat} gets {theirs:,g}" for seat, theirs in enumerate(returns) if seat != human)
    return f"You get {won:,g}{''.join(others)}."
  return "A draw." if won == 0 else f"You {'win' if won > 0 else 'lose'} {abs(won):,g}."


# --- The person's move ---------------------------------------------------------------------------


def ask(state: pyspiel.State, read: Reader, output: TextIO) -> int:
  """Ask for one of the legal actions until it gets one; raise `QuitError` if the person quits."""
  moves = legal_moves(state)
  _list(moves, output, MAX_LISTED)
  while True:
    print("Your move (name or number, ? for rules and all moves, quit): ", end="", file=output, flush=True)
    line = read()
    text = " ".join(line.split())
    if not line or text.lower() in QUIT_WORDS:
      if not line:
        print(file=output)
      raise QuitError
    if text.lower() in HELP_WORDS:
      print(rules_of(state.get_game()), file=output)
      _list(moves, output, len(moves.names))
      continue
    try:
      return moves.ids[read_move(text, moves)]
    except ValueError as error:
      print(error, file=output)


def _list(moves: Moves, output: TextIO, limit: int) -> None:
  """Print the moves with their numbers; of many bets the least and the largest alone."""
  many = moves.amounts if len(moves.names) > MAX_LISTED else ()
  named = [k for k in range(len(moves.names)) if k not in many]
  cells = [f"{moves.ids[k]:>5} {grouped(moves.names[k])}" for k in named[:limit]]
  width = max(map(len, cells), default=0) + 2
  columns = max(100 // width, 1)
  for start in range(0, len(cells), columns):
    row = "".join(f"{cell:{width}}" for cell in cells[start : start + columns])
    print(row.rstrip(), file=output)
  if len(named) > limit:
    print(f"      ... and {len(named) - limit} more", file=output)
  if many:
    print(f"      {bets_text(moves)}", file=output)
