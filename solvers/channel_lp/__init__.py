"""Tables of the least expected cost whose rows sum to 1 and whose columns lie in a cone of Lipschitz logarithms."""
