"""The least value of a function whose values are dear and have errors: a scan, falls followed outwards, and minima refined."""
