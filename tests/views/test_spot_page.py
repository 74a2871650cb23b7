"""The page on which a spot is made: its fields are flags of solve, its numbers those of a solver."""

import json
import re
import subprocess
import threading

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_explore import BROWSER, needs_browser, served

import ps_cfr_spiel
from ps_cfr_spiel.apps.commands import explore, program
from ps_cfr_spiel.apps.views import painted, range_painter, spot
from ps_cfr_spiel.cards.notation import card_names, parse_hands, range_words

FIELDS = {"board": "Ks7d2c5h9s", "pot": "20", "stack": "20", "bets": "a", "ranges": "AA, KQs; KK, QJs"}
DRIVER = """<script>
(async () => {
  const steps = STEPS, seen = JSON.parse(sessionStorage.seen ?? "[]");
  const pause = () => new Promise((done) => setTimeout(done, 100));
  const keep = () => { sessionStorage.seen = JSON.stringify(seen); };
  while (seen.length < steps.length) {
    const [where, how, text] = steps[seen.length];
    const [page, part] = where.startsWith("/") ? where.split(" ") : [location.pathname, where];
    const there = () => (location.pathname === page ? document.querySelector(part) : null);
    const ready = () => there() && !there().disabled && !there().closest("[hidden]");
    for (let k = 0; k < 300 && !ready(); k++) await pause();
    const one = there();
    if (!one) throw Error(`no ${where}`);
    one.scrollIntoView({ block: "center" });
    seen.push({});
    keep();
    const at = (e) => { const r = e.getBoundingClientRect();
      return { clientX: r.x + r.width / 2, clientY: r.y + r.height / 2, bubbles: true, cancelable: true }; };
    if (how === "click") one.click();
    if (how === "type") { one.value = text; one.dispatchEvent(new Event("input")); }
    if (how === "paint") {
      const cell = (kind) => one.querySelector(`[data-kind="${kind}"]`);
      for (const [first, ...others] of text) {  // strokes, without a pause
        cell(first).dispatchEvent(new PointerEvent("pointerdown", at(cell(first))));
        for (const kind of others) document.dispatchEvent(new PointerEvent("pointermove", at(cell(kind))));
        document.dispatchEvent(new PointerEvent("pointerup", { bubbles: true }));
      }
    }
    for (let k = 0; k < 8; k++) await pause();
    const texts = (what) => [...document.querySelectorAll(what)].map((e) => e.textContent);
    seen[seen.length - 1] = { path: location.pathname, title: texts("#title")[0], error: texts("#error")[0],
      board: document.querySelector("[data-field=board]")?.value,
      range: document.querySelector("[data-range]")?.value, cells: texts("[data-kind] small").filter(Boolean),
      moves: texts("#moves button"), about: texts("#about")[0], needs: texts("#needs")[0],
      saved: texts("#saved")[0], full: texts("#full")[0],
      wide: document.documentElement.scrollWidth > innerWidth };
    keep();
  }
  await fetch("/seen", { method: "POST", body: JSON.stringify(seen) });
})().catch((e) => fetch("/seen", { method: "POST", body: JSON.stringify(String(e)) }));
</script>"""


def in_browser(explorer, steps, folder, monkeypatch, width):
  """What the pages show after each step: a click, a text, or a stroke of the pointer."""
  ended, result = threading.Event(), []

  def answer(path, sent):
    if path == "/seen":
      result.append(json.loads(sent))
      ended.set()
      return 200, "application/json", "{}"
    status, kind, text = explorer.answer(path, sent) or (404, "text/plain", "")
    return status, kind, text.replace("</body>", DRIVER.replace("STEPS", json.dumps(steps)) + "</body>")

  flags = ["--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={folder / 'profile'}"]
  flags += [f"--window-size={width},900", "--remote-debugging-port=0"]  # stays open, and prints nothing
  with served(answer, monkeypatch) as address:
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    with subprocess.Popen([str(BROWSER), *flags, address], **quiet) as browser:
      ended.wait(90)
      browser.terminate()
  explorer.stop()
  assert result and isinstance(result[0], list), result
  return result[0]


