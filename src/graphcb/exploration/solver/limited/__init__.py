"""The convex program with limits on p: floors, caps and linear limits. In reading order:

    certificate     the bound, minimised over the feasible p
    active_set      the outer loop; actions outside the set stay at their floors
      pricing       what they say of a solution
    interior_point  the inner loop, with a pair for each floor, cap and linear limit
      starting_point    between floors and caps, moved within the linear limits
      newton            the Newton system and its direction
      products          along the actions that stay at their floors
    bandit          the bandit with floors and caps, in O(K)
    full_information    the same where every action reveals everything
    points          where there is only one feasible point, and points to start from or fall back on

`box` lays the limits out for a graph, `workspace` names the rows of the work arrays, `entry` is
called with checked programs, `solve` chooses among all these. Each file says what it adds to its
namesake in `solver`, which has the method itself.
"""
