"""The server of tools in a process of its own, asked by the SDK's client."""

import json
import sys

import pyspiel
import pytest

from ps_cfr_spiel import PSCFRSolver, matches

pytest.importorskip("mcp")

import anyio
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

SERVE = ["-W", "error", "-c", "from ps_cfr_spiel.apps.protocols.tool_server import main; main()"]


def asked(*calls):
  """The answers of a new server to (tool, arguments) in turn: (whether it refused, text or facts)."""

  async def ask():
    answers = []
    async with Client(stdio_client(StdioServerParameters(command=sys.executable, args=SERVE))) as client:
      tools = {tool.name: tool for tool in (await client.list_tools()).tools}
      assert set(tools) == {"rules", "solve", "advise", "judge"}
      assert all(tool.description for tool in tools.values())
      for name, arguments in calls:
        result = await client.call_tool(name, arguments)
        text = result.content[0].text
        answers.append((result.is_error, text if result.is_error else json.loads(text)))
    return answers

  return anyio.run(ask)


def test_a_session():
  games = [[0, 2, 1, 0], {"actions": "Deal:0 Deal:1 Bet Bet", "players": ["x", "y"]}]
  answers = asked(
    ("rules", {"game": "kuhn_poker"}),
    ("solve", {"game": "kuhn_poker", "iterations": 1000}),
    ("advise", {"game": "kuhn_poker", "moves": "Deal:0, Deal:2, Bet"}),
    ("judge", {"game": "kuhn_poker", "games": games}),
    ("rules", {"game": "kuhn_pocker"}),
    ("solve", {"game": "kuhn_poker", "iterations": 0}),
    ("advise", {"game": "kuhn_poker", "moves": "Deal:0, Raise"}),
    ("advise", {"game": "kuhn_poker", "moves": "Deal:0"}),
    ("judge", {"game": "kuhn_poker", "games": [[0, 2, 1, 0], [0, 2, 1]]}),
  )
  refused = [error for error, _ in answers]
  assert refused == 4 * [False] + 5 * [True], answers
  rules, solved, advice, judged, *faults = [answer for _, answer in answers]
  game = pyspiel.load_game("kuhn_poker")
  solver = PSCFRSolver(game, tremble=1.0)
  solver.run(1000)
  policy = solver.average_policy()
  assert rules["solvable"] and rules["first_moves"] == {"0": "Deal:0", "1": "Deal:1", "2": "Deal:2"}
  assert solved["value"] == pytest.approx(-1 / 18, abs=1e-3)
  assert solved["exploitability"] == pytest.approx(solver.exploitability(), abs=1e-6)
  assert solved["local_regret"]["worst"] < 0.01
  played = {action["name"]: action for action in advice["actions"]}
  assert (advice["player"], advice["infostate"], advice["rare"]) == (1, "2b", [])
  assert played["Bet"]["probability"] > 0.99 and played["Bet"]["value"] == pytest.approx(2, abs=1e-6)
  assert played["Pass"]["loss"] == pytest.approx(3, abs=0.02)
  expected = matches.judge(game, [matches.read_game(game, value) for value in games], policy)
  for agent, judgement in zip(judged["agents"], expected.agents, strict=True):
    assert agent["agent"] == judgement.agent
    assert agent["loss"]["mean"] == pytest.approx(judgement.loss.mean, abs=1e-5)
  for fault, part in zip(
    faults,
    ("kuhn_poker", "iterations must be", "Raise", "No player acts", "Game 1: it is not over"),
    strict=True,
  ):
    assert part in fault


def test_without_the_sdk(monkeypatch):
  for name in [name for name in sys.modules if name == "mcp" or name.startswith("mcp.")]:
    monkeypatch.delitem(sys.modules, name)
  monkeypatch.setitem(sys.modules, "mcp", None)
  from ps_cfr_spiel.apps.protocols import tool_server

  with pytest.raises(ModuleNotFoundError, match=r"pip install 'ps_cfr_spiel\[mcp\]'"):
    tool_server.make_server()