def shares(moves):
  return [float(re.search(r"([\d.]+)%", move)[1]) / 100 for move in moves]


@needs_browser
@pytest.mark.parametrize("width", [1280, 390])
def test_a_spot_is_made_solved_locked_and_solved_again(tmp_path, monkeypatch, width):
  """Cards are clicked and a range is painted; the strategy shown is that of a solver of the same spot."""
  monkeypatch.chdir(tmp_path)
  explorer = explore.Explorer(FIELDS | {"board": "Ks7d2c5h3s", "target": "", "iterations": "50"})
  first = '[data-range="0"]'
  steps = [
    ('[data-card="3s"]', "click"),
    ('[data-card="9s"]', "click"),
    (first, "type", "AA, KQS:50%, zz"),
    (first, "type", "AA, KQs:50%"),
    (".grid", "paint", [["QQ", "JJ"], ["TT"]]),
    ("#solve", "click"),
    ("#moves button", "look"),
    ('#lock input[aria-label="Hands"]', "type", "zz"),
    ("#lock button", "click"),
    ("#error", "look"),
    ("#look", "click"),
    ('#lock input[aria-label="Check"]', "type", "99.9"),  # rounded, as shares of thirds are
    ('#lock input[aria-label="All-in 20"]', "type", "0"),
    ("#lock button", "click"),
    ('/strategy/2/ [href="/"]', "look"),
    ('[href="/"]', "click"),
    ("#save", "click"),
    ('[data-card="As"]', "click"),  # a sixth
  ]
  seen = in_browser(explorer, steps, tmp_path, monkeypatch, width)
  assert seen[0]["board"] == "Ks 7d 2c 5h" and seen[1]["board"] == "Ks 7d 2c 5h 9s"
  assert "'zz'" in seen[2]["error"] and not seen[3]["error"]
  assert "50" in seen[3]["cells"]
  assert parse_hands(seen[4]["range"]) == parse_hands("AA, KQs:.5, QQ, JJ, TT")
  assert "river Ks7d2c5h9s, pot 20, behind 20" in seen[4]["title"] and "Memory: about" in seen[4]["needs"]
  ranges = ("AA, KQs:50%, QQ, JJ, TT", "KK, QJs")
  game = ps_cfr_spiel.river("Ks7d2c5h9s", pot=20, stack=20, bets="a", ranges=ranges)
  for shown, locks in ((seen[6], None), (seen[14], {"": {"Check": 1}})):
    solver = ps_cfr_spiel.PSCFRSolver(game, locks=locks)
    solver.run(50)
    np.testing.assert_allclose(shares(shown["moves"]), spot(solver.average_policy()).frequencies(), atol=6e-4)
    exploitability = float(re.search(r"exploitability ([\d.e-]+) chips", shown["about"])[1])
    assert exploitability == pytest.approx(solver.exploitability(), rel=1e-3)
  paths = [shown.get("path") for shown in seen]
  assert paths[:5] == ["/"] * 5 and paths[9] == "/" and paths[14] == "/strategy/2/"
  assert paths[6:8] + paths[11:13] == ["/strategy/1/"] * 4
  assert "'zz'" in seen[9]["error"]  # of a lock of which the strategy knows nothing later
  saved = seen[16]["saved"].removeprefix("Saved in ")
  assert ps_cfr_spiel.load_solver(tmp_path / saved).iteration == 50
  assert (
    seen[17]["board"] == seen[16]["board"] and "five cards" in seen[17]["full"] and "A♠" in seen[17]["full"]
  )
  assert not any(shown.get("wide") for shown in seen)


def asked(explorer, path, **more):
  status, _, text = explorer.answer(path, json.dumps(more).encode())
  return status, json.loads(text)


