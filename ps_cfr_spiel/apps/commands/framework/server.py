"""A page in the browser, served from this machine."""

from __future__ import annotations

import contextlib
import json
import re
import threading
from collections.abc import Callable

import ps_cfr_spiel as ps
from ps_cfr_spiel.apps.commands.framework.command import Flag
from ps_cfr_spiel.arguments import JSON
from ps_cfr_spiel.reports import report

MOST_SENT = 10_000  # bytes of a request
HOSTS = ("127.0.0.1", "localhost")

# From a path and the bytes sent to it (None by GET) to status, media type and text; None: no such path.
Answer = Callable[[str, bytes | None], tuple[int, str, str] | None]


# Of a command with a page.
PORT = Flag("port", 0, "Port of localhost for the page (default: a free one).", least=0, most=65535)


def parsed(sent: bytes) -> dict[str, JSON]:
  """The content of a request; ValueError if it is not a JSON object, or nested too deep."""
  try:
    asked = json.loads(sent)
  except (ValueError, RecursionError) as error:
    raise ValueError(f"A request is a JSON object, not deeply nested: {error}.") from error
  if not isinstance(asked, dict):
    raise ValueError("A request is a JSON object.")
  return asked


def answers(policy: ps.TreePolicy, page: str) -> Answer:
  """The answers of `show --serve`: the page, and the streets that it asks for."""

  def answer(path: str, sent: bytes | None) -> tuple[int, str, str] | None:
    number = re.fullmatch(r"/streets/([0-9]{1,9})\.js", path)
    if sent is None and path == "/":
      return 200, "text/html", page
    if sent is None and number and int(number[1]) < len(policy.labels.public_states):
      return 200, "text/javascript", ps.views.explore_script(policy, int(number[1]))
    return None

  return answer


def serve(answer: Answer, port: int, most_sent: int = MOST_SENT) -> int:
  """Answer browsers on this machine, one request after the other, until Ctrl-C.

  A request may have at most `most_sent` bytes. ValueError if the port is taken.
  """
  import http.server  # imported here: other commands need none

  one_by_one = threading.Lock()

  class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self) -> None:
      self.reply(None)

    def do_POST(self) -> None:
      length = self.headers.get("Content-Length", "")
      if not re.fullmatch("[0-9]+", length):
        return self.send_error(400)
      if len(length) > len(str(most_sent)) or int(length) > most_sent:
        return self.send_error(413)
      self.reply(self.rfile.read(int(length)))

    def handle(self) -> None:
      with contextlib.suppress(ConnectionError):  # of a browser that has left
        super().handle()

    def is_ours(self) -> bool:
      """True if the page of this server asks, or the person; a page from elsewhere may only link to it."""
      asked = self.headers
      host, origin, site = asked.get("Host", ""), asked.get("Origin"), asked.get("Sec-Fetch-Site")
      if host.partition(":")[0] not in HOSTS or origin not in (None, f"http://{host}"):
        return False
      opened = (asked.get("Sec-Fetch-Mode"), asked.get("Sec-Fetch-Dest")) == ("navigate", "document")
      return site in (None, "none", "same-origin") or (opened and self.path == "/")

    def reply(self, sent: bytes | None) -> None:
      if not self.is_ours():
        return self.send_error(403)
      with one_by_one:
        reply = answer(self.path, sent)
      if reply is None:
        return self.send_error(404)
      status, kind, text = reply
      content = text.encode()
      self.send_response(status)
      self.send_header("Content-Type", f"{kind}; charset=utf-8")
      self.send_header("Content-Length", str(len(content)))
      self.send_header("Cache-Control", "no-store")  # so that Back shows the present
      self.end_headers()
      self.wfile.write(content)

    def log_message(self, format: str, *args: object) -> None:
      """Requests are not listed."""

  try:  # a thread for each connection: browsers keep some open on which they ask nothing
    server = http.server.ThreadingHTTPServer(("127.0.0.1", port), Handler)
  except OSError as error:
    raise ValueError(f"--port={port}: {error.strerror}; choose another, or leave it out.") from error
  with server:
    print(report({"open it": f"http://127.0.0.1:{server.server_port}/", "to end": "Ctrl-C"}), flush=True)
    with contextlib.suppress(KeyboardInterrupt):
      server.serve_forever()
  return 0
