import contextlib
import json
import re
import socket
import threading

import pyspiel
import pytest

import ps_cfr_spiel
from ps_cfr_spiel import evaluation, matches
from ps_cfr_spiel.apps.commands import match, program
from ps_cfr_spiel.apps.protocols import Seat, join, read_hands
from ps_cfr_spiel.evaluation import evaluate_match

FULL = "holdem(bets=fullgame,blinds=100/50,deck=13x4,stack=20000)"


def facts(capsys, *words):
  assert program.run(["match", *words, "--json"]) == 0
  return json.loads(capsys.readouterr().out)


def test_a_match_and_its_hands(capsys, tmp_path):
  file = tmp_path / "hands.phhs"
  found = facts(capsys, "always_call", "all_in", "--hands=2", f"--phh={file}", "--nomirrored", "--seed=3")
  hands = read_hands(file, "always_call")
  won = [hand.won for _, hand in hands]
  game = pyspiel.load_game(FULL)
  records = matches.play_games(game, matches.player("always_call", 3), matches.player("all_in", 4), 2, seed=3)
  assert won == evaluate_match(game, records).values.tolist()
  assert found["game"] == str(game) == str(hands[0][0])
  assert (found["hands"], found["chips"]["mean"], found["chips"]["mbb"]) == (
    2,
    sum(won) / 2,
    sum(won) / 0.2,
  )
  expected = evaluate_match(game, records, matches.Habit("always_call"), opponent=matches.Habit("all_in"))
  assert found["aivat"]["mbb_standard_error"] == pytest.approx(10 * expected.standard_error)


def test_a_match_in_words(capsys):
  assert program.run(["match", "fold", "always_call", "--hands=4", "--game=holdem(stack=2000)"]) == 0
  lines = dict(re.split(": +", line, maxsplit=1) for line in capsys.readouterr().out.splitlines())
  assert list(lines) == ["game", "fold", "chips", "aivat"]
  assert lines["game"] == "holdem(bets=fcpa,blinds=100/50,deck=13x4,stack=2000)"
  assert lines["fold"].startswith("won ")
  assert lines["chips"].endswith("mbb a hand (95% interval)")


def test_a_raked_match_is_played(capsys):
  """Both players can lose; only records of hands and searches need a zero sum."""
  raked = "holdem(stack=150,rake=5%)"
  found = facts(capsys, "always_call", "fold", "--hands=10", f"--game={raked}", "--method=chips", "--seed=3")
  game = pyspiel.load_game(raked)
  played = matches.play_games(
    game, matches.player("always_call", 3), matches.player("fold", 4), 10, seed=3, mirrored=True
  )
  chips = evaluate_match(game, played).mean
  assert (found["game"], found["chips"]["mean"], found["chips"]["mbb"]) == (str(game), chips, 10 * chips)


@pytest.mark.parametrize("player", ["acpc:127.0.0.1:{}", "slumbot:http://127.0.0.1:{}"])
def test_a_server_that_cannot_be_reached(player, capsys):
  with socket.socket() as unheard:  # it does not listen
    unheard.bind(("127.0.0.1", 0))
    player = player.format(unheard.getsockname()[1])
    assert program.run(["match", "random", player]) == 2
  assert f"{player.partition(':')[2]} cannot be reached (" in capsys.readouterr().err


def test_a_local_best_response(capsys):
  found = facts(capsys, "lbr:c/fc", "always_call", "--hands=2")
  expected = evaluation.local_best_response(
    pyspiel.load_game(FULL), matches.Habit("always_call"), "c/fc", hands=2
  )
  assert (found["hands"], found["mbb"]) == (2, pytest.approx(10 * expected.mean))
  assert found["mbb_standard_error"] == pytest.approx(10 * expected.error)
  assert program.run(["match", "lbr:", "always_call"]) == 2
  assert "lbr: names no actions; write lbr for all, or lbr:ACTIONS" in capsys.readouterr().err
  assert program.run(["match", "lbr", "search"]) == 2
  assert "lbr plays holdem against a player with known probabilities" in capsys.readouterr().err


