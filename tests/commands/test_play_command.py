import io
import re
import sys

import numpy as np
import pyspiel
import pytest
from game_checks import all_histories
from ps_cfr_spiel.games.poker import PokerState

import ps_cfr_spiel
from ps_cfr_spiel.apps.commands import match, play, program
from ps_cfr_spiel.apps.commands.framework import players
from ps_cfr_spiel.cards.notation import grouped
from ps_cfr_spiel.cards.poker import cards
from ps_cfr_spiel.evaluation import player_views, table_play
from ps_cfr_spiel.evaluation.player_views import rules_of
from ps_cfr_spiel.policy import Translation, WrappedPolicy, for_hands

GAMES = {
  "cheat": "cheat(max_turns=12)",
  "cheat of four": "cheat(players=4,hand_size=3,max_turns=8)",
  "glasses": "glasses",
  "river_subgame": "river_subgame(ranges=AsKd QQ;TT 87s)",
}
RIVER = "river_subgame(ranges=AsKd;TdTc)"

each_game = pytest.mark.parametrize("game_string", GAMES.values(), ids=GAMES)


class FirstBot(pyspiel.Bot):
  """Plays the first legal action and counts what it is told."""

  def __init__(self, seat, told):
    super().__init__()
    self.seat, self.told = seat, told

  def step(self, state):
    assert state.current_player() == self.seat
    return state.legal_actions()[0]

  def restart_at(self, state):
    pass

  def inform_action(self, state, player, action):
    assert player != self.seat
    assert action in state.legal_actions()
    self.told.append((self.seat, player))


def converse(game_string, seat, lines, opponent=None, seed=0):
  """The last state and all that was printed."""
  game, rng = pyspiel.load_game(game_string), np.random.RandomState(seed)
  make = opponent or play.make_opponent(game, "random", rng)
  output = io.StringIO()
  state = table_play.play(
    game, seat, make, io.StringIO("".join(f"{x}\n" for x in lines)).readline, output, rng
  )
  return state, output.getvalue()


def names_of(end):
  """What the moves of a history are called."""
  state = end.get_game().new_initial_state()
  for action in end.history():
    yield state.action_to_string(state.current_player(), action)
    state.apply_action(action)


def first_bot(seat):
  return FirstBot(seat, [])


@pytest.mark.parametrize("move", ["Bet 200", "bet 200", "  BET   200 ", "2", "bet"])
def test_a_move_in_every_spelling(move):
  state, _ = converse(RIVER, 0, [move], first_bot)
  assert state.history() == [0, 0, 2, 0]  # the opponent folds
  assert state.is_terminal()


def test_the_result_of_a_general_sum_game_has_both_utilities():
  state, text = converse("turn_based_simultaneous_game(game=matrix_pd())", 1, ["Defect"], first_bot)
  assert state.returns() == [0, 10]
  assert "You get 10, player 0 gets 0." in text


def test_short_forms_are_read_as_they_are_shown():
  state, text = converse(RIVER, 0, ["x"], first_bot)
  assert state.history()[2] == 1 and "You: Check\n" in text
  state, text = converse(RIVER, 0, ["b200"], first_bot)
  assert state.history()[2] == 2 and "You: Bet 200\n" in text
  state, _ = converse("glasses", 0, ["1/9", "quit"], first_bot)
  assert state.stones == (1, 9)


@pytest.mark.parametrize(
  ("name", "rule"),
  [
    ("glasses", "stones"),
    ("river_subgame", "A fold gives the pot to the other player"),
    ("holdem_subgame", "A fold gives the pot to the other player"),
    ("kuhn_poker", "Three cards"),
    ("cheat", "Cheat"),
    ("turn_based_simultaneous_game(game=goofspiel(num_cards=3))", "Prize cards"),
    ("phantom_ttt", "Tic-tac-toe"),
    ("battleship", "OpenSpiel has no text of its rules. 2 players"),
  ],
)
def test_rules(name, rule):
  text = rules_of(pyspiel.load_game(name))
  assert rule in text and "Parameters" not in text


