"""Strategies of a public tree as OpenSpiel policies, and back.

May import: compiler, cfr and lower layers. `tree_policy` is a policy over a tree's arrays; `convert`
turns any OpenSpiel policy into such arrays; `reach` has the reach of infostates and the values of their
actions, which `worth` computes, `rows` puts both into a table, with names from `naming`; `kept` is a policy
in a file to look at; `paths` finds places by typed moves, and `read_locks` reads the strategies locked
there. `post_processing` rounds strategies, and `action_translation` plays them where more
bet sizes are allowed.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
