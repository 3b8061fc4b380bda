"""The structs of /v1/live."""

import msgspec

from graphcb.service.answers import AlarmAnswer


class ValueShown(msgspec.Struct):
    """A mean in the problem's units and its interval, which holds with 95 % at all times at once.

    The mean is null if nothing was seen of it, or if a share of it, `unseen`, could not have been
    revealed; the interval counts this share at both ends of the range.
    """

    name: str
    mean: float | None
    lower: float
    upper: float
    unseen: float


class LogShown(msgspec.Struct):
    """How far the log has been counted: from after `first_event` to `seen_event` of `n_events`.

    `n_settled` decisions have all the feedback that estimates need.
    """

    n_events: int
    first_event: int
    seen_event: int
    n_decisions: int
    n_settled: int
    model_version: int


class VersionShown(msgspec.Struct):
    """A version of the problem, and what was seen of it, null if nothing was.

    `is_whole` says that no decision was passed over. There is no `value` where the problem learns
    what is revealed.
    """

    number: int
    since: float
    note: str
    unit: str
    n_decisions: int | None
    is_whole: bool
    value: ValueShown | None


class VersionsShown(msgspec.Struct):
    """The last of `n` versions, newest first; all other numbers are those of version `counted`."""

    counted: int
    n: int
    last: list[VersionShown]


class CurveShown(msgspec.Struct):
    """Means after `decisions` settled decisions; the interval is that of the policy.

    `times` are when these were settled, in seconds since 1970.
    """

    decisions: list[int]
    times: list[float]
    mean: list[float | None]
    lower: list[float]
    upper: list[float]
    baseline: list[float | None]
    best: list[float | None]


class EstimatesShown(msgspec.Struct):
    """Means of the policy, the baseline and the best action, and gains: positive is better.

    If nothing can be estimated, `missing` says why; it is empty otherwise.
    """

    missing: str
    policy: ValueShown
    baseline: ValueShown | None
    best: ValueShown | None
    gain_on_baseline: ValueShown | None
    gain_on_best: ValueShown | None
    curve: CurveShown


class ActionShown(msgspec.Struct):
    """How often an action was played, of all decisions and of the last hour's, and its value.

    The value is that of always playing it.
    """

    name: str
    share: float
    hour: float | None
    value: ValueShown | None


class WindowsShown(msgspec.Struct):
    """Shares of actions and of exploration, in windows that end after `decisions` decisions.

    `times` are when they end, in seconds since 1970. `colours` are numbers that stay with their
    actions.
    """

    decisions: list[int]
    times: list[float]
    shares: dict[str, list[float]]
    colours: dict[str, int]
    explored: list[float]


class HourShown(msgspec.Struct):
    """Decisions of the last hour, and the mean of those that were settled in it.

    The mean is null if nothing was settled, or part of it could not have been revealed.
    """

    n_decisions: int
    n_settled: int
    mean: float | None


class ExplorationShown(msgspec.Struct):
    """The probability of actions other than the most likely one, and what they cost."""

    share: float
    hour: float | None
    cost: ValueShown


class FeedbackShown(msgspec.Struct):
    """Decisions that reveal something, how many have feedback, and how long it took.

    `by_default` have the default after waiting and no feedback, null if the problem has none; of
    those with feedback, `replaced` had the default before it came.
    """

    expected: int
    answered: int
    by_default: int | None
    replaced: int
    waiting: int
    delay_p50: float | None
    delay_p90: float | None


class RuleAnswer(msgspec.Struct):
    """A limit, a budget or the baseline: what it says, how it stands, and whether it is held.

    `held` is null if what was seen of the log does not tell.
    """

    name: str
    says: str
    stands: str
    held: bool | None


class GraphShown(msgspec.Struct):
    """Which action reveals which: row played, column revealed; null where that is learned."""

    actions: list[str]
    matrix: list[list[float | None]]


class RequestsShown(msgspec.Struct):
    """Requests to a path, how many were refused or failed, and upper bounds of latencies."""

    path: str
    requests: int
    refused: int
    failed: int
    p50: float | None
    p99: float | None


class ServiceShown(msgspec.Struct):
    """The process itself; `agent` is who decides, "" in a process that has only snapshots.

    While it `is_compiling` machine code, the first requests wait.
    """

    version: str
    agent: str
    is_compiling: bool
    uptime: float
    waiting: int
    jobs_per_commit: float
    requests: list[RequestsShown]


class ProcessShown(msgspec.Struct):
    """What the page shows of the process that serves, not of the log, and when that was."""

    now: float
    n_events: int
    model_version: int
    match_rate: float | None
    alarms: list[AlarmAnswer]
    service: ServiceShown


class LiveAnswer(msgspec.Struct):
    """All numbers of the page.

    `match_rate` is how often a learner in shadow mode would have played as the baseline did.
    """

    name: str
    unit: str
    now: float
    log: LogShown
    versions: VersionsShown
    estimates: EstimatesShown
    hour: HourShown
    actions: list[ActionShown]
    windows: WindowsShown
    exploration: ExplorationShown
    feedback: FeedbackShown
    match_rate: float | None
    rules: list[RuleAnswer]
    graph: GraphShown | None
    alarms: list[AlarmAnswer]
    service: ServiceShown
