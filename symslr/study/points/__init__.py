"""The kinds of points symslr has: one module each, loaded when a study asks for it."""
