"""The programs of `vitrine bench --cpu`: one row each, by the name that --case takes."""

from vitrine._tools.cpu_cases import elementary, models, training
from vitrine._tools.gpu_cases.case import Case, Program

CASES: dict[str, Case] = {**elementary.CASES, **training.CASES, **models.CASES}

__all__ = ["CASES", "Case", "Program"]
