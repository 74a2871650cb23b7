"""The page of `ps-cfr-spiel explore` for the default river: its size, and how soon a browser shows it.

  python benchmarks/explore_page.py

Chromium, without a window, opens the page from a file; the time is from the beginning of the navigation to
the end of the page's script, after which the first chart is there. Median of nine.
"""

import re
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import pyspiel
from machine import describe

import ps_cfr_spiel
from ps_cfr_spiel.views import explore_page

ROUNDS = 9
CLOCK = """<script>
  const shown = document.createElement("pre");
  const cells = document.querySelectorAll(".cell").length;
  shown.textContent = `shown after ${performance.now()} ms, ${cells} cells`;
  document.body.append(shown);
</script></body>"""


def milliseconds(browser: str, page: Path, profile: Path) -> float:
  """From the beginning of the navigation to the first chart."""
  options = ["--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={profile}", "--dump-dom"]
  run = subprocess.run([browser, *options, page.as_uri()], capture_output=True, text=True, timeout=120)
  found = re.search(r"shown after ([\d.]+) ms, (\d+) cells", run.stdout)
  assert found and int(found[2]) == 169, run.stderr[-1000:]
  return float(found[1])


def main() -> None:
  """Prints size and time."""
  browser = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
  if browser is None:
    sys.exit("This needs Chromium, in Debian: apt-get install chromium")
  print(describe())
  solver = ps_cfr_spiel.PSCFRSolver(pyspiel.load_game("river_subgame"))
  solver.run(200)
  text = explore_page(solver.average_policy())
  with tempfile.TemporaryDirectory() as folder:
    page = Path(folder) / "page.html"
    page.write_text(text.replace("</body>", CLOCK), encoding="utf-8")
    times = [milliseconds(browser, page, Path(folder) / "profile") for _ in range(ROUNDS)]
  print(f"{len(text.encode()) / 1e6:.2f} MB, shown after {statistics.median(times):.0f} ms")


if __name__ == "__main__":
  main()
