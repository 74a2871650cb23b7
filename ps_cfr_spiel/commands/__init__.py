"""The program `ps-cfr-spiel`; absl's flags live only here.

May use: every other room. A command is a file that ends in its `COMMAND`; `program` lists and runs them,
`user_input` turns users' mistakes into one line, `flags` holds the flags that several commands share.
"""
