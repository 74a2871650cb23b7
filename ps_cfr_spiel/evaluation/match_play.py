"""Games played from Python: matches between bots and policies, and a person against one of them."""

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TextIO

import numpy as np
import pyspiel
from open_spiel.python import policy as openspiel_policy
from open_spiel.python.bots.uniform_random import UniformRandomBot

from ps_cfr_spiel.arguments import check_option
from ps_cfr_spiel.cards.notation import bet_sizes
from ps_cfr_spiel.cards.poker import betting, cards
from ps_cfr_spiel.compilation.histories import NoPublicStatesError
from ps_cfr_spiel.evaluation import table_play
from ps_cfr_spiel.evaluation.match_results import MatchEstimate, MatchResult, Played
from ps_cfr_spiel.games import BotMaker, ForPeople
from ps_cfr_spiel.loading import sequential
from ps_cfr_spiel.memory import TooLarge
from ps_cfr_spiel.options import LIMIT, MatchOptions, ParticleBotOptions, SearchResponseOptions
from ps_cfr_spiel.policy import OpenSpielPolicy
from ps_cfr_spiel.reports import progress_bar
from ps_cfr_spiel.resolving.search import ValueFunction
from ps_cfr_spiel.solvers import ContinualResolving, OnDemandResolving, ParticleBot, PolicyBot, SearchPolicy

DEPTH = 2  # moves that a search of sampled histories looks ahead
Player = Callable[[int], pyspiel.Bot]  # makes the bot for a seat
HABITS = ("always_call", "fold", "all_in")
POKER = ("holdem", "holdem_subgame", "river_subgame", "universal_poker", "leduc_poker")  # 0 folds, 1 calls


class Habit(openspiel_policy.Policy):
  """A poker player with one habit: "always_call", "fold" (checks where that is free), or "all_in".

  "all_in" makes the largest bet or raise that it may.
  """

  def __init__(self, habit: str):
    """ValueError for another habit."""
    super().__init__(None, [0, 1])
    self._habit = check_option("habit", habit, HABITS)

  def action_probabilities(self, state: pyspiel.State, player_id: int | None = None) -> dict[int, float]:
    """The habit's action, with probability 1."""
    legal = state.legal_actions()
    if self._habit == "fold" and betting.FOLD in legal:
      return {betting.FOLD: 1.0}
    if self._habit != "all_in" or legal[-1] == betting.CALL:
      return {betting.CALL: 1.0}
    if state.get_game().get_type().short_name != "universal_poker":
      return {legal[-1]: 1.0}
    sizes = bet_sizes(state)  # its half pot has the largest number
    return {max(sizes, key=sizes.__getitem__): 1.0}

  def for_hands_at(self, state: pyspiel.State) -> dict[int, np.ndarray]:
    """See `policy.for_hands`: it does not look at its hand."""
    return {action: np.full(len(cards.ALL_HANDS), chance) for action, chance in self(state).items()}


def player(who: str | openspiel_policy.Policy, seed: int = 0, game: pyspiel.Game | None = None) -> Player:
  """A player of matches, by a name in `BOTS` or of a bot that the `game` has, or one that plays a policy."""
  rng = np.random.RandomState(seed)
  if not isinstance(who, str):
    return lambda seat: PolicyBot(seat, rng, who)
  bots = BOTS if game is None else bots_for(game)
  make = bots[check_option("bot", who, bots)]
  return lambda seat: make(seat, rng)


def policy_of(game: pyspiel.Game, player: Player) -> OpenSpielPolicy | None:
  """The probabilities of a player of matches, for `judge`; None for one that searches."""
  bot = player(0)
  if isinstance(bot, UniformRandomBot):
    return openspiel_policy.UniformRandomPolicy(sequential(game))
  if type(bot) is PolicyBot and not isinstance(bot.policy, SearchPolicy):
    return bot.policy
  return None


def search_player(
  game: pyspiel.Game,
  seed: int = 0,
  limit: int = LIMIT,
  values: ValueFunction | None = None,
  seconds: float | None = None,
  expansions: int | None = None,
) -> Player:
  """A player of matches that searches: continual re-solving, or sampled histories where that is impossible.

  That is in games without public states, and in those with more than `limit` histories. With values searches
  look one decision ahead, or grow their trees by `expansions`, and public states are made on demand where the
  values allow it; then `seconds` are most of a decision. ValueError for a game that neither plays, or
  expansions without values.
  """
  rng = np.random.RandomState(seed)
  if values is not None:
    if values.solves and expansions is None:
      listed = ContinualResolving(game, lookahead=1, value_function=values, limit=limit)
      return lambda seat: listed.bot(seat, int(rng.randint(2**31)))
    ahead = {"lookahead": 1} if expansions is None else {"expansions": expansions}
    made = OnDemandResolving(game, value_function=values, limit=limit, seconds=seconds, **ahead)
    return lambda seat: made.bot(seat, int(rng.randint(2**31)))
  if expansions is not None:
    raise ValueError(f"expansions={expansions}: the trees that grow end at values; give search:FILE.")
  try:
    resolving = ContinualResolving(game, limit=limit)
  except (TooLarge, NoPublicStatesError):
    return lambda seat: ParticleBot(game, seat, depth=DEPTH, seed=int(rng.randint(2**31)))
  return lambda seat: resolving.bot(seat, int(rng.randint(2**31)))


def play_games(
  game: pyspiel.Game,
  first: Player,
  second: Player,
  options: MatchOptions | int | None = None,
  **keywords: object,
) -> list[Played]:
  """Play and record games, in which the first player has each seat in turn, and the second all others.

  Args:
    game: any; one with simultaneous moves is played in turns.
    first: the agent of the records, a function of the seat; see `player`.
    second: the other player, of whom there are several where more than two play.
    options: all options, or the number of games alone.
    **keywords: options by name; see `MatchOptions`, with its errors.
  """
  return list(_with_progress(game, first, second, MatchOptions.of(options, **keywords)))


