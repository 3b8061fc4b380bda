"""`graphcb serve`: the decision service for a problem file. `graphcb serve-keys`: its keys."""

import argparse
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

from graphcb.commands.command import Commands
from graphcb.commands.packages import need

CHECKPOINT_EVERY = 5000  # events; replaying as many takes half a second


def add_to(commands: Commands) -> None:
    """Add both commands to the parser."""
    serve = commands.add_parser(
        "serve", help="serve decisions over HTTP, with every decision in a log"
    )
    serve.add_argument(
        "problem", type=Path, metavar="PROBLEM", nargs="?", help="a problem file (TOML)"
    )
    serve.add_argument(
        "--demo", action="store_true",
        help="serve an example problem with simulated clients, to watch in a browser",
    )  # fmt: skip
    serve.add_argument(
        "--log",
        metavar="LOG",
        help="a file, or postgresql://user@host/database (PROBLEM.db)",
    )
    serve.add_argument("--host", default="127.0.0.1", help="the address to listen on (127.0.0.1)")
    serve.add_argument("--port", type=int, default=8000, help="the port to listen on (8000)")
    serve.add_argument(
        "--keys", type=Path, metavar="FILE", help="the clients' keys (see serve-keys)"
    )
    serve.add_argument(
        "--durability", choices=("power-loss", "process-kill"), default="power-loss",
        help="what an acknowledged decision survives (power-loss)",
    )  # fmt: skip
    serve.add_argument("--seed", type=int, help="seed of a new log (random)")
    serve.add_argument(
        "--rate",
        type=float,
        metavar="N",
        help="requests per second for each key (no limit)",
    )
    role = serve.add_mutually_exclusive_group()
    role.add_argument(
        "--decide-only", action="store_true",
        help="decide with the model of a trainer; needs --log postgresql://..., no PROBLEM",
    )  # fmt: skip
    role.add_argument(
        "--learn-only", action="store_true",
        help="learn from what deciders write; waits while another trainer is at work",
    )  # fmt: skip
    serve.add_argument(
        "--most-stale", type=float, default=60.0, metavar="SECONDS",
        help="how far a decider's model may be behind before it refuses to decide (60)",
    )  # fmt: skip
    serve.add_argument(
        "--leave", type=float, default=1.0, metavar="SECONDS",
        help="on SIGTERM, continue so long while /readyz says no (1)",
    )  # fmt: skip
    serve.set_defaults(command=_serve)
    _add_keys(commands)


def _add_keys(commands: Commands) -> None:
    parser = commands.add_parser("serve-keys", help="add, list or remove keys of the service")
    actions = parser.add_subparsers(required=True, metavar="ACTION")
    add = actions.add_parser("add", help="make a key and print it once")
    add.add_argument("file", type=Path, metavar="FILE", help="the file of keys")
    add.add_argument("name", metavar="NAME", help="the client that gets the key")
    add.add_argument(
        "--scopes", default="decide,feedback", metavar="A,B",
        help="what the key allows: decide, feedback, read, admin (decide,feedback)",
    )  # fmt: skip
    add.set_defaults(command=_add_key)
    for name, text, command in (
        ("list", "list the clients that have keys", _list_keys),
        ("remove", "remove a key; a running service notices within a second", _remove_key),
    ):
        action = actions.add_parser(name, help=text)
        action.add_argument("file", type=Path, metavar="FILE", help="the file of keys")
        if name == "remove":
            action.add_argument("name", metavar="NAME", help="the client")
        action.set_defaults(command=command)


def _serve(options: argparse.Namespace) -> None:
    for package in ("msgspec", "uvicorn", "prometheus_client"):
        need(package, "`graphcb serve`")
    from graphcb.problems import Problem

    if options.decide_only or options.learn_only:
        _check_role(options)
    if options.demo:
        _serve_demo(options)
    elif options.decide_only:
        _serve_problem(None, options.log, options)
    elif options.problem is None:
        raise ValueError("`PROBLEM` must be a problem file (TOML); or try graphcb serve --demo")
    else:
        log = str(options.problem.with_suffix(".db")) if options.log is None else options.log
        _serve_problem(Problem.read(options.problem), log, options)


def _check_role(options: argparse.Namespace) -> None:
    """Refuse options that do not fit a decider or a trainer."""
    from graphcb.decisions.storage import without_password

    role = "--decide-only" if options.decide_only else "--learn-only"
    if options.demo:
        raise ValueError(f"`{role}` must be given without --demo, which is one process")
    if not str(options.log).startswith(("postgresql://", "postgres://")):
        given = "none" if options.log is None else repr(without_password(options.log))
        raise ValueError(
            f"`{role}` must have --log postgresql://user@host/database, which all processes share, "
            f"got {given}"
        )
    if options.decide_only and (options.problem is not None or options.seed is not None):
        given = "a problem file" if options.problem is not None else "--seed"
        raise ValueError(f"`--decide-only` must be given without {given}: the trainer has it")


def _serve_demo(options: argparse.Namespace) -> None:
    """Serve the demo's problem; its log is deleted afterwards unless --log names one."""
    from tempfile import TemporaryDirectory

    from graphcb.service.demo import PROBLEM, Simulator

    if options.problem is not None or options.keys is not None:
        given = "a problem file" if options.problem is not None else "--keys"
        raise ValueError(f"`--demo` must be given without {given}: it brings its own problem")
    simulators: list[Simulator] = []

    def simulate(address: str) -> None:
        print(f"graphcb: open {address} in a browser; Ctrl-C stops", flush=True)
        simulators.append(Simulator(address))
        simulators[0].start()

    with TemporaryDirectory(prefix="graphcb-demo-") as folder:
        log = str(Path(folder) / "demo.db") if options.log is None else options.log
        try:
            _serve_problem(PROBLEM, log, options, simulate)
        finally:
            for one in simulators:
                one.stop()


