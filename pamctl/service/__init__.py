"""The operations: one module a family. Each loads facts, lets the rules decide, commits,
and answers."""
