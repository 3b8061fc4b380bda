"""libsvm text: a label, or several with commas between, then index:value pairs."""

from graphcb.streams.row import Row

EXPECTED = "must be written LABEL INDEX:VALUE INDEX:VALUE ..."


def parse_libsvm(line: str, n_places: int) -> Row | None:
    """One line; None for an empty one or a comment. Index i goes to place i modulo `n_places`.

    >>> parse_libsvm("3,7 1:0.5 4:2", 2**18)
    Row(labels=['3', '7'], costs={}, places=[1, 4], values=[0.5, 2.0])
    """
    text = line.partition("#")[0]
    cells = text.split()
    if not cells:
        return None
    labels: list[str] = []
    if ":" not in cells[0]:  # a row may have no label at all
        labels = [label.removeprefix("+") for label in cells.pop(0).split(",")]
    places: list[int] = []
    values: list[float] = []
    for cell in cells:
        index, _, value = cell.partition(":")
        try:
            places.append(int(index) % n_places)
            values.append(float(value))
        except ValueError:
            raise ValueError(f"{EXPECTED}, got {cell!r}") from None
        if index.startswith("-"):
            raise ValueError(f"{EXPECTED} with indices from 0 or 1 on, got {cell!r}")
    return Row(labels, {}, places, values)


def labels_of(line: str) -> list[str]:
    """The labels alone, for a first look."""
    first = line.partition("#")[0].split(maxsplit=1)[:1]
    if not first or ":" in first[0]:
        return []
    return [label.removeprefix("+") for label in first[0].split(",")]
