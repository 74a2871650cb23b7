"""The command upi over a pipe, by a client of PioSOLVER's interface written from its documentation."""

import subprocess
import sys

import eval7
import numpy as np
import pytest

import ps_cfr_spiel as ps

BOARD, RANGES = "Ks7d2c5h9s", ("AA,KQs,76s", "TT+,AQs")


class Client:
  """Sends a line, and reads lines to the end string; messages of a solver at work lie between answers."""

  def __init__(self):
    program = [sys.executable, "-m", "ps_cfr_spiel", "upi"]
    self.process = subprocess.Popen(
      program, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
    )
    for _ in range(3):  # the greeting
      self.line()
    self("set_end_string END")

  def line(self):
    assert self.process.stdout is not None
    return self.process.stdout.readline().rstrip("\n")

  def until(self, last):
    found = []
    while not found or not f"{found[-1]}\n".startswith(last):
      found.append(self.line())
    return found

  def __call__(self, *words):
    assert self.process.stdin is not None
    self.process.stdin.write(" ".join(map(str, words)) + "\n")
    return self.until("END\n")[:-1]

  def numbers(self, *words):
    return [np.array(line.split(), float) for line in self(*words)]

  def solve(self, steps):
    assert self("go", steps, "steps") == ["go ok!"]
    messages = self.until("SOLVER: stopped")
    assert messages[0] == "SOLVER: started"
    return messages[-1]


@pytest.fixture(scope="module")
def client():
  client = Client()
  yield client
  client.process.communicate("exit\n", timeout=60)
  assert client.process.returncode == 0


@pytest.fixture
def upi(client):
  """The same river, built anew."""
  client("clear_lines")
  client(f"set_board {BOARD}")
  client("set_pot 0 0 100")
  client("set_eff_stack 200")
  client(f"set_range OOP {RANGES[0]}")
  client(f"set_range IP {RANGES[1]}")
  for line in ("0 0", "0 50 200", "50 200", "200"):
    assert client("add_line", line) == ["add_line ok!"]
  assert client("build_tree") == ["build_tree ok!"]
  return client


@pytest.fixture
def order(client):
  (line,) = client("show_hand_order")
  return line.split(" ")


def results(upi):
  return {name: float(value) for name, value in (line.split(": ") for line in upi("calc_results"))}


def test_the_hand_order_is_pios(order):
  assert order[:6] == ["2d2c", "2h2c", "2h2d", "2s2c", "2s2d", "2s2h"] and order[-1] == "AsAh"
  assert len(set(order)) == 1326


def test_nodes(upi):
  assert upi("show_node r:0") == ["r:0", "OOP_DEC", "Ks 7d 2c 5h 9s", "0 0 100", "3 children", "flags:"]
  assert upi("show_node r")[1] == "ROOT"
  children = upi("show_children r:0")
  assert [line for line in children if line.startswith("r:")] == ["r:0:c", "r:0:b50", "r:0:b200"]
  assert children[7:9] == ["", "child 1:"]
  assert upi("show_node r:0:c:b50:b200:c")[1:4] == ["END_NODE", "Ks 7d 2c 5h 9s", "200 200 100"]
  assert upi("show_node r:0:c:b50:b200")[1] == "IP_DEC"
  assert "r:0:c:b50:b200:f" in upi("show_all_lines")


@pytest.mark.parametrize(
  ("command", "error"),
  [
    ("show_node r:0:b75", "ERROR: show_node: no node r:0:b75; after r:0 come c, b50, b200"),
    ("nonsense", "ERROR: nonsense: unknown command"),
    ("show_node", "ERROR: show_node: missing a required argument: 'node'"),
    ("set_board Kx", "ERROR: set_board: "),
    ("set_range BTN AA", "ERROR: set_range: seat 'BTN': give OOP or IP"),
    ("set_strategy r:0 1 0", "ERROR: set_strategy: give 3 x 1,326 numbers"),
    ("show_strategy r:0:c:c", "ERROR: show_strategy: no player acts at r:0:c:c"),
    ("load_tree /nothing.npz", "ERROR: load_tree: "),
  ],
)
def test_errors(command, error, upi):
  (line,) = upi(command)
  assert line.startswith(error)