def test_the_map_of_a_chase_lists_every_edge():
  """That of a pursuit, too, and who starts where."""
  _, text = converse("graph_pursuit(preset=alleys)", 0, ["?", "quit"], first_bot)
  assert text.count("  0: 1 2\n  1: 2 3\n  2: 1 4\n") == 2
  assert text.count("neighbours; the goal is 5, the attacker starts on 0, the units on 6/8:") == 2
  _, text = converse("glasses", 0, ["?", "quit"], first_bot)
  graph = pyspiel.load_game("glasses").chase.neighbours
  for node, near in enumerate(graph):
    assert text.count(f"  {node}: {' '.join(map(str, near))}\n") == 2  # at the start and with the rules


@pytest.mark.parametrize(
  ("name", "opponent"),
  [
    ("cheat", "agent"),
    ("cheat(players=3)", "heuristic"),
    ("holdem", "agent"),
    ("holdem(deck=6x2)", "random"),
    ("kuhn_poker", "search"),
    ("glasses", "search"),
    ("liars_dice", "random"),
  ],
)
def test_default_opponents(name, opponent):
  assert play.default_opponent(pyspiel.load_game(name)) == opponent


@pytest.mark.parametrize(
  ("name", "reason"),
  [
    ("holdem(blinds=3/1)", "No agent: blueprint must be a policy for blinds like 3/1"),
    ("holdem(rake=5%)", "No agent: "),
    ("holdem(deck=6x2)", "No agent: No policy for holdem"),
    ("liars_dice", ""),
  ],
)
def test_the_reason_for_a_weaker_opponent(name, reason, capsys):
  assert play.default_opponent(pyspiel.load_game(name)) == "random"
  printed = capsys.readouterr().out
  assert printed.startswith(reason) and bool(printed) == bool(reason)


def test_bad_input_asks_again():
  state, text = converse(RIVER, 0, ["hello", "17", "", "3 chips", "check"], first_bot)
  assert state.is_terminal()
  assert text.count("Your move") == 5
  assert "'hello' is not legal here. Legal: Check, Bet 200, All-in 19,900." in text
  assert "'17' is not legal here" in text
  assert "'' is not legal here" in text
  assert "'3 chips' is more than one move: 'chips' (word 2) follows All-in 19,900; write one move." in text


def test_an_ambiguous_beginning_asks_again():
  state, text = converse("glasses", 0, ["stones to", "stones to 1", "st to 1/9", "quit"], first_bot)
  assert "'stones to' may be Stones to 0/8, Stones to 0/9," in text
  assert "You: Stones to 1/9" in text
  assert state.stones == (1, 9)


@pytest.mark.parametrize("lines", [["quit"], ["Q"], ["exit"], []])
def test_quitting(lines):
  state, text = converse("glasses", 0, lines)
  assert not state.is_terminal()
  assert text.endswith("You quit.\n")
  assert "win" not in text


def test_ctrl_c_quits():
  class Interrupted(io.StringIO):
    def readline(self, *_):
      raise KeyboardInterrupt

  output = io.StringIO()
  table_play.play(pyspiel.load_game("glasses"), 0, first_bot, Interrupted().readline, output)
  assert output.getvalue().endswith("You quit.\n")


@pytest.mark.parametrize(
  ("moves", "result"),
  [(["bet 200"], "You win 100."), (["check", "fold"], "You lose 100."), (["check"], None)],
)
def test_results(moves, result):
  def opponent(seat):
    bot = FirstBot(seat, [])
    bot.step = lambda state: state.legal_actions()[-1 if "x" in str(state).split("|")[-1] else 0]
    return bot

  if result is None:
    _, text = converse("river_subgame(board=AsKsQsJsTs,ranges=9d9c;8d8c)", 0, moves, first_bot)
    result = "A draw."
  else:
    _, text = converse(RIVER, 0, moves, opponent)
  assert text.splitlines()[-1] == result


