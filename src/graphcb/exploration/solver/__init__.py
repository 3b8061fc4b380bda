"""The convex program of one round, solved and certified. One idea per file, in reading order:

    problem         the DEC, the scaled program and its scaling
      whole_numbers     the DEC where floating point ends
    certificate     a value above and a bound below the optimum, rounding included
      filling           the minimum of the bound over floors and caps
    active_set      the outer loop: solve on a few actions, price the others, enlarge the set
      covering      the first set: a greedy cover of the graph
      restriction   the program on the active actions alone
      pricing       what the other actions say of its solution
    interior_point  the inner loop: primal-dual predictor-corrector
      pairs             what must stay positive: aims, products, the step
      starting_point    cold, from the losses
      warm_start        from a smaller set
      newton_system     the Newton matrix, reduced and factorised
      direction         the Newton direction, refined
      cholesky          dense linear algebra
      sparsity          products that skip the zeros of a large sparse graph

Limits on p are one more term in each of these, behind `if limits is not None`: numba compiles every
kernel for programs without limits, where that is dropped, and for programs with them. What is
particular to limits has files of its own:

    box             floors, caps and linear limits of a round, laid out for a graph
    linear_limits   their slacks, multipliers and rows of the Newton matrix
    passive         actions outside the active set that stay at a positive floor
    capped          bandit and full information with floors and caps, exactly
    feasible_points where there is only one, and points to start from or fall back on
    within          from limits to a row of outcomes

Around the method: `edges` is the graph as kernels read it, `workspace` names the rows of the work
arrays, `entry` is called with checked programs, `outcomes` turns numbers into a `solution`, and
`solve` and `batch` are the public functions. Families with an exact solution (bandit, full
information, apple tasting) bring it along in `graphs/families`; `entry` calls it.
"""