@pytest.mark.parametrize(
  "wrong",
  [
    {"board": "Ks7d"},
    {"board": "KsKs2c5h9s"},
    {"pot": "x"},
    {"stack": "-1"},
    {"bets": "33, 2z"},
    {"ranges": "AA; zz"},
    {"rake": "200%"},
    {"iterations": "many"},
    {"bits": "8"},
    {"target": "3 pots"},
    {"tremble": "-2"},
  ],
  ids=lambda wrong: next(iter(wrong)),
)
def test_mistakes_have_the_answers_of_solve(wrong, capsys):
  """Word for word, before anything is solved."""
  fields, explorer = FIELDS | wrong, explore.Explorer(FIELDS)
  status, data = asked(explorer, "/check", fields=fields)
  assert asked(explorer, "/solve", fields=fields) == (status, data) and status == 400
  words = [f"--{name}={text}" for name, text in fields.items()]
  assert program.run(["solve", *words]) == 2
  assert capsys.readouterr().err.strip() == f"ps-cfr-spiel: error: {data['error']}"
  assert asked(explorer, "/progress")[1]["stage"] == ""


def test_a_long_solve_is_saved_on_the_way(tmp_path, monkeypatch):
  """One that ends whole, and one that dies after some iterations."""
  monkeypatch.chdir(tmp_path)
  monkeypatch.setattr(explore, "KEPT_SECONDS", 0)
  explorer, measure = explore.Explorer(FIELDS), explore.Run.measure
  asked(explorer, "/solve", fields=FIELDS | {"iterations": "30", "target": ""})
  explorer.wait()
  state = explorer.state()
  assert state["stage"] == "done" and ps_cfr_spiel.load_solver(state["saved"]).iteration == 30
  monkeypatch.setattr(
    explore.Run, "measure", lambda run: measure(run) if run.solver.iteration < 20 else 1 / 0
  )
  asked(explorer, "/solve", fields=FIELDS | {"pot": "21", "iterations": "30", "target": ""})
  explorer.wait()
  state = explorer.state()
  monkeypatch.undo()
  monkeypatch.chdir(tmp_path)
  file, told, command = re.fullmatch(
    r"(\S+) up to iteration (\d+); .*: ps-cfr-spiel (.*)", state["saved"]
  ).groups()
  assert state["stage"] == "failed" and 0 < int(told) == ps_cfr_spiel.load_solver(file).iteration < 20
  assert program.run([*command.split(), "--quiet", "--noplot"]) == 0
  assert ps_cfr_spiel.load_solver(file).iteration == 30


def test_saves_on_the_way_harm_nothing(tmp_path, monkeypatch):
  """They replace no run of more iterations; if they fail, the strategy is there all the same."""
  monkeypatch.chdir(tmp_path)
  monkeypatch.setattr(explore, "KEPT_SECONDS", 0)
  explorer, fields = explore.Explorer(FIELDS), FIELDS | {"iterations": "30", "target": ""}
  asked(explorer, "/solve", fields=fields)
  explorer.wait()
  first = explorer.state()["saved"]
  asked(explorer, "/solve", fields=fields | {"iterations": "20"})
  explorer.wait()
  second = explorer.state()["saved"]
  assert [ps_cfr_spiel.load_solver(file).iteration for file in (first, second)] == [30, 20]
  (tmp_path / "runs").rename(tmp_path / "elsewhere")
  (tmp_path / "runs").write_text("a file where folders would be made")
  asked(explorer, "/solve", fields=fields)
  explorer.wait()
  state = explorer.state()
  assert (state["stage"], state["saved"]) == ("done", "") and "could not be saved" in state["unsaved"]


def test_progress_is_asked_while_tables_are_in_use(monkeypatch):
  """Large tables change in place, and the solver has no state meanwhile that another thread may read."""
  explorer = explore.Explorer(FIELDS)
  asked(explorer, "/solve", fields=FIELDS | {"iterations": "3"})
  explorer.wait()
  monkeypatch.setattr(ps_cfr_spiel.PSCFRSolver, "iteration", property(lambda solver: 1 / 0), raising=False)
  status, data = asked(explorer, "/progress")
  assert (status, data["stage"], data["iteration"]) == (200, "done", 3)


