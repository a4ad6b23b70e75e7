"""The drafts' data: its schemas enforced, its vocabularies, its types, its small rules."""
