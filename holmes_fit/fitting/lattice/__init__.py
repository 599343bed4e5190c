"""One person, one model: the likelihood on a lattice of parameters, and the posterior that it gives."""
