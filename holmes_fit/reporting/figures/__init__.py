"""What is drawn on axes: functions that take axes and return them, and know nothing of pages."""
