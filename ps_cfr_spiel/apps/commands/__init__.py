"""The program `ps-cfr-spiel`; absl's flags are only here.

May import: every other package, as `ps.package` inside functions, so that help imports none of them. A
command is a file that ends in its `COMMAND`; `program` lists and runs them and answers mistakes in one line,
`user_input` reads games, files and folders, `flags` holds the flags that several commands share.
"""
