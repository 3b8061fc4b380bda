"""Faults of every kind, made on purpose: what `make bench-faults` does to graphcb.

Read first: `tally` (what may go wrong), `plan` (what is played, and how a log must look), `session`
(one policy and its faults). Then one file per kind of fault: `kills`, `disks`, `interrupts`,
`damage`, `lies`, `postgresql`, `confusion`, `extreme`. `plants` are faults in graphcb itself, which
each of them has to find.
"""
