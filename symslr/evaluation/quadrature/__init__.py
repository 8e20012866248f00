"""Where integrands live, and meshes over it."""
