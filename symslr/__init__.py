"""symslr: derive, evaluate, check and typeset the theory of attention."""
