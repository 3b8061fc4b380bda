"""The structs of /v1/live."""

import msgspec


class ValueAnswer(msgspec.Struct):
    """A mean in the problem's units and its interval, which holds with 95 % at all times at once.

    The mean is null if nothing was seen of it, or if a share of it, `unseen`, could not have been
    revealed; the interval counts this share at both ends of the range.
    """

    name: str
    mean: float | None
    lower: float
    upper: float
    unseen: float


class CurveAnswer(msgspec.Struct):
    """Means after `decisions` settled decisions; the interval is that of the policy."""

    decisions: list[int]
    mean: list[float | None]
    lower: list[float]
    upper: list[float]
    baseline: list[float | None]
    best: list[float | None]


class ActionAnswer(msgspec.Struct):
    """How often an action was played, of all and of late, and what playing it always would be."""

    name: str
    share: float
    recent: float
    value: ValueAnswer | None


class WindowsAnswer(msgspec.Struct):
    """Shares of actions, and of exploration, in windows that end after `decisions` decisions."""

    decisions: list[int]
    shares: dict[str, list[float]]
    explored: list[float]


class ExplorationAnswer(msgspec.Struct):
    """How likely actions other than the most likely one were, and what that costs a decision."""

    share: float
    recent: float
    cost: ValueAnswer


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


class GraphAnswer(msgspec.Struct):
    """Which action reveals which: row played, column revealed; null if that is learned."""

    actions: list[str]
    matrix: list[list[float | None]]


class VersionShown(msgspec.Struct):
    """A version of the problem, and what was seen of it, null if nothing was.

    `is_whole` says that no decision was passed over. There is no `value` where what is revealed
    is learned.
    """

    number: int
    since: float
    note: str
    unit: str
    n_decisions: int | None
    is_whole: bool
    value: ValueAnswer | None


class LatencyAnswer(msgspec.Struct):
    """Requests of a path, refusals and failures among them, and upper ends of latencies."""

    path: str
    requests: int
    refused: int
    failed: int
    p50: float | None
    p99: float | None


class LiveAnswer(msgspec.Struct):
    """All that the page shows. Gains are positive where the policy is better.

    The tally is that of version `problem_version`, begins after event `first_event` and has come
    to `seen_event` of `n_events`. `versions` are the last of `n_versions`, newest first. If there
    are no estimates, `not_estimated` says why, and is empty otherwise.
    """

    name: str
    unit: str
    version: str
    uptime: float
    now: float
    n_events: int
    first_event: int
    seen_event: int
    model_version: int
    n_decisions: int
    n_settled: int
    problem_version: int
    n_versions: int
    versions: list[VersionShown]
    not_estimated: str
    policy: ValueAnswer
    baseline: ValueAnswer | None
    best: ValueAnswer | None
    gain_on_baseline: ValueAnswer | None
    gain_on_best: ValueAnswer | None
    curve: CurveAnswer
    actions: list[ActionAnswer]
    windows: WindowsAnswer
    exploration: ExplorationAnswer
    feedback: FeedbackShown
    rules: list[RuleAnswer]
    graph: GraphAnswer | None
    requests: list[LatencyAnswer]
    waiting: int
    jobs_per_commit: float
