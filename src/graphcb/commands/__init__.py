"""One file a command of the command line: its options, what it calls, what it prints."""
