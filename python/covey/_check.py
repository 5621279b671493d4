"""The conformance suite."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING

from covey import _core
from covey._policy import prepared

if TYPE_CHECKING:
    from covey._policy import Policy


def check_policy(policy: Policy | type[Policy], *, cases: int = 50) -> None:
    """Check a policy by the rules that every policy must keep to, on so many random workloads.

    Rates fit the links; all bytes are sent; the same run gives the same result; names of ports do
    not matter; nothing is faster than possible; and what the policy promises holds. Raises
    `ConformanceError` with a workload, made as small as possible, that shows the first violation. An
    exception of the policy is a violation too, and then the cause (`__cause__`) of the error.
    """
    prepared(policy)  # which refuses what is no policy
    if isinstance(policy, type):
        _core.check(policy, cases)
    else:
        _core.check(lambda: copy.deepcopy(policy), cases)
