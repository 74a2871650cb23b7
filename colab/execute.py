"""Runs the notebooks here from top to bottom and keeps their outputs in them.

  python colab/execute.py [quickstart ...]

They run in the Python that runs this script, in an empty folder, with the package that is installed there.
Nothing of the machine is kept but the outputs themselves.
"""

import argparse
import pathlib
import sys
import tempfile
import time

import nbformat
from jupyter_client.kernelspec import KernelSpec
from jupyter_client.manager import AsyncKernelManager
from nbclient import NotebookClient

FOLDER = pathlib.Path(__file__).parent
CLEARED = {"text/plain": ""}  # the output of a bar that has ended
METADATA = {
  "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
  "language_info": {"name": "python"},
}


class ThisPython(AsyncKernelManager):
  """Starts the running interpreter, whatever kernels are installed for the user."""

  @property
  def kernel_spec(self) -> KernelSpec:
    """How the kernel is started, whichever the notebook names."""
    argv = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
    return KernelSpec(argv=argv, display_name="Python 3", language="python")


def execute(path: pathlib.Path, folder: pathlib.Path, timeout: int = 600) -> nbformat.NotebookNode:
  """Runs a notebook in a folder.

  Args:
    path: the notebook; it is left as it is.
    folder: where its cells read and write files.
    timeout: most seconds for a cell.

  Returns:
    The notebook with its outputs.

  Raises:
    nbclient.exceptions.CellExecutionError: a cell failed.
  """
  notebook = nbformat.read(path, as_version=4)
  client = NotebookClient(
    notebook,
    kernel_manager_class=ThisPython,
    timeout=timeout,
    record_timing=False,
    resources={"metadata": {"path": str(folder)}},
  )
  client.execute()
  notebook.metadata = nbformat.from_dict(METADATA)
  for cell in notebook.cells:
    if cell.cell_type == "code":
      cell.outputs = [output for output in _joined(cell.outputs) if output.get("data") != CLEARED]
  return notebook


def _joined(outputs: list[nbformat.NotebookNode]) -> list[nbformat.NotebookNode]:
  """Outputs with pieces of print joined, as they are seen in the end."""
  joined: list[nbformat.NotebookNode] = []
  for output in outputs:
    if joined and output.get("name") == joined[-1].get("name", "") and output.output_type == "stream":
      joined[-1].text += output.text
    else:
      joined.append(output)
  return joined


def main() -> None:
  """Runs the notebooks that the command line names, all by default."""
  parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
  known = sorted(path.stem for path in FOLDER.glob("*.ipynb"))
  parser.add_argument("names", nargs="*", default=known, help=", ".join(known))
  for name in parser.parse_args().names:
    path, started = FOLDER / f"{name}.ipynb", time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
      notebook = execute(path, pathlib.Path(folder))
    nbformat.write(notebook, path)
    size = path.stat().st_size / 1024
    print(f"{name}: {time.perf_counter() - started:.0f} s, {size:,.0f} kB", flush=True)


if __name__ == "__main__":
  main()