def test_long_lists_are_cut_and_shown_on_demand():
  _, text = converse("cheat(first_player=0)", 0, ["?", "quit"])
  before, after = text.split("? for rules and all moves, quit): ")[:2]
  assert re.search(r"\.\.\. and \d+ more", before)
  assert "more" not in after
  assert len(re.findall("Discard ", after)) > table_play.MAX_LISTED


def test_openspiels_strings_are_made_readable():
  leduc = "[Observer: 0][Private: 2][Round 1][Player: 0][Pot: 2][Money: 99 99][Round1: ][Public: -10000]"
  assert player_views.readable(leduc) == "Private: 2, Round 1, Pot: 2, Money: 99 99"
  assert player_views.readable("1pb") == "1pb"  # Kuhn poker's card and moves
  assert player_views.readable("..x\n...\n0,2 ") == "\n  ..x\n  ...\n  0,2"
  goofspiel = "Current player: -4\nPoints: 0 0 \nHand: 3\nTerminal?: 1\n\nWin sequence: \n"
  assert player_views.readable(goofspiel) == "\n  Points: 0 0\n  Hand: 3"


@pytest.mark.parametrize("game_string", ["kuhn_poker", "leduc_poker"])
def test_readable_strings_tell_apart_what_the_games_do(game_string):
  """What is left out of OpenSpiel's strings never tells two of them apart."""
  for player in (0, 1):
    names = {s.information_state_string(player) for s, _ in all_histories(pyspiel.load_game(game_string))}
    played = [name for name in names if "[Player: -" not in name]  # nobody is shown a deal under way
    assert len({player_views.readable(name) for name in played}) == len(set(played))


def test_a_hand_of_leduc():
  _, text = converse("leduc_poker", 0, ["raise", "call", "call", "call", "call"], seed=1)
  assert "[" not in text
  assert re.search(r"^Now: +Pot 2\. You: [JQK][sh], 99 behind\. Player 1: 99 behind\.$", text, re.MULTILINE)
  assert re.search(r"^So far: Private: \d, Round 1, Pot: 2, Money: 99 99$", text, re.MULTILINE)
  assert re.search(r"^So far: Private: \d, Round \d, Pot: \d+, .*Round1: 2 ", text, re.MULTILINE)
  assert re.search(r"^Player 1 saw: Private: \d, .*Round1: 2 ", text, re.MULTILINE)
  assert re.search(r"^All moves: Deal \d, Deal \d, Raise, ", text, re.MULTILINE)


def test_games_without_observations_are_played():
  state, text = converse("liars_dice", 0, ["1-6", "liar", "liar", "liar"], seed=3)
  assert state.is_terminal()
  assert "Now:" not in text and "So far:" in text


def test_amounts_have_separators():
  state, text = converse(RIVER, 0, ["all-in 19,900", "quit"], first_bot)
  assert "All-in 19,900" in text
  assert state.is_terminal()


