"""What reaches a terminal or a pipe: JSON for programs, tables, timelines and colour for people."""
