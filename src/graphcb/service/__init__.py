"""The decision service: HTTP over a policy, with every answer in the log before it is sent."""
