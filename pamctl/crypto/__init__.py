"""Ed25519 keys: reading, writing, signing, verifying. The only user of `cryptography`."""
