"""The command `adjoint`: one file a subcommand."""
