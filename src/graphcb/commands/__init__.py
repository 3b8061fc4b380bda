"""The commands of the command line, one file each: options, what is called, what is printed."""
