"""The programs of `vitrine bench --cuda`: one row each, by the name that --case takes."""

from vitrine._tools.gpu_cases import elementary, generation, language, training, vision
from vitrine._tools.gpu_cases.case import Case, Program

CASES: dict[str, Case] = {**elementary.CASES, **vision.CASES, **language.CASES, **generation.CASES, **training.CASES}

__all__ = ["CASES", "Case", "Program"]
