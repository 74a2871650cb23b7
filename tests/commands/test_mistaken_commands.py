"""Mistakes on the command line: each is told in one line that names what was given and what is allowed."""

import jax
import numpy as np
import pyspiel
import pytest
from edited_files import packed, unpacked

import ps_cfr_spiel
from ps_cfr_spiel.apps.commands import program
from ps_cfr_spiel.options import LIMIT
from ps_cfr_spiel.rules import RULES

RIVER = "river_subgame(ranges=AA KQs;TT 87s)"


@pytest.fixture(scope="module")
def run(tmp_path_factory):
  """A saved run, of one iteration."""
  path = tmp_path_factory.mktemp("saved") / "run.safetensors"
  solver = ps_cfr_spiel.PSCFRSolver(pyspiel.load_game(RIVER))
  solver.run(1, progress=False)
  solver.save(path)
  return path


def spoil(folder, run):
  """A run that is cut off, a file that is none, one of Kuhn poker, with NaN in it, of many histories."""
  (folder / "truncated.safetensors").write_bytes(run.read_bytes()[:5000])
  (folder / "foreign.safetensors").write_text("not ours")
  ps_cfr_spiel.PSCFRSolver(pyspiel.load_game("kuhn_poker")).save(folder / "kuhn.safetensors")
  header, arrays = unpacked((folder / "kuhn.safetensors").read_bytes())
  spoiled = {**arrays, "state1": arrays["state1"] * np.float32(np.nan)}
  (folder / "nan.safetensors").write_bytes(packed(header, spoiled))
  wide = {**header, "game": "hex(board_size=4)", "options": {**header["options"], "limit": 2 * LIMIT}}
  (folder / "wide.safetensors").write_bytes(packed(wide, arrays))


