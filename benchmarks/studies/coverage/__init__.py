"""How often 95 % intervals hold the truth, over many logs of many kinds."""
