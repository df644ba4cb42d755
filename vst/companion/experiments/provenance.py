"""What produced a result besides its description: versions and the device."""

import jax

import vst


def provenance() -> dict[str, str]:
    """Columns that every result carries."""
    device = jax.devices()[0]
    return {
        "version": vst.__version__,
        "jax": jax.__version__,
        "device": f"{device.platform}:{device.device_kind}",
    }
