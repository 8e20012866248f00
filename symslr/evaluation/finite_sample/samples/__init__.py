"""Random samples of a task: fields of keys and values from quasi-random points, and the scatter of means."""
