"""River subgame: the last betting round of heads-up no-limit Texas hold'em."""
