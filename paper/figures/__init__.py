"""The figures of every study, in the paper's layout: what arranges each from the study's results, and its height."""

from collections.abc import Callable

from paper.compare import StudyResult
from paper.figures import backward, conditioning, forward, variations
from paper.figures.parts import Rows
from paper.studies import Study

FIGURES: dict[Study, dict[str, tuple[Callable[[StudyResult], Rows], float]]] = {  # by name; inches
    "backward": {"compression": (backward.compression, 6.9), "transfer": (backward.transfer, 7.0)},
    "forward": {"new_colors": (forward.new_colors, 8.3)},
    "conditioning": {"conditioning": (conditioning.conditioning, 5.4)},
    "ablation": {"ablation": (variations.ablation, 3.8)},
    "sweep": {"sweep_maps": (variations.maps, 7.8), "sweep_advantages": (variations.advantages, 8.8)},
}
