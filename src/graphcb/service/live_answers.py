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
    """Means after `decisions` settled decisions; the interval is that of the policy."""

    decisions: list[int]
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
    """How often an action was played, of all and of recent decisions, and its value if always."""

    name: str
    share: float
    recent: float
    value: ValueShown | None


class WindowsShown(msgspec.Struct):
    """Shares of actions and of exploration, in windows that end after `decisions` decisions."""

    decisions: list[int]
    shares: dict[str, list[float]]
    explored: list[float]


class ExplorationShown(msgspec.Struct):
    """The probability of actions other than the most likely one, and what they cost."""

    share: float
    recent: float
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
    """The process itself; `agent` is who decides, "" in a process that has only snapshots."""

    version: str
    agent: str
    uptime: float
    waiting: int
    jobs_per_commit: float
    requests: list[RequestsShown]


class LiveAnswer(msgspec.Struct):
    """All numbers of the page."""

    name: str
    unit: str
    now: float
    log: LogShown
    versions: VersionsShown
    estimates: EstimatesShown
    actions: list[ActionShown]
    windows: WindowsShown
    exploration: ExplorationShown
    feedback: FeedbackShown
    rules: list[RuleAnswer]
    graph: GraphShown | None
    alarms: list[AlarmAnswer]
    service: ServiceShown
