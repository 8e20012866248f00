"""Results that are kept: computed once, found again by what was asked and by the code that answers it."""
