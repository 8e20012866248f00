"""Independent random signs."""
