"""Memory Projection Records (MPR): made from a store's memory, and verified.

    from pamctl.projection import project, verify

`project` selects, frames and signs; `verify` answers with a verdict. `produce` is the
producer for candidates of any source profile, `Verifier` the verifier for many records.
"""

from pamctl.projection.materials import Materials
from pamctl.projection.produce import produce
from pamctl.projection.project import project
from pamctl.projection.reasons import REASONS, Verdict
from pamctl.projection.trust import TrustPolicy, parse_trust_policy, store_policy
from pamctl.projection.verify import Verifier, verify

__all__ = [
    "REASONS",
    "Materials",
    "TrustPolicy",
    "Verdict",
    "Verifier",
    "parse_trust_policy",
    "produce",
    "project",
    "store_policy",
    "verify",
]
