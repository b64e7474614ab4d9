"""How attributes share ε."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, TypeVar

from shoal.errors import ParameterError
from shoal.types import Domain, Partition

if TYPE_CHECKING:
    from shoal.release.laplace import Laplace


K = TypeVar("K")


def shares(release: Laplace, partition: Partition, limits: Mapping[str, Domain]) -> dict[str, float]:
    """Return the ε of each attribute; they add up to that of the release.

    With classes held fixed, blocks share ε by `split`, and the attributes of a block in proportion to their widths:
    the scale ΔD_j/(|C|·ε_j) is then ΔD/(|C|·ε) for all of them, which is [SD17] Algorithm 1. For original records
    attributes share it themselves, by `split`: evenly, each has noise by its own width. Categories take an even part.
    Where the method weighed the noise of its blocks, these shares are taken.
    """
    if isinstance(release.epsilon, Mapping):
        return {name: float(release.epsilon[name]) for block in partition.blocks for name in block.attributes}
    if release.claim == "original":
        (block,) = partition.blocks
        moved = zip(block.attributes, block.moves or (), strict=True)
        reach = {name: own * (limits[name].width if name in limits else 1.0) for name, own in moved}
        return _parted(float(release.epsilon), reach, even=release.split == "even")
    found: dict[str, float] = {}
    inside = [{name: limits[name].width for name in b.attributes if name in limits} for b in partition.blocks]
    widths = {number: sum(own.values()) for number, own in enumerate(inside)}
    said = {number: block.share for number, block in enumerate(partition.blocks) if block.share is not None}
    if len(said) == len(partition.blocks):  # the method weighed the noise with these
        of_blocks = _parted(float(release.epsilon), said, even=False)
    elif release.split == "least":
        raise ParameterError(
            "Laplace: split = least needs a method that weighs the noise, this one does not. Take another method, or "
            "split = even."
        )
    else:
        of_blocks = _parted(float(release.epsilon), widths, even=release.split == "even")
    for number, block in enumerate(partition.blocks):
        share = of_blocks[number] / len(block.attributes)  # what has no width, categories, takes its part
        found |= {name: share for name in block.attributes if name not in limits}
        found |= _parted(share * len(inside[number]), inside[number], even=False)
    return found


def _parted(epsilon: float, widths: Mapping[K, float], *, even: bool) -> dict[K, float]:
    """Part ε evenly or in proportion to widths; evenly where there are none."""
    total = sum(widths.values())
    if even or total == 0.0:
        return {name: epsilon / len(widths) for name in widths}
    return {name: epsilon * (width / total) for name, width in widths.items()}  # [SD17] Expression (1)
