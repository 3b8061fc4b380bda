"""Packages that graphcb can do without: reported before any work that needs one."""

from importlib import import_module

EXTRAS = {
    "msgspec": "serve",
    "networkx": "networkx",
    "prometheus_client": "serve",
    "psycopg": "postgres",
    "pyarrow": "parquet",
    "ray": "ray",
    "sklearn": "sklearn",
    "torch": "torch",
    "uvicorn": "serve",
    "vowpalwabbit": "vw",
}


def missing(package: str) -> bool:
    """Whether a package cannot be imported."""
    try:
        import_module(package)
    except ImportError:
        return True
    return False


def need(package: str, what: str) -> None:
    """Refuse `what` if the package is not installed."""
    if missing(package):
        raise ValueError(f"{what} needs {package}: {install(package)}")


def install(package: str) -> str:
    """The command that installs a package for graphcb."""
    return f"pip install 'graphcb[{EXTRAS.get(package, 'experiments')}]'"