@each_game
def test_only_own_information_is_shown(game_string):
  """What is printed does not depend on what the person cannot see: it is made of their strings only."""
  game = pyspiel.load_game(game_string)
  for seat in range(game.num_players()):
    seen = []

    class Person(io.StringIO):
      def readline(self, *_, seen=seen):
        return f"{seen[-1].action_to_string(seen[-1].legal_actions()[0])}\n"

    output, person = io.StringIO(), Person()

    def show(state, player, shown, output, *, seat=seat, seen=seen, original=table_play._show):
      assert player == seat
      seen.append(state.clone())
      return original(state, player, shown, output)

    rng = np.random.RandomState(seat)
    with pytest.MonkeyPatch.context() as patch:
      patch.setattr(table_play, "_show", show)
      end = table_play.play(game, seat, play.make_opponent(game, "random", rng), person.readline, output, rng)
    text = output.getvalue()
    allowed = {player_views.present_view(state, seat) for state in seen}
    if not isinstance(end, PokerState):  # of which test_a_hand_of_holdem_in_words tells more
      if ps_cfr_spiel.matches.table_of(end, [seat]) is None:
        assert allowed == {state.observation_string(seat) for state in seen}
      assert player_views.whole_view(end, seat) == end.information_state_string(seat)
    assert set(re.findall(r"^Now: +(.*)$", text, re.MULTILINE)) == allowed
    story = "".join(re.findall(r"^(?:So far|Since then): (.*)$", text, re.MULTILINE))
    assert re.sub(r"[ ;|,]", "", story) == re.sub(r"[ ;|,]", "", player_views.whole_view(end, seat))
    others = [
      line
      for line in text.splitlines()
      if not re.match("(Now|So far|Since then|Your move|You: |The map|  )", line)
    ]
    assert others[0].endswith(f"you are player {seat}.")
    assert others[-1] in {  # and before it, what was hidden until the game was over
      "A draw.",
      *(f"You {verb} {abs(end.returns()[seat]):,g}." for verb in ("win", "lose")),
    }
    *hidden, moves = [line for line in others[1:-1] if line]
    others = [other for other in range(game.num_players()) if other != seat]
    assert hidden == [player_views.revealed_view(end, other) for other in others]
    assert text.index(hidden[0]) > text.rindex("Now:")
    assert moves == f"All moves: {', '.join(map(grouped, names_of(end)))}"


def test_a_hand_of_holdem_in_words():
  """Chips and cards are those of the moves, counted by hand; the other's cards come at the end."""
  game = "holdem(stack=2000,bets=fullgame)"
  calls = play.make_opponent(pyspiel.load_game(game), "always_call", np.random.RandomState(0))
  state, text = converse(game, 0, ["b 300", "150", "x", "b", "quit"], calls)
  mine = " ".join(cards.card_names([card]) for card in sorted(state.hole(0), reverse=True))
  theirs = [cards.card_names([card]) for card in state.hole(1)]
  board = [cards.card_names([card]) for card in state.runout]
  assert [line for line in text.splitlines() if line.startswith(("Now", "You:", "So", "Since"))] == [
    "So far: stack 2000 blinds 100/50 | Player 1: Call",
    f"Now:    Pot 200. You: {mine}, 1,900 behind, bet 100. Player 1: 1,900 behind, bet 100.",
    "Since then: You: Raise to 300, Player 1: Call | " + " ".join(board[:3]),
    f"Now:    Pot 600. You: {mine}, 1,700 behind. Player 1: 1,700 behind. Board: {' '.join(board[:3])}.",
    f"Since then: You: Bet 150, Player 1: Call | {board[3]}",
    f"Now:    Pot 900. You: {mine}, 1,550 behind. Player 1: 1,550 behind. Board: {' '.join(board[:4])}.",
    f"Since then: You: Check, Player 1: Check | {board[4]}",
    f"Now:    Pot 900. You: {mine}, 1,550 behind. Player 1: 1,550 behind. Board: {' '.join(board)}.",
  ]
  assert not any(card in text for card in theirs)
  assert re.findall("quit[)]: (.*)", text) == [
    "You: Raise to 300",
    "You: Bet 150",
    "You: Check",
    "'b' may be Bet 100, Bet 101, Bet 102 or 1,447 more; write which one.",
    "You quit.",
  ]
  assert text.count("1 Check\n") == 4 and "Bet 100 up to All-in 1,700 (b AMOUNT, b 75%, pot, min, a)" in text
  _, text = converse(game, 0, ["x"] * 4, calls)
  assert f"Player 1 held {' '.join(sorted(theirs, key=cards.parse_cards, reverse=True))}." in text


