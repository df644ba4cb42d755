"""The paper's experiments: what is computed, how, and where the results are kept."""
