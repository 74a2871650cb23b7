"""`python -m ps_cfr_spiel` is the program `ps-cfr-spiel`."""

from ps_cfr_spiel.apps.commands.program import main

if __name__ == "__main__":
  main()
