"""Verifiers that misbehave on demand, named by their module path in pool_test."""

import os
import signal
import time


def hang(text: str, reference: str) -> bool:
    if text == "hang":
        while True:
            pass
    if text == "die":
        os.kill(os.getpid(), signal.SIGKILL)
    if text == "eat":
        return len(bytearray(1 << 40)) == 0
    if text == "write":
        with open("/tmp/agrae_verify_canary", "w") as file:
            file.write("x" * 10)
    if text == "sleep":
        time.sleep(2.5)
    return text == reference