def test_every_bot_is_told_every_move():
  told = []
  state, _ = converse(
    "cheat(players=4,hand_size=3,max_turns=1,first_player=0)", 0, ["2", "3", "4"], lambda s: FirstBot(s, told)
  )
  assert state.is_terminal()
  chance = int(pyspiel.PlayerId.CHANCE)
  assert {seat for seat, _ in told} == {1, 2, 3}
  assert sum(player == chance for _, player in told) == 12 * 3
  assert [(seat, player) for seat, player in told if player >= 0] == [
    (1, 0), (2, 0), (3, 0), (2, 1), (3, 1), (1, 2), (3, 2), (1, 3), (2, 3),
  ]  # fmt: skip


@pytest.mark.parametrize("name", ["naive", "heuristic", "random"])
def test_bots_of_cheat(name):
  game, rng = pyspiel.load_game("cheat"), np.random.RandomState(0)
  make = play.make_opponent(game, name, rng)
  bot = make(1)
  assert type(bot).__name__ == {"naive": "NaiveBot", "random": "UniformRandomBot"}.get(name, "HeuristicBot")


def test_a_saved_policy_as_opponent(tmp_path):
  game, path = pyspiel.load_game("glasses(turns=2)"), tmp_path / "run.safetensors"
  solver = ps_cfr_spiel.PSCFRSolver(game, "rm+")
  solver.run(50)
  solver.save(path)
  rng = np.random.RandomState(0)
  make = play.make_opponent(game, str(path), rng)
  seeds = range(300)
  first = [converse("glasses(turns=2)", 1, ["quit"], make, seed)[0].history()[0] for seed in seeds]
  expected = solver.average_policy().action_probabilities(game.new_initial_state())
  for action, probability in expected.items():
    assert first.count(action) / len(seeds) == pytest.approx(probability, abs=0.1)
  with pytest.raises(ValueError, match="holds a policy for glasses"):
    play.make_opponent(pyspiel.load_game("glasses"), str(path), rng)


def test_a_search_as_opponent():
  game = pyspiel.load_game("kuhn_poker")
  make = play.make_opponent(game, "search", np.random.RandomState(0))
  first = [converse("kuhn_poker", 1, ["quit"], make, seed)[0] for seed in range(300)]
  kings = [state.history() for state in first if state.history()[0] == 2]
  jacks = [state.history() for state in first if state.history()[0] == 0]
  bets = [sum(history[2] for history in dealt) / len(dealt) for dealt in (kings, jacks)]
  assert bets[0] == pytest.approx(3 * bets[1], abs=0.25)  # in equilibrium


@pytest.mark.parametrize("name", ["phantom_ttt", "dark_hex(board_size=2)"])
def test_a_search_as_opponent_in_games_of_hidden_moves(name):
  make = play.make_opponent(pyspiel.load_game(name), "search", np.random.RandomState(0), limit=100_000)
  assert isinstance(make(1), ps_cfr_spiel.matches.ParticleBot)


@pytest.mark.parametrize("name", ["naive", "heuristic"])
def test_bots_of_cheat_play_nothing_else(name):
  with pytest.raises(ValueError, match=f"no such file or player: {name}"):
    play.make_opponent(pyspiel.load_game("kuhn_poker"), name, np.random.RandomState(0))


def test_an_opponent_that_fails(monkeypatch, capsys):
  """Ends the game in one line; the exit code tells."""

  class Fails(pyspiel.Bot):
    def restart_at(self, state):
      pass

    def step(self, state):
      raise KeyError("no such\ncard")

  monkeypatch.setitem(ps_cfr_spiel.matches.BOTS, "always_call", lambda seat, rng: Fails())
  monkeypatch.setattr(sys, "stdin", io.StringIO("bet\n"))
  assert program.run(["play", "leduc_poker", "--opponent=always_call", "--seat=1"]) == 1
  expected = "\nalways_call failed, so the game ends here: KeyError: 'no such\\ncard'\n"
  assert capsys.readouterr().err == expected


