"""The `pamctl` program: a command line comes in, an exit status goes out."""

from __future__ import annotations

import atexit
import gc
import os
import sys

from pamctl.cli.terminal import output
from pamctl.cli.versions import VERSION, in_full
from pamctl.errors import EXIT_INTERRUPTED

_OF_THE_VERSION = {"--version", "--verbose", "-v"}


def main() -> int:
    """The installed program: runs it and ends the process with its exit status."""
    status = run()
    _end_at_once(status)
    return status


def run() -> int:
    """Runs the program on `sys.argv` and answers its exit status.

    `--version`, with `--verbose` or alone, is answered before the option parser is imported:
    scripts ask it to find out whether pamctl is there.
    """
    _occupy_standard_descriptors()
    if sys.stdout is None:
        return _refuse_without_output()
    # A run is over before there is garbage worth collecting, and looking for it takes a
    # tenth of the time. Commands that last turn it on again.
    gc.disable()
    try:
        arguments = sys.argv[1:]
        if "--version" in arguments and set(arguments) <= _OF_THE_VERSION:
            output.write((VERSION if len(arguments) == 1 else in_full()).encode())
            return 0
        from pamctl.cli.application import dispatch

        return dispatch(arguments, os.environ)
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED
    except output.ReaderGone:
        return output.end_as_sigpipe()
    except output.Unwritable as cause:
        from pamctl.cli.failures import report

        return report(cause.error(), operation_id="")
    finally:
        # The interpreter looks a last time when it ends; what is frozen it does not look at.
        gc.freeze()


def _end_at_once(status: int) -> None:
    """Ends the process without taking the interpreter apart, which would take as long as a
    small command does. What was registered for the end is done first. Returns where another
    thread is at work, where somebody traces or profiles the program, and where a stream
    cannot be flushed: then the interpreter ends in its own way, and says so.
    """
    threads = sys.modules.get("threading")
    watched = sys.gettrace() is not None or sys.getprofile() is not None
    if watched or (threads is not None and threads.active_count() > 1):
        return
    try:
        atexit._run_exitfuncs()
        for stream in (sys.stdout, sys.stderr):
            if stream is not None:
                stream.flush()
    except (OSError, ValueError):
        return
    os._exit(status)


def _refuse_without_output() -> int:
    """An answer that nobody can get is not worth a change to a store."""
    from pamctl.cli.failures import report
    from pamctl.errors import InternalError

    error = InternalError("standard output is closed", hint="redirect it to /dev/null instead")
    return report(error, operation_id="")


def _occupy_standard_descriptors() -> None:
    """Puts /dev/null where a standard stream was closed, so that no file of the store is
    ever opened as descriptor 1 or 2 and written over by a message."""
    if sys.stdin is None or sys.stdout is None or sys.stderr is None:
        while (descriptor := os.open(os.devnull, os.O_RDWR)) <= 2:
            pass
        os.close(descriptor)
