"""Signs, in the text that a reader sees, of something that was not rendered or went wrong."""

import re

#: Outside code: sources of equations, roles and directives.
SOURCES = {
    "equation": re.compile(r"\${2}|\$[^$\n]+\$|\\[(\[]|\\begin\{"),
    "role or directive": re.compile(
        r"\{(?:cite|eq|ref|numref|doc|math|glue|figure|table|admonition|code|bibliography)\b[^}]*\}"
        r"|:{3}|`{3}"
    ),
}

#: Anywhere, code's outputs included.
ACCIDENTS = {
    "object instead of its picture": re.compile(
        r"<Figure size|<[\w.]+ (?:object )?at 0x|\b(?:Markdown|Html)\(text="
    ),
    "progress bar": re.compile(r"\d+%\|"),
    "traceback": re.compile(r"Traceback \(most recent call last\)"),
}


def unrendered(text: str) -> list[str]:
    r"""Sources that stand in prose.

    Examples
    --------
    >>> unrendered("a sum $$x + y$$, see {eq}`sum`")
    ['equation: $$', 'role or directive: {eq}']
    >>> unrendered("a set {a, b} at 12:30, for 5 $")
    []
    """
    return _found(SOURCES, text)


def accidents(text: str) -> list[str]:
    """What an output shows by mistake.

    Examples
    --------
    >>> accidents("<vst.companion.report.Html object at 0x7f01> 42")
    ['object instead of its picture: <vst.companion.report.Html object at 0x']
    """
    return _found(ACCIDENTS, text)


def _found(patterns: dict[str, re.Pattern[str]], text: str) -> list[str]:
    return [
        f"{name}: {hit}"
        for name, pattern in patterns.items()
        for hit in sorted(set(pattern.findall(text)))
    ]