def test_without_a_game_it_is_the_opponents(tmp_path, monkeypatch, capsys):
  """A spot that was typed once need not be typed again."""
  game = pyspiel.load_game("kuhn_poker(players=3)")
  solver = ps_cfr_spiel.PSCFRSolver(game, progress=False)
  solver.save(tmp_path / "run.safetensors")
  monkeypatch.setattr(sys, "stdin", io.StringIO("quit\n"))
  assert program.run(["play", f"--opponent={tmp_path / 'run.safetensors'}", "--seat=2", "--seed=1"]) == 0
  assert "you are player 2" in capsys.readouterr().out


def test_players_in_messages_are_all_that_there_are():
  words = re.findall(r"[a-z_]+(?=:FILE|\b)", play.PLAYERS)
  assert {*words} - {"in", "or", "and", "poker", "cheat", "holdem"} == {
    *ps_cfr_spiel.matches.BOTS,
    *pyspiel.load_game("cheat").bots,
    "search",
    "agent",
    "pretrained",
  }
  assert play.PLAYERS in match.COMMAND.text


@pytest.mark.parametrize("game", ["cheat", "holdem(deck=6x2)"])
@pytest.mark.parametrize(
  "name",
  ["agent,nonsense.safetensors", "agent,pretrained", "pretrained,nonsense", "agents", "agent:agent"],
)
def test_a_mistyped_player_is_no_other(game, name):
  with pytest.raises(ValueError, match=f"no such file or player: {name}; players are random"):
    play.make_opponent(pyspiel.load_game(game), name, np.random.RandomState(0))


def test_mistyped_agents(tmp_path, monkeypatch, capsys):
  """An agent with files is of hold'em, and of several errors the blueprint's comes first."""
  monkeypatch.chdir(tmp_path)
  with pytest.raises(ValueError, match="no such file or player: agent:pretrained,x"):
    play.make_opponent(pyspiel.load_game("cheat"), "agent:pretrained,x", np.random.RandomState(0))
  for name in ("agent:", "agent:,pretrained", "agent:pretrained,"):
    with pytest.raises(ValueError, match=f"{name} lacks the name of a file; write agent:FILE, or agent for"):
      play.make_opponent(pyspiel.load_game("holdem"), name, np.random.RandomState(0))
  assert program.run(["play", "holdem", "--opponent=agent:no/a.safetensors,no/b.safetensors"]) == 2
  assert "no/a.safetensors: No such file" in capsys.readouterr().err
  for name in ("agent,nonsense", "agent:agent"):
    assert program.run(["match", name, "random"]) == 2
    assert f"no such file or player: {name}" in capsys.readouterr().err


def test_no_such_policy(tmp_path):
  with pytest.raises(OSError, match="nothing"):
    play.make_opponent(pyspiel.load_game("kuhn_poker"), str(tmp_path / "nothing"), np.random.RandomState(0))


def run(monkeypatch, capsys, words, lines):
  values = play.COMMAND.flags()
  rest = values(["play", *words])[1:]
  monkeypatch.setattr(sys, "stdin", io.StringIO("".join(f"{line}\n" for line in lines)))
  code = play.COMMAND.run(values, rest) or 0
  return code, capsys.readouterr().out


def test_the_command(monkeypatch, capsys):
  code, text = run(monkeypatch, capsys, ["glasses", "--seat=1", "--seed=3", "--opponent=random"], ["4", "q"])
  again, same = run(monkeypatch, capsys, ["glasses", "--seat=1", "--seed=3", "--opponent=random"], ["4", "q"])
  assert (code, text) == (again, same)
  assert code == 0
  assert "you are player 1" in text


