"""The stored faults apply to the present code."""

import pytest
from fault import ROOT, read_faults
from planting import check_fault


@pytest.mark.parametrize("fault", read_faults().values(), ids=lambda fault: fault.name)
def test_stored_fault_applies_to_the_present_code(fault):
    check_fault(fault, ROOT)
