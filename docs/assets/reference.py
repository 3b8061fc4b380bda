"""Used by `make docs`: what the reference needs beyond docstrings and signatures."""

import re
from typing import Any

import griffe

# A prompt, and all that follows it up to an empty line.
EXAMPLE = re.compile(r"^>>> .*(?:\n.+)*", flags=re.MULTILINE)


class Reference(griffe.Extension):
    """Examples are code, tuples have signatures, and a function is not the file it is in."""

    def on_object(self, *, obj: griffe.Object, **kwargs: Any) -> None:
        """Put a fence around each example, which would be a quotation otherwise."""
        if obj.docstring is not None:
            fenced = EXAMPLE.sub(lambda found: f"```pycon\n{found[0]}\n```", obj.docstring.value)
            obj.docstring.value = fenced

    def on_class(self, *, cls: griffe.Class, **kwargs: Any) -> None:
        """Give a named tuple a constructor with its fields, as dataclasses have one."""
        if any(str(base) == "NamedTuple" for base in cls.bases):
            fields = [
                griffe.Parameter(
                    field.name,
                    annotation=field.annotation,
                    kind=griffe.ParameterKind.positional_or_keyword,
                    default=field.value,
                )
                for field in cls.attributes.values()
                if field.annotation is not None and "property" not in field.labels
            ]
            own = griffe.Parameter("self", kind=griffe.ParameterKind.positional_or_keyword)
            parameters = griffe.Parameters(own, *fields)
            cls.set_member("__init__", griffe.Function("__init__", parameters=parameters))

    def on_package(self, *, pkg: griffe.Module, **kwargs: Any) -> None:
        """Let `graphs.bandit` be the function, although a file of this name is beside it."""
        for room in [pkg, *pkg.modules.values()]:
            for name, member in list(room.members.items()):
                if member.is_alias:
                    path = f"{member.target_path}.{name}".removeprefix(f"{pkg.path}.")
                    try:
                        is_function = pkg[path].is_function
                    except (KeyError, griffe.AliasResolutionError):
                        continue
                    if is_function:
                        room.set_member(name, griffe.Alias(name, pkg[path], parent=room))
