"""One module a command, or a group of commands: it declares flags, calls, and shows the answer."""
