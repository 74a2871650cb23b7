"""Makes docs/first_screen.gif: a spot is typed, solved, and looked at in a browser.

  python docs/first_screen.py     (needs Chromium and the extra "plot")

The program's own output and pages are shown; the pictures of pages are Chromium's.
"""

import contextlib
import io
import pathlib
import shutil
import subprocess
import tempfile

import matplotlib
from PIL import Image, ImageDraw, ImageFont

import ps_cfr_spiel
from ps_cfr_spiel.apps.commands import program

SIZE = 900, 640
SOLVE = ["solve", "--board=Ks 7d 2c 5h 9s", "--pot=20", "--stack=60", "--bets=50%, a", "--output=spot"]
SHOW = ["show", "spot/run.safetensors", "--html=spot.html"]
LINES = ("", "check", "check, bet 10", "check, bet 10, a")  # clicked in the page
FONT = pathlib.Path(matplotlib.get_data_path()) / "fonts/ttf/DejaVuSansMono.ttf"
TARGET = pathlib.Path(__file__).with_name("first_screen.gif")


def typed(words: list[str]) -> str:
  """A command as one types it."""
  quoted = [
    f"{word[: word.index('=') + 1]}'{word[word.index('=') + 1 :]}'" if " " in word else word for word in words
  ]
  return "$ ps-cfr-spiel " + " ".join(quoted)


def terminal(text: str) -> Image.Image:
  """The last lines of a text as a terminal shows them."""
  picture = Image.new("RGB", SIZE, "#16181d")
  font = ImageFont.truetype(str(FONT), 14)
  wrapped = [line[i : i + 104] for line in text.split("\n") for i in range(0, max(len(line), 1), 104)]
  ImageDraw.Draw(picture).text((14, 12), "\n".join(wrapped[-34:]), "#e6e6e6", font, spacing=4)
  return picture


def page(folder: pathlib.Path, state: int) -> Image.Image:
  """The page at a public state."""
  browser = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))))
  flags = ["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--virtual-time-budget=20000"]
  flags += [f"--window-size={SIZE[0]},{SIZE[1]}", f"--screenshot={folder / 'shot.png'}"]
  address = f"{(folder / 'spot.html').as_uri()}#{state}"
  subprocess.run([browser, *flags, address], check=True, capture_output=True, timeout=120)
  return Image.open(folder / "shot.png").convert("RGB").crop((0, 0, *SIZE))


def main() -> None:
  """Run the commands in a folder of their own, and write the picture."""
  frames: list[tuple[Image.Image, int]] = []  # with milliseconds
  with tempfile.TemporaryDirectory() as name, contextlib.chdir(name):
    text = ""
    for words in (SOLVE, SHOW):
      command = typed(words)
      frames += [(terminal(text + command[:end] + "_"), 60) for end in range(15, len(command), 6)]
      with contextlib.redirect_stdout(io.StringIO()) as out:
        assert program.run(words) == 0
      lines = [
        line for line in out.getvalue().split("\n") if not line.startswith("open it")
      ]  # a temporary folder
      text += "\n".join([command, *lines, ""])
      frames.append((terminal(text + "$ _"), 2500))
    policy = ps_cfr_spiel.load_policy("spot/run.safetensors")
    for line in LINES:
      state = ps_cfr_spiel.views.spot(policy, line).public_state
      frames.append((page(pathlib.Path(name), state), 2500))
  pictures = [picture.quantize(64) for picture, _ in frames]
  times = [milliseconds for _, milliseconds in frames]
  pictures[0].save(TARGET, save_all=True, append_images=pictures[1:], duration=times, loop=0, optimize=True)
  print(f"{TARGET.name}: {len(frames)} frames, {TARGET.stat().st_size / 1e6:.2f} MB")


if __name__ == "__main__":
  main()
