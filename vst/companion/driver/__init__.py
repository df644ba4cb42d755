"""From notebooks to the rendered book."""
