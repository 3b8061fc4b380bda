"""The regret certificate of a run, in the units of its file."""

from typing import Any

from graphcb.agents import Certificate, SquareCBG
from graphcb.problems.guarded import innermost


def check_regression_regret(agent: Any, regression_regret: float | None) -> None:
    """Refuse a regression regret that no bound could be made of."""
    if regression_regret is None:
        return
    certificate = _certificate(agent)
    if certificate is None:
        raise ValueError(
            "`--regression-regret` must be given with --gamma, or with a model that was made with "
            "one: no other run bounds its regret"
        )
    certificate.regret(regression_regret)


def regret_bound(
    agent: Any, value_range: tuple[float, float], regression_regret: float | None
) -> dict[str, Any] | None:
    """What bounds the expected regret over all examples, or None if the agent certifies nothing.

    The agent sees losses as shares of the range, so both parts are multiplied by its width. The
    regression regret is that of squared shares.
    """
    certificate = _certificate(agent)
    if certificate is None:
        return None
    width, whole = value_range[1] - value_range[0], None
    if regression_regret is not None:
        whole = width * certificate.regret(regression_regret)
    return {
        "exploration": width * certificate.exploration,
        "per_regression_regret": width * certificate.gamma / 4.0,
        "regression_regret": regression_regret,
        "whole": whole,
    }


def in_words(bound: dict[str, Any]) -> str:
    """The bound as one line.

    >>> in_words({"exploration": 12.5, "per_regression_regret": 5.0, "whole": None})
    "12.5 + 5 * (the oracle's regression regret), if it can represent the losses"
    """
    whole, factor = bound["whole"], bound["per_regression_regret"]
    if whole is None:
        text = f"{bound['exploration']:.6g} + {factor:.6g} * (the oracle's regression regret)"
    else:
        text = f"{whole:.6g}, of which exploration {bound['exploration']:.6g}"
    return f"{text}, if it can represent the losses"


def _certificate(agent: Any) -> Certificate | None:
    agent = innermost(agent)
    return agent.certificate if isinstance(agent, SquareCBG) else None
