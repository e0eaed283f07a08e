"""The worked example: its data, day by day."""
