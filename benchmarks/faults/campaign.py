"""The fault campaign."""
import argparse, importlib, sys, time
from sabotage import restart_with_interposer
def main():
    p = argparse.ArgumentParser(); p.add_argument("part"); p.add_argument("--n", type=int, default=100); p.add_argument("--seed", type=int, default=0)
    p.add_argument("--backend"); p.add_argument("--plant")
    g = p.parse_args()
    restart_with_interposer()
    m = importlib.import_module(g.part)
    a = [g.backend] if g.backend else []
    t=time.time()
    for r in m.run(*a, g.n, g.seed, g.plant): print(r)
    print(time.time()-t)
main()
