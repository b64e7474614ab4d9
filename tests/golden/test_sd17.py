"""[SD17] Figures 3 and 4: what the text says of them, where it holds and where it does not; and variable sizes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import sd17
import sd17_claims

SAID = sd17.PAPER["claims"]


def test_every_claim_has_a_check_and_every_check_a_claim() -> None:
    assert [claim.name for claim in sd17_claims.CLAIMS] == list(SAID)


@pytest.mark.parametrize(
    "claim",
    [
        pytest.param(
            claim,
            id=claim.name,
            marks=pytest.mark.xfail(strict=True, reason=SAID[claim.name]["why"]) if "why" in SAID[claim.name] else (),
        )
        for claim in sd17_claims.CLAIMS
    ],
)
def test_claim(reference_data: Path, claim: sd17_claims.Claim) -> None:
    assert claim.check(reference_data)


def test_proposition_3_the_noise_of_mdav_and_of_ir_2_has_the_same_scale_for_classes_of_one_size(
    reference_data: Path,
) -> None:
    one, other = (sd17.classes(line, 1.0, 10, reference_data) for line in ("MDAV+DP", "IR_MDAV+DP_2"))
    for a, b in zip(one, other, strict=True):
        assert np.bincount(a.labels).tolist() == np.bincount(b.labels).tolist() == [10] * 108
        assert a.scales == pytest.approx(b.scales)


@pytest.mark.parametrize("epsilon", sd17.PAPER["variable"])
def test_variable_sizes_beat_the_best_fixed_one_in_expectation_too(reference_data: Path, epsilon: float) -> None:
    from expected_error import expected_error

    points = sd17.census(reference_data)
    fixed = expected_error(points, epsilon, sd17.SIZES, "individual_ranking", params={"by": "mdav"})
    assert sd17.variable(epsilon, "least", reference_data)[1] < min(error.total for error in fixed)
