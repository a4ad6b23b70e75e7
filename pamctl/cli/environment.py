"""The variables of the environment that pamctl heeds."""

VARIABLES: tuple[tuple[str, str], ...] = (
    ("PAM_STORE", "The store, as --store names it."),
    ("PAM_SCOPE", "The scope, as --scope names it."),
    ("PAM_ACTOR", "The actor, as --actor names it."),
    ("PAM_FORMAT", "How to print, as --format says it."),
    ("PAM_KEY_PASSPHRASE", "The passphrase of an encrypted key, where nobody can be asked."),
    ("PAM_SOURCE_PASSPHRASE", "The passphrase of what project --from names, likewise."),
    ("PAM_DEBUG", "Where it is 1, an unexpected failure shows where it happened."),
    ("NO_COLOR", "Where it is set, nothing is coloured."),
    ("FORCE_COLOR", "Where it is set, tables are coloured even outside a terminal."),
    ("XDG_CONFIG_HOME", "Where pamctl/config.json is; otherwise ~/.config."),
    ("XDG_STATE_HOME", "Where pamctl keeps what it remembers; otherwise ~/.local/state."),
)
"""Their names and what they say."""
