"""Seven moments of an attention's scores and their slopes: kernel, meshes, tables of one token."""
