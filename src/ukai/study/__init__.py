"""Long-horizon work: research, dreams, scheduled reports."""

from ukai.study.report import Report

__all__ = ["Report"]