def test_the_solution_is_that_of_the_game(upi, order, tmp_path):
  """Lines drawn one by one are the tree of sizes; values count from the root, and add up to the pot."""
  upi("set_accuracy 0.2")
  assert upi.solve(400) == "SOLVER: stopped (accuracy reached)"
  found = results(upi)
  assert found["Exploitable for"] <= 0.2 and found["EV OOP"] + found["EV IP"] == pytest.approx(100, abs=1e-3)
  gains = found["OOP's MES"] - found["EV OOP"] + found["IP's MES"] - found["EV IP"]
  assert gains / 2 == pytest.approx(found["Exploitable for"], abs=1e-3)
  game = ps.river(board=BOARD, pot=100, stack=200, bets="50%, 200%; a | 50%; a", ranges=RANGES)
  solver = ps.PSCFRSolver(game)
  solver.run(400)
  assert found["EV OOP"] == pytest.approx(50 + solver.value(), abs=0.4)  # both within 0.2 of the equilibrium
  for seat in ("OOP", "IP"):
    ev, matchups = upi.numbers("calc_ev", seat, "r:0")
    (range_,) = upi.numbers("show_range", seat, "r:0")
    often = range_ * matchups
    assert np.average(ev[often > 0], weights=often[often > 0]) == pytest.approx(found[f"EV {seat}"], abs=1e-3)
  strategy = upi.numbers("show_strategy r:0:c")
  held = upi.numbers("show_range IP r:0:c")[0] > 0
  assert len(strategy) == 2 and np.sum(strategy, 0)[held] == pytest.approx(1, abs=1e-5)
  assert {order[k][0] + order[k][2] for k in np.flatnonzero(held)} <= {"TT", "JJ", "QQ", "KK", "AA", "AQ"}
  file = tmp_path / "a tree.npz"
  assert upi(f'dump_tree "{file}" full') == ["dump_tree ok!"]
  upi("free_tree")
  assert upi("is_tree_present") == ["false"] and upi("show_node r:0")[0].startswith(
    "ERROR: show_node: there is"
  )
  assert upi(f'load_tree "{file}"') == ["load_tree ok!"]
  assert results(upi)["EV OOP"] == pytest.approx(found["EV OOP"], abs=1e-3)


def test_equities_are_those_of_enumeration(upi, order):
  equity, _, (total,) = upi.numbers("calc_eq_node OOP r:0")
  hands = [[eval7.Card(name[:2]), eval7.Card(name[2:])] for name in order]
  board = [eval7.Card(BOARD[k : k + 2]) for k in range(0, 10, 2)]
  held = [np.flatnonzero(upi.numbers(f"show_range {seat} r:0")[0]) for seat in ("OOP", "IP")]
  strength = {k: eval7.evaluate(hands[k] + board) for k in {*held[0], *held[1]}}
  won, met = {}, {}
  for k in held[0]:
    shares = [
      (np.sign(strength[k] - strength[j]) + 1) / 2 for j in held[1] if not set(hands[k]) & set(hands[j])
    ]
    won[k], met[k] = sum(shares), len(shares)
    assert equity[k] == pytest.approx(won[k] / met[k], abs=1e-5)
  assert total == pytest.approx(sum(won.values()) / sum(met.values()), abs=1e-5)


@pytest.mark.parametrize(
  ("node", "oop", "ip"), [("r:0:b50:f", 100, 0), ("r:0:c:b50:f", 0, 100), ("r:0:b50:b200:f", -50, 150)]
)
def test_folds_are_worth_what_was_put_in(node, oop, ip, upi):
  for seat, worth in (("OOP", oop), ("IP", ip)):
    ev = upi.numbers("calc_ev", seat, node)[0]
    assert np.nanmin(ev) == pytest.approx(worth, abs=1e-3) == np.nanmax(ev)


def test_a_locked_player_is_exploited(upi):
  """A player in position who folds to every bet loses the pot; unlocked, it is worth more again."""
  upi("set_accuracy 0.2")
  upi.solve(300)
  before = results(upi)["EV OOP"]
  fold = " ".join(["1"] * 1326 + ["0"] * 1326)
  for node, actions in (("r:0:b50", 3), ("r:0:b200", 2)):
    numbers = f"{fold} {' '.join(['0'] * 1326)}" if actions == 3 else fold
    assert upi(f"set_strategy {node} {numbers}") == ["set_strategy ok!"]
    assert upi(f"lock_node {node}") == ["lock_node ok!"]
    assert upi(f"show_node {node}")[-1] == "flags: LOCKED"
  upi("set_accuracy 0.05")
  upi.solve(300)
  assert results(upi)["EV OOP"] == pytest.approx(100, abs=0.2)
  for node in ("r:0:b50", "r:0:b200"):
    upi(f"unlock_node {node}")
  upi.solve(300)
  assert results(upi)["EV OOP"] == pytest.approx(before, abs=1)


def test_it_stops_when_told(upi):
  upi("set_accuracy 0")
  assert upi("go") == ["go ok!"]
  assert upi.until("SOLVER: started") and upi("show_node r:0")[0] == "r:0"
  upi.process.stdin.write("stop\n")
  assert "SOLVER: stopped (requested)" in upi.until("stop ok!")
  upi.until("END\n")
  assert upi("is_ready") == ["is_ready ok!"]


def test_cards_come_as_children(upi):
  upi("clear_lines")
  upi("set_board Ks7d2c5h")
  upi("set_bets a / 100%; x")
  assert upi("build_tree") == ["build_tree ok!"]
  assert upi("show_node r:0:c:c")[1] == "SPLIT_NODE"
  below = [line for line in upi("show_children r:0:c:c") if line.startswith("r:")]
  assert len(below) == 48 and below[0] == "r:0:c:c:2d"
  assert upi("show_node r:0:c:c:2d")[1:3] == ["OOP_DEC", "Ks 7d 2c 5h 2d"]
  assert upi("show_node r:0:b200:c")[1] == "END_NODE"  # all-in: no player acts any more
  ahead = upi.numbers("calc_eq_node OOP r:0:b200:c")[2]
  ev = upi.numbers("calc_ev OOP r:0:b200:c")
  assert np.isfinite(ahead) and np.nanmax(ev[0]) <= 300
