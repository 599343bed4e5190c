"""How results look in a notebook: the main one of their tables, and what must be read first."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    import pandas as pd

MOST = 12  # rows


class InNotebook:
    """A result that a notebook shows as a table."""

    main_table: ClassVar[tuple[str, ...]]  # the attribute that is one, then its columns that are shown; all if none

    def _repr_html_(self) -> str:
        name, *columns = self.main_table
        table: pd.DataFrame = getattr(self, name)
        shown = table[[column for column in columns if column in table] or [*table.columns]]
        label, warnings = getattr(self, "label", ""), getattr(self, "warnings", ())
        told = [escape(str(text)) for text in (label, *warnings) if text]
        html = shown.to_html(index=False, max_rows=MOST, border=0, float_format=lambda value: f"{value:.4g}")
        size = f"{len(table):,} {'row' if len(table) == 1 else 'rows'}"
        head = f"<p><b>{type(self).__name__}</b>, its table <code>{name}</code>: {size}</p>"
        return "".join([head, html, *(f"<p>⚠ {text}</p>" for text in told)])