def _with_progress(
  game: pyspiel.Game, first: Player, second: Player, options: MatchOptions
) -> Iterable[Played]:
  played = each_game(game, first, second, options)
  return progress_bar(None, iterable=played, total=options.games, desc="Playing", unit=" games")


def each_game(game: pyspiel.Game, first: Player, second: Player, options: MatchOptions) -> Iterator[Played]:
  """The games of `play_games`, one after the other."""
  game = sequential(game)
  seats = range(game.num_players())
  tables = [
    [first(seat) if seat == seat_of_first else second(seat) for seat in seats] for seat_of_first in seats
  ]
  for number in range(options.games):
    round_, seat_of_first = divmod(number, len(seats))
    deal = round_ if options.mirrored else number
    state = _play_one(game, tables[seat_of_first], np.random.default_rng([options.seed, deal]))
    yield Played(seat_of_first, tuple(state.history()), deal)


def _play_one(game: pyspiel.Game, bots: Sequence[pyspiel.Bot], chance: np.random.Generator) -> pyspiel.State:
  """The end of a game; chance's outcomes depend on their number in it alone, not on the players."""
  state = game.new_initial_state()
  for bot in bots:
    bot.restart_at(state)
  while not state.is_terminal():
    player = state.current_player()
    if state.is_chance_node():
      actions, odds = zip(*state.chance_outcomes(), strict=True)
      action = actions[int(np.searchsorted(np.cumsum(odds) / sum(odds), chance.random(), "right"))]
    else:
      action = bots[player].step(state)
    for seat, bot in enumerate(bots):
      if seat != player:
        bot.inform_action(state, player, action)
    state.apply_action(action)
  return state


def match(
  game: pyspiel.Game,
  first: Player,
  second: Player,
  options: MatchOptions | int | None = None,
  agent: OpenSpielPolicy | None = None,
  **keywords: object,
) -> MatchResult:
  """Play games and evaluate them for the first player.

  Args:
    game, first, second, options: as of `play_games`.
    agent: the policy of the first player, to take luck out of the result.
    **keywords: options by name, see `MatchOptions` and `MatchResultOptions`; and those of `build_tree`.
  """
  options = MatchOptions.of(options, **MatchOptions.picked(keywords))
  evaluation = {name: value for name, value in keywords.items() if name not in vars(options)}
  estimate = MatchEstimate(game, agent, None, **evaluation)
  for record in _with_progress(game, first, second, options):
    estimate.add(record)
  return estimate.result()


def search_response(
  game: pyspiel.Game,
  policy: openspiel_policy.Policy,
  options: SearchResponseOptions | int | None = None,
  **keywords: object,
) -> MatchResult:
  """The result of a searching opponent against a policy, which has all other seats, over games with
  alternating seats.

  It plays with particles by the policy's own probabilities and rollouts of the policy. Its mean is a lower
  bound on the value of a best response, up to the noise of the games, as that of every fixed opponent is.

  Args:
    game: any whose players move one after the other.
    policy: an OpenSpiel policy of all players that answers at infostates.
    options: all options, or the number of games alone.
    **keywords: options by name; see `SearchResponseOptions`.

  Returns:
    The opponent's result: `.score` has the wins, `.mean` the utility, in expectation at most the mean of all
    seats' best responses.

  Raises:
    ValueError: a wrong argument, or a policy of another game.
  """
  options = SearchResponseOptions.of(options, **keywords)
  limits = options.values(ParticleBotOptions)

  def searcher(seat: int) -> pyspiel.Bot:
    return ParticleBot(game, seat, policy, **limits, tremble=0.0)

  agent = player(policy, options.seed % 2**32)
  return match(game, searcher, agent, options.games, seed=options.seed)


def play(
  game: pyspiel.Game,
  opponent: Player,
  moves: Iterable[str] | None = None,
  seat: int = 0,
  seed: int = 0,
  output: TextIO | None = None,
) -> pyspiel.State:
  """Let a person play a game once, typing moves, or show a game with moves that are given.

  Args:
    game: any; one with simultaneous moves is played in turns.
    opponent: of all other seats, a function of the seat, see `player`.
    moves: the person's lines, names or numbers of actions, at whose end the person quits; by default the
      keyboard's.
    seat: the person's.
    seed: of chance.
    output: the file for the text, by default the standard output.

  Returns:
    The last state, terminal unless the person quit.
  """
  to, known = output or sys.stdout, None if moves is None else iter(moves)

  def read() -> str:
    try:  # `input` works in notebooks too, where the standard input does not
      line = input() + "\n" if known is None else next(known)
    except (EOFError, StopIteration):
      return ""
    if known is not None:
      print(line, file=to)
    return line

  return table_play.play(sequential(game), seat, opponent, read, to, np.random.RandomState(seed))


def _habit_bot(habit: str) -> BotMaker:
  return lambda player, rng: PolicyBot(player, rng, Habit(habit))


#: Bots of any game, and of poker.
BOTS: Mapping[str, BotMaker] = {
  "random": UniformRandomBot,
  **{habit: _habit_bot(habit) for habit in HABITS},
}


def own_bots(game: pyspiel.Game) -> Mapping[str, BotMaker]:
  """The bots that a game has itself, the strongest last; see `games.ForPeople`."""
  return game.bots if isinstance(game, ForPeople) else {}


def bots_for(game: pyspiel.Game) -> Mapping[str, BotMaker]:
  """All bots by name that play a game."""
  poker = game.get_type().short_name in POKER
  return {name: make for name, make in BOTS.items() if poker or name not in HABITS} | {**own_bots(game)}
