"""Tables and figures of the book; the only part of the package that draws."""