def test_requests_that_are_no_spots():
  explorer = explore.Explorer(FIELDS)
  for path, more in (
    ("/check", {}),
    ("/check", {"fields": {"solver": "fpira"}}),
    ("/check", {"fields": {"pot": 20}}),
    ("/check", {"fields": []}),
    ("/check", {"fields": FIELDS | {"board": " "}}),
    ("/range", {"text": "AA", "board": "", "paint": {"AKx": 1}}),
    ("/range", {"text": "AA", "board": "", "paint": {"AKs": 2}}),
    ("/save", {}),
  ):
    assert asked(explorer, path, **more)[0] == 400, path
  for path, sent in (("/strategy/a/", None), ("/strategy/1/solve", b"{}"), ("/else", b"{}")):
    assert explorer.answer(path, sent) is None
  for path in ("/strategy/1/", "/strategy/1/streets/0.js"):
    status, _, text = explorer.answer(path, None)
    assert status == 404 and "no longer kept" in text
  assert explorer.answer("/solve", b"[")[0] == 400


def test_locks_are_added_to_those_of_the_strategy_that_is_shown():
  """A page of an earlier one, and one after a refused lock."""
  explorer = explore.Explorer(FIELDS)
  asked(explorer, "/solve", fields=FIELDS | {"iterations": "1"})
  for number, lock, locks in (
    (1, "=Check:100%@zz", "=Check:100%@zz"),
    (1, "=All-in 20:100%", "=All-in 20:100%"),
    (2, "=Check:100%@AA", "=All-in 20:100%; Check:100%@AA"),
    (3, "=Check:50%, All-in 20:50%@AA", "=All-in 20:100%; Check:50%, All-in 20:50%@AA"),
  ):
    explorer.wait()
    status, data = asked(explorer, f"/strategy/{number}/lock", lock=lock)
    assert status == 200 and f'"text":"{locks}"' in explorer.answer("/", None)[2]
  explorer.wait()
  assert asked(explorer, "/progress")[1]["number"] == 4
  status, data = asked(explorer, "/strategy/1/lock", lock="=Check")
  assert status == 400 and "no longer kept" in data["error"]


def test_locks_are_checked_before_the_solve(monkeypatch, capsys):
  """Also where the page is opened; lines with cards, and numbers of the tree's states, are no mistakes."""
  explorer = explore.Explorer(FIELDS)
  for lock, message in (
    ("nonsense", "--lock=nonsense: expected LINE=FILE or LINE=ACTION"),
    ("zzz=fold", "locks: 'zzz': 'zzz' is not legal here. Legal: Check, All-in 20"),
    ("check=fold", "locks: 'check': 'fold' is not legal after Check. Legal: Check, All-in 20"),
    ("check, check=check", "locks: 'check, check': no player acts after it"),
  ):
    for path in ("/check", "/solve"):
      status, data = asked(explorer, path, fields=FIELDS | {"lock": lock})
      assert status == 400 and message in data["error"], (path, data)
    monkeypatch.setattr(explore, "serve", lambda *_: pytest.fail("the page is served"))
    assert (
      program.run(["explore", *(f"--{name}={text}" for name, text in FIELDS.items()), f"--lock={lock}"]) == 2
    )
    assert message in capsys.readouterr().err
  turn = FIELDS | {"board": "9s7c5s4h", "ranges": "AA,KcKd;QQ", "bets": "a"}
  for lock in ("x, x, Ac=check", "x, x, ks=check:0.3,a:0.7@AA", "#0=check", "=check", "x, a=call@QQ; fold"):
    status, data = asked(explorer, "/check", fields=turn | {"lock": lock})
    assert status == 200, (lock, data)


def test_a_lock_replaces_that_of_its_line_in_other_spellings():
  """A lock typed by hand, and one that the page adds with the names of moves."""
  explorer = explore.Explorer(FIELDS)
  asked(explorer, "/solve", fields=FIELDS | {"iterations": "1", "lock": "\n x=x\nx, a=fold\n"})
  explorer.wait()
  assert asked(explorer, "/strategy/1/lock", lock="Check=All-in 20:100%")[0] == 200
  explorer.wait()
  assert explorer.state()["error"] == ""
  assert '"text":"x, a=fold\\nCheck=All-in 20:100%"' in explorer.answer("/", None)[2]


