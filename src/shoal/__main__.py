"""``python -m shoal``, and the command ``shoal``."""

import signal

if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # Ctrl-C while modules load: no stack trace
    signal.signal(signal.SIGINT, signal.SIG_DFL)

from shoal.cli import main

__all__ = ["main"]

if __name__ == "__main__":
    main()
