"""Finding the lines of a program that run op by op, or wait for the host.

- ``_session`` what is counted between the beginning and the end of one watch
- ``_report`` the text about it
- ``_validator`` what a user begins and ends
"""

from __future__ import annotations

from maxlite.validation._validator import EagerUsageValidator, active_validator

__all__ = ["EagerUsageValidator", "active_validator"]
