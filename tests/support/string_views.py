"""Arrow's string views, which its versions before 18 or so make but cannot convert."""

import pyarrow as pa
import pytest


def _can_convert() -> bool:
    try:
        pa.array(["a"], pa.string_view()).cast(pa.large_string())
    except pa.ArrowNotImplementedError:
        return False
    return True


needs_string_views = pytest.mark.skipif(not _can_convert(), reason="this version of Arrow cannot convert string views")
