"""The one exception that means: the user's input is wrong, and here is the mend."""

from __future__ import annotations


class UserError(Exception):
    """Bad input. The message is one line that names the field or file and the mend.

    Entry points print it as `error: ...` and exit with `exit_code`; a traceback is
    for our own bugs only.
    """

    def __init__(self, message: str, *, exit_code: int = 2):
        super().__init__(" ".join(message.split()))
        self.exit_code = exit_code
