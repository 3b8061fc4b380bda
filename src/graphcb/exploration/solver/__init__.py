"""The convex program of one round, solved and certified. One idea per file, in reading order:

    problem         the DEC, the scaled program and its scaling
      whole_numbers     the DEC where floating point ends
    certificate     a value above and a bound below the optimum, rounding included
    active_set      the outer loop: solve on a few actions, price the others, enlarge the set
      covering      the first set: a greedy cover of the graph
      restriction   the program on the active actions alone
      pricing       what the other actions say of its solution
    interior_point  the inner loop: primal-dual predictor-corrector
      starting_point    cold and warm
      newton_system     the Newton matrix, reduced and factorised
      direction         the Newton direction, refined
      cholesky          dense linear algebra
      sparsity          products that skip the zeros of a large sparse graph

With limits on p the same method is in `limited`, file by file.

Around the method: `edges` is the graph as kernels read it, `workspace` names the rows of the work
arrays, `entry` is called with checked programs, `outcomes` turns numbers into a `solution`, and
`solve` and `batch` are the public functions. Families with an exact solution (bandit, full
information, apple tasting) bring it along in `graphs/families`; `entry` calls it.
"""
