"""`graphcb serve`: the decision service for a problem file, or for a folder of them."""

import argparse
import signal
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any

from graphcb.commands.opening import (
    log_of,
    open_log,
    read_keys,
    role_of,
    say_what_is_lost,
    wait_for,
)
from graphcb.commands.options import Commands, add_command, add_options
from graphcb.commands.packages import need
from graphcb.decisions.storage import without_password
from graphcb.problems import Problem

OPTIONS = {
    "[PROBLEM]": "a problem file (TOML), or a folder of them",
    "--demo": "serve an example problem with simulated clients, to watch in a browser",
    "--log LOG": "a file, or postgresql://user@host/database (PROBLEM.db); for a folder of "
    "problems, the folder of their logs, or the database in which each has a schema",
    "--host HOST=127.0.0.1": "the address to listen on (127.0.0.1)",
    "--port PORT=8000": "the port to listen on (8000)",
    "--keys FILE": "the clients' keys (see serve-keys)",
    "--durability power-loss|process-kill=power-loss": "what an acknowledged decision survives "
    "(power-loss)",
    "--seed N": "seed of a new log (random)",
    "--rate RATE": "requests, or rounds in them, per second for each key (no limit)",
}
ROLES = {
    "--decide-only": "decide with the model of a trainer; needs --log postgresql://..., no problem "
    "file",
    "--learn-only": "learn from what deciders write; waits while another trainer is at work",
}
MORE = {
    "--most-stale SECONDS=60": "how far a decider's model may be behind before it refuses to "
    "decide (60)",
    "--largest-graph N=200": "the most actions of a round that brings its own graph (200)",
    "--leave SECONDS=1": "on SIGTERM, keep answering for this long while /readyz answers 503 (1)",
    "--tls-cert FILE": "serve HTTPS with this certificate (PEM)",
    "--tls-key FILE": "the certificate's private key (PEM)",
    "--log-format text|json=text": "how the service's own messages are printed (text)",
}


def add_to(commands: Commands) -> None:
    """Add the command to the parser."""
    text = "serve decisions over HTTP, with every decision in a log"
    serve = add_command(commands, "serve", text, _serve, OPTIONS)
    add_options(serve.add_mutually_exclusive_group(), ROLES)
    add_options(serve, MORE)


def _serve(options: argparse.Namespace) -> int:
    for package in ("msgspec", "uvicorn", "prometheus_client"):
        need(package, "`graphcb serve`")
    from graphcb.service.errors import LOGGER
    from graphcb.service.messages import printing

    _check_numbers(options)
    if options.decide_only or options.learn_only:
        _check_role(options)
    with printing(options.log_format):
        try:
            _serve_as_asked(options)
        except (ValueError, OSError) as problem:
            if options.log_format == "text":
                raise
            LOGGER.error("%s", problem)
            return 2
    return 0


def _serve_as_asked(options: argparse.Namespace) -> None:
    """Serve the demo, a folder of problems or one problem until a signal."""
    if options.demo:
        _serve_demo(options)
    elif options.problem is not None and options.problem.is_dir():
        _serve_folder(options)
    elif options.decide_only:
        _serve_problem(None, options.log, options)
    elif options.problem is None:
        raise ValueError("`PROBLEM` must be a problem file (TOML); or try graphcb serve --demo")
    else:
        log = str(options.problem.with_suffix(".db")) if options.log is None else options.log
        _serve_problem(Problem.read(options.problem), log, options)


def _check_numbers(options: argparse.Namespace) -> None:
    if options.rate is not None and not options.rate > 0.0:
        raise ValueError(f"`--rate` must be above 0, got {options.rate:g}")
    if options.largest_graph < 1:
        raise ValueError(f"`--largest-graph` must be at least 1, got {options.largest_graph}")
    if not 0.0 <= options.leave <= 600.0:
        raise ValueError(f"`--leave` must be between 0 and 600, got {options.leave:g}")


def _check_role(options: argparse.Namespace) -> None:
    """Refuse options that do not fit a decider or a trainer."""
    role = "--decide-only" if options.decide_only else "--learn-only"
    if options.demo:
        raise ValueError(f"`{role}` must be given without --demo, which is one process")
    if not str(options.log).startswith(("postgresql://", "postgres://")):
        given = "none" if options.log is None else repr(without_password(options.log))
        raise ValueError(
            f"`{role}` must have --log postgresql://user@host/database, which all processes share, "
            f"got {given}"
        )
    has_file = options.problem is not None and not options.problem.is_dir()
    if options.decide_only and (has_file or options.seed is not None):
        given = "a problem file" if has_file else "--seed"
        raise ValueError(f"`--decide-only` must be given without {given}: the trainer has it")


def _serve_demo(options: argparse.Namespace) -> None:
    """Serve the demo's problem; its log is deleted afterwards unless --log names one."""
    from tempfile import TemporaryDirectory

    from graphcb.service.demo import PROBLEM, Simulator
    from graphcb.service.messages import say

    if options.problem is not None or options.keys is not None:
        given = "a problem file" if options.problem is not None else "--keys"
        raise ValueError(f"`--demo` must be given without {given}: it brings its own problem")
    simulators: list[Simulator] = []

    def simulate(address: str) -> None:
        say(f"open {address} in a browser; Ctrl-C stops")
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
    from graphcb.service.messages import say
    from graphcb.service.server import address_of, check_address, listen, new_server, read_tls, run

    keys = None if options.keys is None else read_keys(options.keys)
    check_address(options.host, has_keys=keys is not None)
    tls = read_tls(options.tls_cert, options.tls_key)
    with _stoppable(), ExitStack() as stack:
        socket = stack.enter_context(listen(options.host, options.port))
        with answering(socket, tls):
            policy = stack.enter_context(wait_for(lambda: open_log(log, problem, options), options))
        limits = RequestLimits(per_second=options.rate, graph=options.largest_graph)
        service = Service(policy, keys=keys, limits=limits)
        address, n_events = address_of(socket, tls), policy.n_events

        def greet() -> None:
            say(f"{role_of(policy)} at {address}, {log_of(policy, n_events)}")
            say_what_is_lost(policy)
            begin(address)

        def leave() -> float:
            service.desk.is_leaving = True
            return float(options.leave)

        run(new_server(service, tls), socket, greet, leave)
    say("stopped; everything answered is in the log")


def _serve_folder(options: argparse.Namespace) -> None:
    """Serve all problems of a folder until a signal."""
    from graphcb.commands.serve_folder import find_problems, has_keys, learners_of, openings
    from graphcb.service.app import Service
    from graphcb.service.messages import say
    from graphcb.service.problems import Problems
    from graphcb.service.server import address_of, check_address, listen, new_server, read_tls, run

    found = find_problems(options)
    check_address(options.host, has_keys=has_keys(found))
    tls = read_tls(options.tls_cert, options.tls_key)

    def tell(name: str, service: Service) -> None:
        policy = service.desk.policy
        say(f"{role_of(policy)} on {name}, {log_of(policy, service.desk.position)}")
        say_what_is_lost(policy)

    with ExitStack() as stack:
        socket = stack.enter_context(listen(options.host, options.port))
        learners = None
        if options.learn_only:
            learners = stack.enter_context(closing(learners_of(options.log)))
        problems = Problems(
            openings(found, options), is_local=not has_keys(found), sharing=learners, say=tell
        )

        def greet() -> None:
            say(f"serving at {address_of(socket, tls)}, problems {', '.join(found)}")

        def leave() -> float:
            problems.leave()
            return float(options.leave)

        run(new_server(problems, tls), socket, greet, leave)
    say("stopped; everything answered is in the logs")


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