@pytest.mark.parametrize(
  ("words", "message"),
  [
    (["glasses", "--seat=2"], "--seat=2: glasses.* has seats 0 to 1"),
    (["no_such_game"], "no_such_game"),
    (["glasses(turns=0)"], "turns=0"),
    (["glasses", "cheat"], "Expected one game"),
    (["glasses", "--opponent=naive"], "no such file or player: naive; players are random, search or"),
  ],
)
def test_mistakes(monkeypatch, capsys, words, message):
  with pytest.raises(ValueError, match=message):
    run(monkeypatch, capsys, words, [])


def test_what_a_game_is_worth_without_luck(tmp_path, monkeypatch, capsys):
  game, path = pyspiel.load_game("kuhn_poker"), tmp_path / "run.safetensors"
  solver = ps_cfr_spiel.PSCFRSolver(game)
  solver.run(500)
  solver.save(path)
  _, out, *_ = run(
    monkeypatch, capsys, ["kuhn_poker", "--seat=1", "--seed=2", f"--opponent={path}"], "Pass\nPass\n"
  )
  worth = float(re.search(r"^Luck-adjusted \(AIVAT\): (\S+)$", out, re.MULTILINE)[1])
  assert abs(worth) < 2 and worth <= 1 / 18 + 0.01  # the game's value to player 1; mistakes cost


def test_a_translated_policy_of_a_small_deck_is_played_against(tmp_path, monkeypatch, capsys):
  """Its luck is that of another game, so it is left out."""
  small, path = "holdem(deck=5x2,stack=4,blinds=2/1,bets={})", tmp_path / "run.safetensors"
  solver = ps_cfr_spiel.PSCFRSolver(pyspiel.load_game(small.format("x")))
  solver.run(2)
  solver.save(path)
  _, out, *_ = run(
    monkeypatch, capsys, [small.format("fullgame"), f"--opponent={path}"], ["call", "check"] * 9
  )
  assert re.search(r"You (win|lose)|A draw", out) and "Luck" not in out


def test_a_trained_agent_searches_by_default(tmp_path, monkeypatch, capsys):
  """`train` saves the agent where `play` finds it; --move_seconds=0 leaves the search out."""
  monkeypatch.chdir(tmp_path)
  name = "cheat(ranks=3,suits=2,hand_size=2,max_turns=4)"
  game = pyspiel.load_game(name)
  assert play.default_opponent(game) == "heuristic"
  assert program.run(["train", name, "--iterations=1", "--batch=4", "--games=1", "--quiet"]) == 0
  agent = play.default_opponent(game)
  assert (
    agent == "runs/cheat/run.safetensors" and play.default_opponent(pyspiel.load_game("cheat")) == "agent"
  )
  rng = np.random.RandomState(0)
  assert isinstance(play.make_opponent(game, agent, rng, seconds=0.01)(1), ps_cfr_spiel.matches.ParticleBot)
  assert not isinstance(play.make_opponent(game, agent, rng)(1), ps_cfr_spiel.matches.ParticleBot)
  capsys.readouterr()
  _, text = run(monkeypatch, capsys, [name, "--move_seconds=0.01"], ["q"])
  assert "Opponent: runs/cheat/run.safetensors, which searches for 0.01 s a decision;" in text
  _, text = run(monkeypatch, capsys, ["cheat(players=3)"], ["q"])
  assert "Opponent: heuristic; --opponent= chooses another; agents of train are for two players." in text


def test_an_agent_of_holdem(capsys, monkeypatch, tmp_path):
  """It plays by a file's blueprint to the turn and searches there."""
  blueprint = ps_cfr_spiel.KeyedMCCFRSolver(pyspiel.load_game("holdem(stack=200,bets=x)"), batch=8)
  blueprint.run(1)
  blueprint.save(tmp_path / "holdem.safetensors")
  monkeypatch.setattr(sys, "stdin", io.StringIO("1\n" * 9))
  words = ["holdem(stack=200,bets=x/x/a)", f"--opponent=agent:{tmp_path / 'holdem.safetensors'}", "--seed=3"]
  assert program.run(["play", *words]) == 0
  out = capsys.readouterr().out
  assert f"Opponent: agent:{tmp_path / 'holdem.safetensors'}" in out and "Check" in out
  asked = []
  monkeypatch.setattr(
    players, "agent_on", lambda *given: asked.append(given[-2:]) or (lambda seat: FirstBot(seat, []))
  )
  monkeypatch.setattr(sys, "stdin", io.StringIO("1\n" * 9))
  program.run(["play", *words, "--preset=deepstack"])
  assert asked == [(0, "deepstack")]


