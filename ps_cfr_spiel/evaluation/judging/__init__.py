"""Judgement of players by a solution of the game: of known probabilities, or by records of their games."""
