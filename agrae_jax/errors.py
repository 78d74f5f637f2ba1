"""The one exception that means: the user's input is wrong, and here is the mend.

Exit codes of every entry point, for scripts that start runs:

    0    done
    1    a bug of ours, with a traceback
    2    the config, the command line or a directory is wrong
    3    preempted: the run was saved; the same command resumes it
    4    diverged: the loss or a gradient is not a number
    5    the data cannot be used: a bad row, a changed file, nothing gradable
    6    out of memory
    130  interrupted at once; 143 and other 128 + n: ended by signal n, 141 by `| head`
"""

from __future__ import annotations

DONE, CONFIG, PREEMPTED, DIVERGED, DATA, MEMORY = 0, 2, 3, 4, 5, 6
INTERRUPTED, PIPE_CLOSED = 130, 141


class UserError(Exception):
    """Bad input. The message is one line that names the field or file and the mend.

    Entry points print it as `error: ...` and exit with `exit_code`; a traceback is
    for our own bugs only.
    """

    def __init__(self, message: str, *, exit_code: int = CONFIG):
        super().__init__(" ".join(message.split()))
        self.exit_code = exit_code


class Preempted(UserError):
    """The run was asked to end; who catches it saves what was done."""

    def __init__(self, message: str):
        super().__init__(message, exit_code=PREEMPTED)