def test_only_the_agent_of_the_package_searches(monkeypatch, capsys):
  """In Cheat; `pretrained` is its policy alone."""
  _, text = run(monkeypatch, capsys, ["cheat", "--opponent=pretrained"], ["q"])
  assert "Opponent: pretrained; --opponent= chooses another" in text
  cheat, rng = pyspiel.load_game("cheat"), np.random.RandomState(0)
  kinds = [type(play.make_opponent(cheat, name, rng, seconds=1)(0)) for name in ("pretrained", "agent")]
  assert kinds == [ps_cfr_spiel.matches.PolicyBot, ps_cfr_spiel.matches.ParticleBot]


def test_the_players_of_the_package():
  """They are there without a file, for hold'em of any stacks, and elsewhere there are others."""
  deep, short = (pyspiel.load_game(f"holdem(stack={stack},bets=fullgame)") for stack in (20000, 1500))
  cheat, matches = pyspiel.load_game("cheat"), ps_cfr_spiel.matches
  searching = play.make_opponent(cheat, "agent", np.random.RandomState(0), seconds=1)(0)
  assert isinstance(searching, matches.ParticleBot)
  agent, heuristic = matches.player(matches.pretrained_policy(cheat)), matches.player("heuristic", 1, cheat)
  assert matches.match(cheat, agent, heuristic, 100).score.wins > 50
  policy = matches.pretrained_policy(deep)
  assert policy.info["card"]["local_best_response"]["hands"] >= 100
  for game in (deep, short):
    state = game.new_initial_state()
    for card in cards.parse_cards("As Ah 7d 2c"):
      state.apply_action(card)
    bot = play.make_opponent(game, "agent:pretrained", np.random.RandomState(0))(1)
    answer = bot.policy.for_hands_at(state)  # of the button
    np.testing.assert_allclose(sum(answer.values()), 1)
    aces, trash = (cards.set_numbers(np.array(cards.parse_cards(hand))) for hand in ("AsAh", "7d2c"))
    assert answer[0][aces] < 0.05 < 0.5 < answer[0][trash]
  # A short stack has the blueprint of a short stack, in any unit, which calls all-in with more hands.
  depths = {"stack=20000": 200, "stack=40,blinds=2/1": 20, "stack=1500": 20, "stack=7000": 50}
  folds = {}
  for parameters, depth in depths.items():
    game = pyspiel.load_game(f"holdem({parameters})")
    policy = matches.pretrained_policy(game)
    assert policy.game.get_parameters()["stack"] == " ".join([str(100 * depth)] * 2)
    state = pyspiel.load_game(f"holdem(stack={100 * depth})").new_initial_state()
    for card in cards.parse_cards("As Ah 7d 2c"):
      state.apply_action(card)
    state.apply_action(state.legal_actions()[-1])  # all-in
    answer = for_hands(WrappedPolicy(state.get_game(), policy, Translation()), state)
    folds[depth] = answer[0].mean()
    assert answer[0][aces] < 0.05
  assert folds[20] < 0.8 < folds[50] < folds[200]
  with pytest.raises(
    ValueError, match=r"No policy for kuhn_poker.* comes with ps_cfr_spiel, only for holdem"
  ):
    play.make_opponent(pyspiel.load_game("kuhn_poker"), "agent", np.random.RandomState(0))