def test_a_solve_that_fails_at_once_was_not_refused(monkeypatch):
  """The answer is the same whether the thread ends before or after it: progress tells the error."""
  thread, explorer = threading.Thread, explore.Explorer(FIELDS)
  start = thread.start
  monkeypatch.setattr(thread, "start", lambda one: (start(one), one.join()))
  status, data = asked(explorer, "/solve", fields=FIELDS | {"lock": "=Check@zz"})
  assert (status, data["stage"], data["error"]) == (200, "building", "")
  assert "'zz'" in asked(explorer, "/progress")[1]["error"]


def test_a_spot_without_a_board_begins_with_that_of_the_page(monkeypatch):
  """Solve has a default board, which the page would not show."""
  pages = []
  monkeypatch.setattr(explore, "serve", lambda answer, *_: pages.append(answer("/", None)[2]))
  assert program.run(["explore", "--pot=50"]) == 0
  assert f'"text":"{explore.START["board"]}"' in pages[0] and '"text":"50"' in pages[0]


def test_the_command_of_the_page_is_its_spot():
  """The line of the page, typed, describes the same game; defaults are left out of it."""
  status, data = asked(explore.Explorer(FIELDS), "/check", fields=FIELDS | {"cap": "0", "lock": ""})
  assert status == 200 and "--cap" not in data["command"] and "--lock" not in data["command"]
  assert "values of all actions" in data["memory"] and "--novalues" not in data["memory"]
  words = [f"--{name}={text}" for name, text in FIELDS.items()]
  assert explore.words_of(FIELDS) == words
  assert explore.words_of({"lock": "=Check\n x a=fold"}) == ["--lock==Check", "--lock=x a=fold"]


def test_the_command_refuses_files_and_mistakes(capsys):
  assert program.run(["explore", "run.safetensors"]) == 2
  assert "show run.safetensors --serve" in capsys.readouterr().err
  assert program.run(["explore", "--pot=x"]) == 2
  assert capsys.readouterr().err.startswith("ps-cfr-spiel: error: pot='x'")


WEIGHTS = st.sampled_from([0, 0.25, 0.5, 1 / 3, 1])
HANDS = sorted(parse_hands("random"), reverse=True)


@settings(max_examples=20, deadline=None)
@given(
  st.dictionaries(st.sampled_from(HANDS), WEIGHTS, max_size=40),
  st.dictionaries(st.sampled_from(["AA", "AKs", "72o"]), WEIGHTS),
)
def test_painted_kinds_take_their_weight_and_others_keep_theirs(weights, paint):
  text = range_words(weights) or range_painter.NOTHING
  data = painted(text, "Ks7d", paint)
  expected = {hand: weight for hand, weight in weights.items() if weight}
  kinds = {kind: [h for h in HANDS if is_of(card_names(h), kind)] for kind in paint}
  for kind, hands in kinds.items():
    assert len(hands) == {"AA": 6, "AKs": 4, "72o": 12}[kind]
    expected |= dict.fromkeys(hands, paint[kind])
  expected = {hand: weight for hand, weight in expected.items() if weight}
  assert parse_hands(data["text"]) == expected
  dead, names = {"Ks", "7d"}, {hand: card_names(hand) for hand in expected}
  live = [weight for hand, weight in expected.items() if not dead & {names[hand][:2], names[hand][2:]}]
  assert data["combos"] == pytest.approx(sum(live))
  counts = [len(hands) for hands in range_painter.cells().values()]
  assert np.dot(data["cells"], counts) == pytest.approx(sum(expected.values()), abs=0.02)


def is_of(name, kind):
  ranks = {name[0], name[2]} == {*kind[:2]}
  return ranks and (len(kind) == 2 or (name[1] == name[3]) == (kind[2] == "s"))
