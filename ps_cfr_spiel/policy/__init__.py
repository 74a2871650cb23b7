"""Strategies of a public tree as OpenSpiel policies, and back.

May import: compiler, cfr and lower layers. `tree_policy` is a policy over a tree's arrays; `convert` turns
any OpenSpiel policy into such arrays; `state_answers` has what all policies answer about a state; `reach` has
the reach of infostates and the values of their actions, which `worth` computes, and `rows` puts both into a
table; `saved_values` is a policy in a file to look at; `read_locks` reads the strategies locked after lines.
`wrapped` is a policy that is changed before it is played: `post_processing` rounds it, and
`action_translation` plays it where more bet sizes are allowed.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