def test_policies_of_files(capsys, tmp_path):
  """Any game; in hold'em a policy for some bets plays with all."""
  solver = ps_cfr_spiel.PSCFRSolver(pyspiel.load_game("kuhn_poker"))
  solver.run(10)
  solver.save(tmp_path / "kuhn.safetensors")
  kuhn = facts(capsys, str(tmp_path / "kuhn.safetensors"), "random", "--hands=10", "--method=aivat")
  assert kuhn["game"] == "kuhn_poker()" and set(kuhn) >= {"chips", "aivat"} and "mbb" not in kuhn["chips"]
  # Time for searches hides no probabilities of a policy that never searches.
  timed = "--hands=2", "--method=aivat", "--move_seconds=1"
  assert "aivat" in facts(capsys, str(tmp_path / "kuhn.safetensors"), "random", *timed)
  assert "aivat" in facts(capsys, "pretrained", "fold", "--game=holdem(stack=400)", *timed)
  trained = ps_cfr_spiel.KeyedMCCFRSolver(pyspiel.load_game("holdem(stack=400)"), batch=8)
  trained.run(1)
  trained.save(tmp_path / "holdem.safetensors")
  file = str(tmp_path / "holdem.safetensors")
  assert facts(capsys, file, "always_call", "--hands=2", "--method=mivat")["game"].endswith("stack=400)")
  more = facts(capsys, file, "always_call", "--hands=2", "--game=holdem(stack=400,bets=fullgame)")
  assert more["hands"] == 2 and "fullgame" in more["game"]


def test_an_agent_of_another_games_file_is_refused(capsys, tmp_path):
  """The message names the file, its game and those of an agent's files, whatever game is played."""
  file = tmp_path / "kuhn.safetensors"
  solver = ps_cfr_spiel.PSCFRSolver(pyspiel.load_game("kuhn_poker"))
  solver.run(1)
  solver.save(file)
  holds = f"agent:{file}: {file} holds a policy for kuhn_poker(), and an agent needs one for holdem or "
  for words in ([], ["--game=holdem"]):
    assert program.run(["match", f"agent:{file}", "random", "--hands=2", *words]) == 2
    assert f"{holds}universal_poker; name such a file, or {file} alone" in capsys.readouterr().err
  assert program.run(["match", f"agent:{file}", "random", "--hands=2", "--game=kuhn_poker"]) == 2
  assert f"agent:{file} plays holdem, not kuhn_poker(); name {file} alone" in capsys.readouterr().err
  with pytest.raises(ValueError, match=r"policy of holdem or universal_poker, got one of kuhn_poker\(\)"):
    ps_cfr_spiel.HoldemPolicy(pyspiel.load_game("holdem"), solver.average_policy())


def test_a_program_that_comes_here(capsys):
  """The command deals; a client in this process is the program."""
  with_port = Seat()
  port, game, hands = with_port.port, pyspiel.load_game(FULL), []
  with_port.close()

  def come():
    for _ in range(200):
      try:
        hands.extend(join("localhost", port, matches.player("all_in"), game))
        return
      except ConnectionRefusedError:
        threading.Event().wait(0.05)

  client = threading.Thread(target=come)
  client.start()
  found = facts(capsys, "always_call", f"acpc:{port}", "--hands=2", "--nomirrored")
  client.join()
  assert found["players"] == ["always_call", f"acpc:{port}"] and found["hands"] == len(hands) == 2
  assert found["chips"]["mean"] == -sum(hand.won for hand in hands) / 2


def test_a_server_elsewhere(capsys):
  """The command joins; a dealer in this process is the server."""
  seat, game = Seat(), pyspiel.load_game(FULL)
  records = []

  def deal():
    records.extend(matches.play_games(game, matches.player("always_call"), seat.player, 5, seed=2))
    seat.close()

  dealer = threading.Thread(target=deal)
  dealer.start()
  found = facts(capsys, "all_in", f"acpc:localhost:{seat.port}")
  dealer.join()
  assert found["hands"] == 5
  assert found["chips"]["mean"] == -evaluate_match(game, records).mean


class Tires(matches.PolicyBot):
  """Calls, and fails at a decision."""

  def __init__(self, at):
    super().__init__(0, None, matches.Habit("always_call"))
    self.left = at

  def step(self, state):
    self.left -= 1
    if self.left < 0:
      raise RuntimeError("out of\ncoffee")
    return 1


