"""The command line: parses, calls, prints. Only here: environment, terminal, exit statuses.

A command is one small module with an `app`, a line in `command_table.COMMANDS`, and
functions marked with `verbs.verb`. It is imported when it is called and not before.
"""