@pytest.mark.parametrize(
  ("text", "message"),
  [
    ("slove", "Unknown command 'slove'; did you mean solve?"),
    ("solve|kuhn_pokr", "Unknown game 'kuhn_pokr'; did you mean 'kuhn_poker'?"),
    (
      "solve|xyzzy",
      "Unknown game 'xyzzy'; pyspiel.registered_names() lists them all; --module=FILE",
    ),
    ("solve|river_subgame(", "Missing closing bracket"),
    ("solve|river_subgame(pot=3)", "pot=3"),
    ("solve|river_subgame(ranges=AA)", "ranges='AA'"),
    ("solve|kuhn_poker(players=3)|--abstraction=observation", "has 3 players"),
    ("solve|one|two", "Expected one game, got 'one' and 'two'"),
    (
      "solve|--rule=nrn",
      f"value should be one of <{'|'.join(RULES)}|cfr|cfr+>",
    ),
    ("solve|--dtype=float16", "value should be one of <float32|float64>"),
    ("solve|--leaves=tea", "--leaves=tea: value should be one of"),
    ("solve|--iterations=-1", "-1 is not a non-negative integer"),
    (f"solve|kuhn_poker|--output={{tmp}}|--iterations={10**30}", "iterations must be at most 2147483647"),
    (
      "solve|--resume={run}|--output={tmp}|--iterations=2000000000",
      "a run has at most 2,000,000,000; run fewer",
    ),
    (
      "solve|kuhn_poker|--output={tmp}|--checkpoint_seconds=nan",
      "--checkpoint_seconds=nan: must be a number of",
    ),
    ("solve|--iterations=many", "--iterations=many"),
    ("solve|--itertions=3", "Did you mean: iterations"),
    ("solve|--averaging_delay=-1", "-1 is not a non-negative integer"),
    ("solve|--solver=mcts", "value should be one of <ps-cfr|cfr+ira|fpira|fictitious-play|vr-mccfr|"),
    (
      "solve|kuhn_poker|--solver=outcome-sampling|--averaging_delay=3",
      "--solver=outcome-sampling has no --averaging_delay",
    ),
    ("solve|kuhn_poker|--solver=outcome-sampling|--rule=dcfr", "Sampling takes the rules 'rm' and 'rm+'"),
    (
      "solve|kuhn_poker|--solver=fictitious-play|--rule=rm",
      "no --rule; it has --public_states, --limit, --memory, --dtype",
    ),
    ("solve|kuhn_poker|--abstraction=suits", "value should be one of <observation|initial|identity>"),
    ("solve|kuhn_poker|--limit=10", "more than 10 histories"),
    ("resolve|dark_hex(num_rows=2,num_cols=2)", "has no public states"),
    (
      "solve|--target=nan",
      "--target must be a number of at least 0, or a share of the pot such as 0.1%, got 'nan'",
    ),
    ("solve|kuhn_poker|--target=1%", "this game has no pot"),
    ("solve|--output={run}", "Cannot write to the folder"),
    ("solve|--output={run}/below", "Cannot write to the folder"),
    ("solve|--resume={tmp}/none.safetensors", "none.safetensors: No such file or directory"),
    ("solve|--resume={tmp}/truncated.safetensors", "truncated"),
    ("solve|--resume={tmp}/foreign.safetensors", "not a file of ps_cfr_spiel"),
    ("solve|--resume={run}|--rule=rm", "leave out --rule"),
    ("solve|--resume={run}|--noalternating", "leave out --noalternating."),
    ("solve|kuhn_poker|--solver=fictitious-play|--noalternating", "has no --noalternating; it has"),
    ("solve|--resume={run}|kuhn_poker", "leave out 'kuhn_poker'"),
    ("evaluate", "evaluate needs a file"),
    ("evaluate|{run}|--lbr_actions=0,1", "--lbr_actions is for --lbr"),
    ("evaluate|{run}|--lbr|--lbr_actions=0,call", "--lbr_actions must be OpenSpiel's numbers of actions"),
    ("evaluate|{tmp}", "is a folder; name a file in it, such as"),
    ("evaluate|{run}|{tmp}/none.safetensors", "none.safetensors: No such file or directory"),
    ("show", "show needs one file"),
    ("show|{tmp}/truncated.safetensors", "truncated"),
    ("show|{run}|--at=x, b7", "'b7' (word 2) is not legal after Check. Legal: "),
    ("show|{run}|--at=x x", "The game is over after Check, Check"),
    ("show|{run}|--hand=22", "Player 0 never holds '22'"),
    ("show|{run}|--action=sleep", "'sleep' is not legal here. Legal: "),
    ("show|{run}|--picture={tmp}/none/chart.png", "Cannot write to the folder"),
    ("show|{run}|--picture={tmp}", "is a folder; name a file in it, such as"),
    ("summary|kuhn_poker|--picture={tmp}", "is a folder; name a file in it, such as"),
    ("show|{tmp}/nan.safetensors", "nan.safetensors is damaged"),
    ("evaluate|{tmp}/nan.safetensors", "nan.safetensors is damaged"),
    ("play|kuhn_poker|--opponent={tmp}/nan.safetensors", "nan.safetensors is damaged"),
    ("evaluate|{tmp}/wide.safetensors|--limit=1000", "more than 1,000 histories"),
    ("show|{tmp}/kuhn.safetensors|--hand=AKs", "kuhn_poker() has no information state that contains 'AKs'"),
    (
      "show|{tmp}/kuhn.safetensors|--picture={tmp}/x.pdf",
      "error: --picture is for charts of hands and games with a map, not for kuhn_poker(); leave it out",
    ),
    (
      "show|{tmp}/kuhn.safetensors|--action=Bet",
      "error: --action is for charts of hands, not for kuhn_poker()",
    ),
    ("show|{run}|--picture={tmp}/chart.txt", "pictures end in one of .png, .svg,"),
    ("compare|kuhn_poker|--picture={run}", "pictures end in one of"),
    (
      "resolve|kuhn_poker|--lookahead=0",
      "--lookahead=0: expected a number of at least 1, or round",
    ),
    ("resolve|kuhn_poker|--value_iterations=5", "--value_iterations is for --lookahead; without it"),
    ("solve|kuhn_poker|--lock=raise", "--lock=raise: expected LINE=FILE or LINE=ACTION"),
    ("solve|kuhn_poker|--lock=raise=bet", "'raise' is not legal here. Legal: Pass, Bet"),
    ("solve|kuhn_poker|--lock=pass=bet|--lock=pass=pass", "'pass' is locked twice"),
    ("solve|kuhn_poker|--solver=vr-mccfr|--lock=pass=bet", "--solver=vr-mccfr has no --lock"),
    ("show|{run}|--save={tmp}/part.safetensors", "--part and --save belong together"),
    ("show|{run}|--json|--player=0", "--player is for output as text; leave it out"),
    ("show|{run}|--csv={tmp}/x.csv|--hand=AKs", "--hand is for output as text"),
    ("show|{run}|--csv={run}", "would replace the file that is read; name another one"),
    ("show|", ". is a folder; name a file in it, such as run.safetensors"),
    ("show|{run}|--html={run}", "would replace the file that is read; name another one"),
    ("check|kuhn_poker|--memory=nan", "--memory=nan: must be a number of at least 1"),
    ("summary|kuhn_poker|--memory=nan", "--memory=nan: must be a number of at least 1"),
    ("solve|kuhn_poker|--memory=nan", "--memory=nan: must be a number of at least 1"),
    ("summary|kuhn_poker|--depth=2", "--depth is for --tree"),
    ("summary|kuhn_poker|--infostates", "--infostates is for --tree"),
    ("compare|kuhn_poker|--seconds=inf", "seconds must be a number above 0 and at most 1e+06, got inf"),
    ("compare|kuhn_poker|--solvers=", "--solvers names no solver; choose among"),
    (
      "train|kuhn_poker|--checkpoint_seconds=nan|--output={tmp}/t",
      "--checkpoint_seconds=nan: must be a number",
    ),
    (
      "train|kuhn_poker|--games=1000000000000000000000|--output={tmp}/t",
      "--games must be at most 2147483647",
    ),
    ("train|cheat(hand_size=2)|--batch=2000000000|--output={tmp}/t", "for the samples of a batch"),
    ("train|kuhn_poker|--batch=2000000000|--output={tmp}/t", "at most 1,048,576 are allowed"),
    (
      "solve|leduc_poker|--solver=hierarchical|--batch=2000000000|--output={tmp}/h",
      "for the samples of a batch",
    ),
    (
      "solve|leduc_poker|--solver=hierarchical|--buckets=1000000000000000000000000|--output={tmp}/h",
      "expected a number of at most 2147483647",
    ),
    (
      "solve|leduc_poker|--solver=hierarchical|--buckets=many|--output={tmp}/h",
      "expected a number of at least 1, or lossless",
    ),
    ("learn|--street=river|--cores=100000|--output={tmp}/g", "cores=100000: this process may use"),
    ("show|{run}|--part=limp|--save={tmp}/part.safetensors", "'limp' is not legal here. Legal: "),
    ("resolve|kuhn_poker|--public_states=none", "re-solving needs public states"),
    ("resolve|kuhn_poker|--knowledge=1|--lookahead=1", "knowledge is for searches to the end"),
    ("resolve|kuhn_poker|--knowledge=1|--public_states=closure", "--public_states is not for --knowledge"),
    ("resolve|kuhn_poker|--gadget=safe", "value should be one of <unsafe|cfr-d|max-margin|"),
    ("resolve|kuhn_poker|--actions=0,fold", "--actions=0,fold: expected OpenSpiel's numbers of actions"),
    ("resolve|kuhn_poker|--actions=2|--output={tmp}", "actions must be among 0..1 of kuhn_poker()"),
    ("resolve|kuhn_poker|--output={run}", "Cannot write to the folder"),
    ("play", "play needs a game"),
    ("play|--opponent=random", "play needs a game"),
    ("play|--opponent={tmp}/no.safetensors", "no.safetensors: No such file"),
    ("play|kuhn_poker|--seed=-1", "-1 is not an integer in the range [0, 4294967294]"),
    (f"play|kuhn_poker|--seed={2**40}", "is not an integer in the range [0, 4294967294]"),
    ("play|kuhn_poker|--move_seconds=nan", "--move_seconds=nan: must be a number of at least 0"),
    ("match|random|random|--move_seconds=nan", "--move_seconds=nan: must be a number of at least 0"),
    ("match|random|random|--move_seconds=inf", "inf is not a number in the range [0, 1000000.0]"),
    ("play|kuhn_poker|--opponent=random|--preset=quick", "--preset is for an agent of holdem; leave it out"),
    ("match|random|random|--preset=deepstack", "--preset is for an agent of holdem; leave it out"),
    (
      "match|random|random|--phh={run}",
      "run.safetensors: It holds a run or other arrays: choose another name",
    ),
    (
      "match|random|al_in",
      "no such file or player: al_in; players are random, search or search:FILE, in poker ",
    ),
    (
      "play|kuhn_poker|--opponent=",
      "--opponent is empty; name random, search or search:FILE, in poker always_call, fold ",
    ),
    ("play|backgammon", "cannot be played here: it has no information state strings"),
    ("summary|--quiet", "Unknown command line flag 'quiet'"),
    ("summary|kuhn_poker|--png=x.png", "; for a picture write --picture=FILE.png."),
    ("solve|--bord=Ks7d2c", "'bord'; did you mean --board? ps-cfr-spiel help solve lists those that it has."),
    ("solve|--png=x.png", "; ps-cfr-spiel help solve lists those that it has."),
  ],
)
def test_mistakes_are_answered_in_one_line(text, message, run, tmp_path, capfd):
  spoil(tmp_path, run)
  assert program.run([word.format(run=run, tmp=tmp_path) for word in text.split("|")]) == 2
  error = capfd.readouterr().err  # what C++ writes included
  assert error.startswith("ps-cfr-spiel: error: ")
  assert error.count("\n") == 1
  assert message in error


def test_a_transfer_guard_is_named(tmp_path, capfd):
  with jax.transfer_guard("disallow"):
    assert program.run(["solve", "kuhn_poker", "--iterations=1", "--noplot", f"--output={tmp_path}"]) == 2
  assert "JAX_TRANSFER_GUARD forbids copies" in capfd.readouterr().err
