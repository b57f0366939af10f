"""`python -m adjoint`: the command."""

from adjoint.cli.main import main

if __name__ == "__main__":
    main()
