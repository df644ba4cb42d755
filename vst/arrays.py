"""The one array type that functions take where NumPy's and JAX's will both do."""

import jax
import numpy as np

AnyArray = jax.Array | np.ndarray
