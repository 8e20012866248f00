"""Ground truth of a sequence model: its samples, message passing on them, and students that learn from a stream."""
