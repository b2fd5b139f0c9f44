"""Scattering features of pictures on a device: two scales, eight angles, second order.

The network of dpscd_experiments.features, which takes kymatio, written for JAX: wavelets
of Morlet's form, multiplied in the Fourier domain. Its numbers are close to those, not equal.
"""

import math
from typing import Any

import jax.numpy as jnp
import numpy as np
import numpy.typing as npt

from dpscd.device.backend import compiled, exactly
from dpscd_experiments.features import SCATTERING_SIZE, normalised

Floats = npt.NDArray[np.float32]

_SIDE, _PAD, _STRIDE, _SCALES, _ANGLES = 28, 8, 4, 2, 8
_WIDE = _SIDE + 2 * _PAD
_SIGMA, _FREQUENCY, _SLANT = 0.8, 0.75 * math.pi, 4.0 / _ANGLES
_BATCH = 500


def _gaussian(sigma: float, angle: float, slant: float, centre: float) -> Any:
    """Return the Fourier transform of a Gaussian with a wave of a frequency along `angle`."""
    grid = 2.0 * math.pi * np.fft.fftfreq(_WIDE)
    total = np.zeros((_WIDE, _WIDE))
    for down in (-1, 0, 1):
        for right in (-1, 0, 1):
            y, x = np.meshgrid(
                grid + 2 * math.pi * down, grid + 2 * math.pi * right, indexing="ij"
            )
            along = x * math.cos(angle) + y * math.sin(angle) - centre
            across = -x * math.sin(angle) + y * math.cos(angle)
            total += np.exp(-0.5 * sigma**2 * (along**2 + (across / slant) ** 2))
    return total


def _wavelet(scale: int, number: int) -> Any:
    angle = math.pi * number / _ANGLES
    sigma, centre = _SIGMA * 2**scale, _FREQUENCY / 2**scale
    wave = _gaussian(sigma, angle, _SLANT, centre)
    plain = _gaussian(sigma, angle, _SLANT, 0.0)
    return wave - plain * (wave[0, 0] / plain[0, 0])


def _scattered(pictures: Any) -> Any:
    """Return the 81 channels of 7 x 7 of pictures from 0 to 1."""
    low = jnp.asarray(_gaussian(_SIGMA * 2 ** (_SCALES - 1), 0.0, 1.0, 0.0), jnp.float32)
    waves = [
        jnp.asarray(np.stack([_wavelet(j, k) for k in range(_ANGLES)]), jnp.float32)
        for j in range(_SCALES)
    ]
    edge = ((0, 0), (_PAD, _PAD), (_PAD, _PAD))
    spectrum = jnp.fft.fft2(jnp.pad(pictures, edge, mode="reflect"))[:, None]

    def smoothed(spectra: Any) -> Any:
        whole = jnp.fft.ifft2(spectra * low).real[..., ::_STRIDE, ::_STRIDE]
        first, size = _PAD // _STRIDE, _SIDE // _STRIDE
        return whole[..., first : first + size, first : first + size]

    sizes = [jnp.fft.fft2(jnp.abs(jnp.fft.ifft2(spectrum * wave))) for wave in waves]
    again = jnp.abs(jnp.fft.ifft2(sizes[0][:, :, None] * waves[1]))
    second = smoothed(jnp.fft.fft2(again)).reshape(len(pictures), -1, 7, 7)
    return jnp.concatenate([smoothed(spectrum), *map(smoothed, sizes), second], axis=1)


def scattering_on_device(images: npt.NDArray[np.uint8]) -> Floats:
    """Return one row per picture: its 3,969 normalised scattering coefficients."""
    rows = np.empty((len(images), SCATTERING_SIZE), dtype=np.float32)
    with exactly():
        run = compiled(_scattered)
        for first in range(0, len(images), _BATCH):
            batch = images[first : first + _BATCH].astype(np.float32) / np.float32(255.0)
            rows[first : first + _BATCH] = normalised(np.asarray(run(jnp.asarray(batch))))
    return rows