def test_hands_before_a_failure_are_kept(capsys, monkeypatch, tmp_path):
  """A bot fails in the fourth hand; the first three hands are evaluated and written."""
  file = tmp_path / "hands.phhs"
  monkeypatch.setitem(match.ps.matches.BOTS, "all_in", lambda seat, rng: Tires(8 if seat else 6))
  words = ["match", "always_call", "all_in", "--hands=9", "--nomirrored", "--method=mivat", f"--phh={file}"]
  assert program.run([*words, "--json"]) == 1
  out, error = capsys.readouterr()
  found, hands = json.loads(out), read_hands(file, "always_call")
  assert found["hands"] == len(hands) == 3
  assert found["chips"]["mean"] == pytest.approx(sum(hand.won for _, hand in hands) / 3)
  assert found["failed"] == "RuntimeError: out of coffee"
  assert error.strip() == "Failed after 3 hands: RuntimeError: out of coffee"
  monkeypatch.setitem(match.ps.matches.BOTS, "all_in", lambda seat, rng: Tires(0))
  with pytest.raises(RuntimeError, match="coffee"):
    program.run(words)


def test_a_program_that_hangs_up_leaves_its_hands(capsys):
  """The client leaves in its third hand, in which it faces a bet."""
  with_port = Seat()
  port, game = with_port.port, pyspiel.load_game(FULL)
  with_port.close()

  def come():
    for _ in range(200):
      with contextlib.suppress(ConnectionRefusedError, RuntimeError):
        list(join("localhost", port, lambda seat: Tires([9, 3][seat]), game))
      threading.Event().wait(0.05)

  threading.Thread(target=come, daemon=True).start()
  assert program.run(["match", "all_in", f"acpc:{port}", "--hands=6", "--nomirrored"]) == 1
  out, error = capsys.readouterr()
  assert "of 2 games" in out and "95% interval" in out
  assert f"Waiting for acpc:{port} at port {port} of all interfaces." in error
  assert re.search(r"Failed after 2 hands: The player at port \d+ hung up, or is silent, at MATCH", error)


def test_a_dealer_that_hangs_up_leaves_its_hands(capsys):
  """The dealer leaves in the third hand; without one that is over, nothing is to be told."""

  def deal(seat, hands):
    with contextlib.suppress(RuntimeError):
      tired = lambda seat: Tires(2 * hands if seat else hands)  # noqa: E731
      matches.play_games(pyspiel.load_game(FULL), tired, seat.player, 5, seed=2)
    seat.close()

  for hands, code in ((1, 1), (0, 2)):
    seat = Seat()
    threading.Thread(target=deal, args=(seat, hands)).start()
    assert program.run(["match", "all_in", f"acpc:localhost:{seat.port}"]) == code
    out, error = capsys.readouterr()
    assert "hung up, or is silent, in hand" in error
    assert ("of 2 games" in out) == (code == 1)


@pytest.mark.parametrize(
  ("words", "message"),
  [
    (["random"], "match needs two players, got random; name two"),
    (["holdem", "agent", "random"], "got holdem, agent, random; name two"),
    (["acpc:localhost:1", "random"], "acpc:localhost:1 deals itself; name it second"),
    (["random", "acpc:here"], "expected acpc:HOST:PORT"),
    (["random", "acpc:99999"], "expected acpc:HOST:PORT"),
    (["random", "acpc:localhost:1", "--hands=3"], "acpc:localhost:1 decides the number of hands"),
    (["random", "acpc:localhost:1", "--method=mivat"], "--method is for matches dealt here"),
    (
      ["random", "acpc:localhost:1", "--game=kuhn_poker"],
      "acpc and slumbot play holdem, not kuhn",
    ),
    (["random", "random", "--game=kuhn_poker", "--phh=x.phhs"], "--phh is for holdem, not for kuhn_poker"),
    (
      ["random", "random", "--game=holdem(stack=150,rake=5%)", "--phh=x.phhs"],
      "rake=5%: records of hands (--phh) are for zero-sum games, and with rake both players can lose",
    ),
    (["naive", "random"], "no such file or player: naive; players are random"),
    (["always_call", "random", "--game=kuhn_poker"], "always_call bot plays holdem, holdem_subgame"),
    (["random", "nowhere.safetensors"], "nowhere.safetensors: No such file"),
    (["random", "acpc:localhost:1"], "refused"),
  ],
)
def test_mistakes(words, message, capsys):
  assert program.run(["match", *words]) == 2
  assert message in capsys.readouterr().err


def test_players_elsewhere():
  assert match.remote("acpc:18791") == match.Remote("acpc", "", 18791)
  assert match.remote("acpc:example.org:5") == match.Remote("acpc", "example.org", 5)
  assert match.remote("slumbot").host == "https://slumbot.com"
  assert match.remote("slumbot:http://localhost:80").host == "http://localhost:80"
  assert match.remote("random") is None
