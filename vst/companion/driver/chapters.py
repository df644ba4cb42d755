"""The book's chapters and their parameters, each with a type, a default and a meaning."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import papermill
import yaml

from vst.errors import UserError


class ParameterError(UserError, ValueError):
    """An unknown parameter, or a value of the wrong type."""


@dataclass(frozen=True)
class Parameter:
    """One line of a chapter's first code cell: ``name: type = default  # meaning``."""

    name: str
    type: str
    default: str
    meaning: str

    def value(self, text: str) -> Any:
        """The value of a text from the command line.

        Examples
        --------
        >>> Parameter("folds", "int", "0", "folds per data set").value("3")
        3
        >>> Parameter("datasets", "list", "[]", "data sets").value("boston, yacht")
        ['boston', 'yacht']
        """
        if self.type == "str":
            return text
        if self.type in ("int", "float"):
            return self._number(text)
        if self.type == "list" and not text.lstrip().startswith("["):
            text = f"[{text}]"
        try:
            value = yaml.safe_load(text)
        except yaml.YAMLError:
            value = text
        if type(value).__name__ != self.type:
            raise self._error(text)
        return value

    def _number(self, text: str) -> int | float:
        try:
            return int(text) if self.type == "int" else float(text)
        except ValueError:
            raise self._error(text) from None

    def _error(self, text: str) -> ParameterError:
        return ParameterError(f"{self.name} must be of type {self.type}, got {text}\n{self}")

    def __str__(self) -> str:
        return f"  {self.name}: {self.type} = {self.default}  # {self.meaning}"


@dataclass(frozen=True)
class Chapter:
    """A notebook of the book."""

    source: Path
    parameters: dict[str, Parameter]

    @property
    def name(self) -> str:
        """Its name on the command line: the file name without its suffix."""
        return self.source.stem

    def __str__(self) -> str:
        return "\n".join([f"{self.name} has", *map(str, self.parameters.values())])


def chapters(root: Path) -> list[Chapter]:
    """The book's notebooks, in the order of the table of contents."""
    if not (root / "_toc.yml").exists():
        raise UserError(
            f"{root.resolve()} holds no book (no _toc.yml): run this in the repository, or give it with "
            "--root"
        )
    contents = yaml.safe_load((root / "_toc.yml").read_text())
    files = [contents["root"]]
    for group in [contents, *contents.get("parts", [])]:
        files += [entry["file"] for entry in group.get("chapters", [])]
    sources = [root / f"{file}.ipynb" for file in files]
    return [Chapter(source, parameters_of(source)) for source in sources if source.exists()]


def parameters_of(source: Path) -> dict[str, Parameter]:
    """The parameters of a notebook, by name."""
    found = papermill.inspect_notebook(source)
    return {
        name: Parameter(name, entry["inferred_type_name"], entry["default"], entry["help"])
        for name, entry in found.items()
    }


def named(all_chapters: Sequence[Chapter], names: Iterable[str]) -> list[Chapter]:
    """The chapters with these names; all of them if there are no names."""
    by_name = {chapter.name: chapter for chapter in all_chapters}
    unknown = [name for name in names if name not in by_name]
    if unknown:
        raise UserError(f"there is no chapter {unknown[0]}: choose from {', '.join(by_name)}")
    return [by_name[name] for name in names] or list(all_chapters)


def values_for(
    chosen: Sequence[Chapter], given: Iterable[tuple[str, str]]
) -> dict[str, dict[str, Any]]:
    """The given parameters that each chapter has.

    A parameter that no chapter has is an error, since it would change nothing.
    """
    values: dict[str, dict[str, Any]] = {chapter.name: {} for chapter in chosen}
    for name, text in given:
        having = [chapter for chapter in chosen if name in chapter.parameters]
        if not having:
            known = "\n".join(map(str, chosen))
            raise ParameterError(f"there is no parameter {name}; the parameters are:\n{known}")
        for chapter in having:
            values[chapter.name][name] = chapter.parameters[name].value(text)
    return values
