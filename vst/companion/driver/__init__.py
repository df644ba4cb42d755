"""Builds the book's pages from its notebooks."""
