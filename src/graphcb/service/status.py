"""How the service does, in numbers that cost nothing to look up."""

import math
import time

from graphcb.service.answers import StatusAnswer
from graphcb.service.desk import Desk
from graphcb.service.metrics import Metrics


def status_of(desk: Desk, metrics: Metrics) -> StatusAnswer:
    """Events, requests and latencies; a quantile beyond the last bucket is left out."""
    from graphcb import __version__  # the package imports this room's neighbours

    requests: dict[str, dict[str, int]] = {}
    for (route, status), count in metrics.answers.items():
        requests.setdefault(route, {})[str(status)] = count
    latency = {
        route: {
            name: end
            for name, share in (("p50", 0.5), ("p99", 0.99))
            if math.isfinite(end := latencies.quantile(share))
        }
        for route, latencies in metrics.latencies.items()
    }
    return StatusAnswer(
        __version__,
        time.time() - metrics.started,
        desk.position,
        desk.n_decisions,
        desk.model_version,
        desk.model_version,
        len(desk.versions),
        desk.n_waiting,
        desk.n_commits,
        desk.n_jobs / desk.n_commits if desk.n_commits else 0.0,
        requests,
        latency,
        desk.role,
        desk.staleness,
    )
