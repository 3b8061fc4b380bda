"""The part of the metadata that depends on where the project lives, which only a release knows.

    GRAPHCB_REPOSITORY=https://HOST/OWNER/graphcb python -m build

README points at files of the repository. On a package index these links are absolute if the
address is given, and plain text if not: none of them is broken. All else is in pyproject.toml.
"""

import os
import re
from pathlib import Path

from setuptools import setup

LINK = re.compile(r"(!?)\[([^\]]*)\]\((?!https?://)([^)\s]+)\)")


def readme(text: str, repository: str) -> str:
    """README with links that work elsewhere."""

    def elsewhere(found: re.Match[str]) -> str:
        is_picture, words, path = found[1], found[2], found[3]
        if not repository:
            return "" if is_picture else words
        return f"{is_picture}[{words}]({repository}/{'raw' if is_picture else 'blob'}/main/{path})"

    return LINK.sub(elsewhere, text)


def urls(repository: str) -> dict[str, str]:
    """What the index shows beside the description."""
    if not repository:
        return {}
    pages = {"Documentation": "docs/index.md", "Changelog": "CHANGELOG.md"}
    return {"Source": repository} | {
        name: f"{repository}/blob/main/{path}" for name, path in pages.items()
    }


if __name__ == "__main__":
    repository = os.environ.get("GRAPHCB_REPOSITORY", "").rstrip("/")
    setup(
        long_description=readme(Path("README.md").read_text(encoding="utf-8"), repository),
        long_description_content_type="text/markdown",
        project_urls=urls(repository),
    )