def _serve_problem(
    problem: Any,
    log: str,
    options: argparse.Namespace,
    begin: Callable[[str], None] = lambda address: None,
) -> None:
    """Serve until a signal; `begin` is called with the address once requests are accepted."""
    from graphcb.service.admission import RequestLimits
    from graphcb.service.app import Service
    from graphcb.service.health import answering
    from graphcb.service.keys import Keys
    from graphcb.service.server import address_of, check_address, listen, new_server, run

    keys = None
    if options.keys is not None:
        keys = Keys(options.keys)
        if not len(keys):
            raise ValueError(
                f"`--keys` must be a file with keys, got {str(options.keys)!r}, which has none; "
                "add one with graphcb serve-keys add"
            )
    check_address(options.host, has_keys=keys is not None)
    if options.rate is not None and not options.rate > 0.0:
        raise ValueError(f"`--rate` must be above 0, got {options.rate:g}")
    if not 0.0 <= options.leave <= 600.0:
        raise ValueError(f"`--leave` must be between 0 and 600, got {options.leave:g}")
    with _stoppable(), ExitStack() as stack:
        socket = stack.enter_context(listen(options.host, options.port))
        with answering(socket):
            policy = stack.enter_context(_open(log, problem, options))
        limits = RequestLimits(per_second=options.rate)
        service = Service(policy, keys=keys, limits=limits)
        greeting = _greeting(address_of(socket), policy)

        def greet() -> None:
            print(greeting, flush=True)
            _say_what_is_lost(policy)
            begin(address_of(socket))

        def leave() -> float:
            service.desk.is_leaving = True
            return float(options.leave)

        run(new_server(service), socket, greet, leave)
    print("graphcb: stopped; everything answered is in the log")


@contextmanager
def _stoppable() -> Iterator[None]:
    """SIGTERM also ends the command in order while it opens a log, or waits for one."""

    def stop(*_: object) -> None:
        raise SystemExit(0)

    try:
        before = signal.signal(signal.SIGTERM, stop)
    except ValueError:  # not in the main thread, where no signal arrives
        yield
        return
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before or signal.SIG_DFL)


def _open(log: str, problem: Any, options: argparse.Namespace) -> Any:
    """The policy, decider or trainer, once it can be opened."""
    from graphcb.decisions import Decider, Policy, Trainer

    if options.decide_only:
        return _wait_for(
            lambda: Decider(log, durability=options.durability, most_stale=options.most_stale)
        )
    settings: dict[str, Any] = {"durability": options.durability, "seed": options.seed}
    if options.learn_only:
        return _wait_for(lambda: _open_writer(Trainer, log, problem, settings))
    settings["checkpoint_every"] = CHECKPOINT_EVERY
    return _open_writer(Policy, log, problem, settings)


def _wait_for(opening: Callable[[], Any]) -> Any:
    """Try again until the server and the trainer are there, and another trainer has ended."""
    from graphcb.decisions import LogError

    reason = ""
    while True:
        try:
            return opening()
        except LogError as problem:
            if str(problem) != reason:
                reason = str(problem)
                print(f"graphcb: waiting: {reason}", flush=True)
        time.sleep(0.1)


def _open_writer(kind: type[Any], log: str, problem: Any, settings: dict[str, Any]) -> Any:
    """A policy for the problem, or for the log's last version if the file has an earlier one."""
    from graphcb.decisions import DecisionLog

    try:
        return kind(log, problem=problem, **settings)
    except ValueError:
        with suppress(OSError, ValueError), DecisionLog(log) as reader:
            versions = list(reader.versions)
            earlier = [one.number for one in versions[:-1] if one.problem == problem]
            if earlier and versions[-1].problem != problem:
                print(
                    f"graphcb: the file has version {earlier[-1]} of the problem; continuing with "
                    f"version {len(versions)}, which the log has"
                )
                return kind(log, **settings)
        raise


def _greeting(address: str, policy: Any) -> str:
    from graphcb.decisions import Trainer
    from graphcb.decisions.storage import without_password

    log = without_password(policy.location)
    does = "learning" if isinstance(policy, Trainer) else "deciding"
    return f"graphcb: {does} at {address}, log {log} with {policy.n_events:,} events"


def _say_what_is_lost(policy: Any) -> None:
    """Say once, by the process that learns, what cannot be found out from the log."""
    from graphcb.decisions import Decider
    from graphcb.problems.wording import lost_without_explore

    if policy.problem is not None and not isinstance(policy, Decider):
        lost = lost_without_explore(policy.problem)
        if lost is not None:
            print(f"graphcb: {lost}", flush=True)


def _add_key(options: argparse.Namespace) -> None:
    need("msgspec", "`graphcb serve-keys`")
    from graphcb.service.keys import Keys

    print(Keys(options.file).add(options.name, options.scopes.split(",")))


def _list_keys(options: argparse.Namespace) -> None:
    for key in _existing(options.file):
        print(f"{key.name}: {', '.join(key.scopes)}")


def _remove_key(options: argparse.Namespace) -> None:
    _existing(options.file).remove(options.name)


def _existing(path: Path) -> Any:
    need("msgspec", "`graphcb serve-keys`")
    from graphcb.service.keys import Keys

    if not path.is_file():
        raise FileNotFoundError(f"`file` must be an existing file of keys, got {str(path)!r}")
    return Keys(path)
