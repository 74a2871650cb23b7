"""The command `ps-cfr-spiel explore`: a saved strategy as a page for the browser."""

from __future__ import annotations

import contextlib
import http.server
import re
from collections.abc import Sequence
from pathlib import Path

from absl import flags

import ps_cfr_spiel as ps
from ps_cfr_spiel.commands.command import Command, Flag
from ps_cfr_spiel.commands.flags import MOST_HISTORIES
from ps_cfr_spiel.commands.show import origin
from ps_cfr_spiel.commands.user_input import keep_apart, load_saved_policy, refuse
from ps_cfr_spiel.reports import report
from ps_cfr_spiel.storage import replacing

# fmt: off
FLAGS = (
  Flag("html", None, "File for the page (default: FILE with the ending .html).", value="FILE"),
  Flag("part", None,
    "Line of the game to show alone, with its way there; with '...' at its end also all that follows, as in "
    "'check, check, 2c ...'. May be given several times. Large games do not fit into a page.", kind=tuple,
    value="LINE"),
  Flag("serve", False,
    "Show it from this machine instead of from a file: streets are loaded when they are clicked, so that "
    "turns and flops are whole. Ctrl-C ends it."),
  Flag("port", 0, "With --serve: port of localhost (default: a free one).", least=0, most=65535),
  MOST_HISTORIES,
)
# fmt: on


def _run(values: flags.FlagValues, words: Sequence[str]) -> int | None:
  if len(words) != 1:
    raise ValueError(f"explore needs one file, such as runs/river_subgame/run.npz; got {len(words)}.")
  keep_apart("html", values.html, words[0])
  if values.serve:
    refuse(values, ("html",), "writes a file, --serve none")
  else:
    refuse(values, ("port",), "belongs to --serve")
  policy = load_saved_policy(words[0], values.limit)
  text = ps.views.explore_page(policy, origin(policy), values.part, values.serve)
  if values.serve:
    return _serve(policy, text, values.port)
  file = Path(values.html or Path(words[0]).with_suffix(".html"))
  with replacing(file, encoding="utf-8") as page:
    page.write(text)
  print(report({"saved": f"{file} ({len(text.encode()) / 1e6:.1f} MB)", "open it": file.resolve().as_uri()}))
  if values.part is None and "part" not in policy.info and '"missing":true' in text:
    print(f"It has the first street alone. All of it: explore {words[0]} --serve; other lines: --part")


def _serve(policy: ps.TreePolicy, page: str, port: int) -> int:
  """Answer a browser on this machine until Ctrl-C."""

  class Street(http.server.BaseHTTPRequestHandler):
    def do_GET(self) -> None:
      number = re.fullmatch(r"/streets/(\d+)\.js", self.path)
      if self.path == "/":
        kind, text = "text/html", page
      elif number and int(number[1]) < len(policy.labels.public_states):
        kind, text = "text/javascript", ps.views.explore_script(policy, int(number[1]))
      else:
        return self.send_error(404)
      content = text.encode()
      self.send_response(200)
      self.send_header("Content-Type", f"{kind}; charset=utf-8")
      self.send_header("Content-Length", str(len(content)))
      self.end_headers()
      self.wfile.write(content)

    def log_message(self, format: str, *args: object) -> None:
      """Requests are not listed."""

  with http.server.HTTPServer(("127.0.0.1", port), Street) as server:
    print(report({"open it": f"http://127.0.0.1:{server.server_port}/", "to end": "Ctrl-C"}), flush=True)
    with contextlib.suppress(KeyboardInterrupt):
      server.serve_forever()
  return 0


COMMAND = Command(
  name="explore",
  arguments="FILE",
  summary="Write a page to click through a solution",
  text="Writes one HTML file that needs no network: open it with a double click. It walks the public tree; a "
  "poker game has charts of strategy, values and ranges, glasses its map with beliefs, other games tables.",
  examples=(
    "explore runs/river_subgame/run.npz",
    "explore runs/leduc_poker/run.npz --html=leduc.html",
    "explore runs/holdem_subgame/run.npz --serve",
    "explore runs/holdem_subgame/run.npz --part='check, check, 2c ...'",
  ),
  own=FLAGS,
  run=_run,
  computes=False,
)
