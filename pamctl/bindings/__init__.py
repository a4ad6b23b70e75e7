"""Programs that talk to a store: one table of operations, and what speaks it."""
