"""Connections of this process that were refused or closed, by reason."""

from collections import Counter

# "full": answered with 503; "room": idle ones, closed for others; "slow": without a whole request
# in time, or with headers that do not end; "unread": whose clients do not read; "pipelined": with
# too many requests that wait for the answer to an earlier one
REFUSED: Counter[str] = Counter({"full": 0, "room": 0, "slow": 0, "unread": 0, "pipelined": 0})
