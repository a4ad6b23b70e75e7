#!/bin/sh
# pin.sh NAME: the trust policy of a relying party that pins the key NAME of this store.
#
# In earnest the key comes to the relying party by a way of its own, once, and the policy is
# theirs. Never take it from beside the record that it is to check.
set -eu

key() { pamctl key show "$1" --json | sed "s/.*\"$2\":\"\([^\"]*\)\".*/\1/"; }
cat <<END
{"adapter_keys": {"$(key "$1" key_id)": {
   "public_key_spki_b64u": "$(key "$1" public_key_spki_b64u)",
   "status": "active", "valid_from": "2020-01-01T00:00:00Z", "valid_to": "2100-01-01T00:00:00Z"}},
 "max_projection_age_sec": 3600, "max_trust_age_sec": 3600, "max_clock_skew_sec": 60}
END
