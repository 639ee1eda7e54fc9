# SPDX-License-Identifier: GPL-2.0-or-later
"""figures: tables of measurements, each a median with its range, next to the targets."""
import statistics
import sys


class Figures:
    """Values by tool and column, printed as medians with ranges."""

    def __init__(self, title, columns, targets=None):
        self.title, self.columns = title, columns
        self.targets = targets or {}  # for bpfflame: column → largest acceptable value
        self.values = {}

    def add(self, tool, **values):
        for column, value in values.items():
            self.values.setdefault(tool, {}).setdefault(column, []).append(value)

    def _cell(self, tool, column):
        values = self.values[tool].get(column)
        if not values:
            return "-"
        digits = self.columns[column]
        low, high = min(values), max(values)
        return f"{statistics.median(values):.{digits}f} ({low:.{digits}f}-{high:.{digits}f})"

    def show(self):
        print(f"\n{self.title}")
        width = max(len(tool) for tool in self.values) + 2
        cells = {column: [self._cell(tool, column) for tool in self.values]
                 for column in self.columns}
        widths = {column: max(len(column), *map(len, cells[column])) + 2 for column in cells}
        print(" " * width + "".join(f"{column:>{widths[column]}}" for column in cells))
        for i, tool in enumerate(self.values):
            row = "".join(f"{cells[column][i]:>{widths[column]}}" for column in cells)
            print(f"{tool:<{width}}{row}")
        for (tool, column), most in self.targets.items():
            values = self.values.get(tool, {}).get(column)
            if values:
                median = statistics.median(values)
                verdict = "met" if median <= most else "MISSED"
                print(f"target {tool}, {column}: at most {most}: {verdict} ({median:.4g})")
        sys.stdout.flush()
