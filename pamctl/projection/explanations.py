"""What each reason means for a person, and what they can do. `docs/verification.md` prints
the same, and a test compares the two."""

from __future__ import annotations

from pamctl.named_tuples import NamedTuple
from pamctl.projection.reasons import Reason, Verdict


class Explanation(NamedTuple):
    """meaning: what the reason says of a record. remedy: what a person can do about it."""

    meaning: str
    remedy: str


EXPLANATIONS: dict[Reason, Explanation] = {
    "record_invalid": Explanation(
        "The file is not a Memory Projection Record of version 1.",
        "Look at the member that is named, and ask the producer for the record as it was signed.",
    ),
    "delivered_order_invalid": Explanation(
        "The delivered entries are not numbered 0, 1, 2 ... in order.",
        "An entry was moved, left out or repeated: get the record from its producer again.",
    ),
    "exclusion_count_mismatch": Explanation(
        "The total of left-out objects is not the sum of its four counters.",
        "A counter was changed: get the record from its producer again.",
    ),
    "nonclaim_invalid": Explanation(
        "The record claims something that no projection can establish.",
        "Do not rely on it; a record says what was emitted and nothing of what became of it.",
    ),
    "adapter_key_not_pinned": Explanation(
        "Your policy pins no key under the key id that the record names.",
        "If you trust the producer, pin its key in the file for --trust, or with"
        " `pamctl key trust KEY --as adapter`; take the key from the producer, not from the"
        " record's folder.",
    ),
    "adapter_mismatch": Explanation(
        "The key is pinned, for another adapter than the record names.",
        "Compare adapter_id of the pin with the adapter of the record, and correct the one that"
        " is wrong.",
    ),
    "adapter_key_revoked": Explanation(
        "The key was revoked or is compromised, so nothing signed with it counts.",
        "Have the projection made again with a key that is in force.",
    ),
    "adapter_key_not_yet_valid": Explanation(
        "The record says that it was made before its key came into force.",
        "Check valid_from of the pin and the producer's clock.",
    ),
    "adapter_key_expired": Explanation(
        "The record says that it was made after its key had run out.",
        "Have the projection made again with a current key, or correct valid_to of the pin.",
    ),
    "signature_invalid": Explanation(
        "The signature is not the pinned key's over these bytes.",
        "The record was changed after it was signed, or another key signed it: get it from its"
        " producer again.",
    ),
    "source_profile_mismatch": Explanation(
        "The record is over another memory format than your policy expects.",
        "Correct expected_source_profile, or refuse the record.",
    ),
    "context_frame_profile_mismatch": Explanation(
        "The fragments are framed otherwise than your policy, or their sources, call for.",
        "Correct expected_context_frame_profile where it is the policy; where a position is"
        " named, the text or a label there is not that of its source: do not use it.",
    ),
    "timestamp_order_invalid": Explanation(
        "Trust was evaluated after the record was made, or the record is from the future.",
        "Check the clocks of producer and verifier, and max_clock_skew_sec of your policy.",
    ),
    "trust_snapshot_stale": Explanation(
        "The decision whom to trust is older than your policy accepts.",
        "Have the projection made again; for an old record, verify as of its time with --at.",
    ),
    "projection_stale": Explanation(
        "The record is older than your policy accepts.",
        "Have the projection made again; for an old record, verify as of its time with --at.",
    ),
    "recall_request_digest_mismatch": Explanation(
        "The request beside the record is not the one that the record answers.",
        "Find the exact bytes of the request, or the record that belongs to this one.",
    ),
    "selection_policy_digest_mismatch": Explanation(
        "The selection policy beside the record is not the one that was committed to.",
        "Find the exact bytes of the policy; reformatting it changes them.",
    ),
    "trust_snapshot_digest_mismatch": Explanation(
        "The trust snapshot beside the record is not the one that was committed to.",
        "Find the exact bytes of the snapshot.",
    ),
    "source_object_digest_mismatch": Explanation(
        "A source object is not the one that was delivered.",
        "Find the object at that position as it was, byte for byte.",
    ),
    "native_source_result_mismatch": Explanation(
        "The record labels an object otherwise than its memory format does.",
        "Do not use the projection: its trust, author or custody is not what the source says.",
    ),
    "fragment_digest_mismatch": Explanation(
        "A fragment is not the one that was emitted.",
        "Find the fragment at that position as it was, byte for byte.",
    ),
    "projection_fragment_concatenation_mismatch": Explanation(
        "The projection is not its fragments, one behind the other.",
        "Something was added, left out or moved in projection.txt: get it from its producer.",
    ),
    "projection_length_mismatch": Explanation(
        "The projection is longer or shorter than the record says.",
        "Something was added or cut off, a newline perhaps: get it from its producer.",
    ),
    "projection_digest_mismatch": Explanation(
        "The projection is not the one that was emitted.",
        "It was changed after it was signed: get it from its producer.",
    ),
    "projection_not_utf8": Explanation(
        "The projection is not UTF-8 text.",
        "Report it to the producer: no such projection may be signed.",
    ),
    "material_missing": Explanation(
        "Something that the record commits to is not there to be checked.",
        "Supply the missing files, name their folder with --bundle, or verify the signed record"
        " alone with --envelope-only.",
    ),
    "projection_replay": Explanation(
        "This projection was accepted before, and your policy accepts each one once.",
        "Have a new projection made for a new request.",
    ),
}
"""In the order in which the verifier judges."""


def explained(verdict: Verdict) -> str:
    """A sentence or two on a verdict that a person can act on."""
    if verdict["reason"] is None:
        return "Everything that was checked holds."
    meaning, remedy = EXPLANATIONS[verdict["reason"]]
    return f"{meaning} {remedy}"
