"""Signatures of files: Ed25519, detached, over the bytes of the file as they are.

A signature is 64 bytes in a file of its own, so that other programs can make and check it:
``openssl pkeyutl -verify -pubin -inkey public.pem -rawin -in FILE -sigfile FILE.sig``.
"""

import os
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ed25519 import (
    Ed25519PrivateKey,
    Ed25519PublicKey,
)
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_pem_private_key,
    load_pem_public_key,
)

from dpscd.atomic import atomic_write
from dpscd.errors import ModelFileError, ParameterError

_LENGTH = 64  # bytes of a signature
_LARGEST = 2**16  # bytes; no key is larger


def new_key(path: str | os.PathLike[str]) -> Path:
    """Write a key pair, the private key for its owner only; return the public one's path."""
    # The public key's name is `path` with ``.pub`` appended. No file is replaced.
    private, public = Path(path), _beside(path, ".pub")
    if public.exists() or private.exists():
        raise ParameterError(f"{private.name} or {public.name} is there already.")
    key = Ed25519PrivateKey.generate()
    words = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    handle = os.open(private, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(handle, "wb") as file:
        file.write(words)
    with atomic_write(public, binary=True) as file:
        file.write(
            key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
        )
    return public


def write_signature(
    path: str | os.PathLike[str], content: bytes, key: str | os.PathLike[str]
) -> Path:
    """Sign the content of a file; return the path of the signature beside it."""
    target = _beside(path, ".sig")
    signature = _private_key(Path(key)).sign(content)
    with atomic_write(target, binary=True) as file:
        file.write(signature)
    return target


def check_signature(
    path: str | os.PathLike[str], content: bytes, key: str | os.PathLike[str]
) -> None:
    """Raise ModelFileError unless the content of a file is signed with a public key."""
    # The content is not read again: what was checked is what is used.
    public = _public_key(Path(key))
    name, signature = Path(path).name, _beside(path, ".sig")
    words = None
    with suppress(FileNotFoundError):
        words = _start_of(signature, _LENGTH + 1)
    if words is None:
        raise ModelFileError(f"{name} is not signed: there is no {signature.name} beside it.")
    with suppress(InvalidSignature):
        public.verify(words, content)
        return
    raise ModelFileError(
        f"{signature.name} is no signature of {name} by {Path(key).name}: the model was "
        "changed since it was signed, or another key was used."
    )


def _private_key(path: Path) -> Ed25519PrivateKey:
    words = _start_of(path, _LARGEST)
    if b"PUBLIC KEY" in words:
        raise ParameterError(f"{path.name} is a public key; signing needs the private key.")
    read = partial(load_pem_private_key, words, password=None)
    key: Ed25519PrivateKey = _key(path, "private key", Ed25519PrivateKey, read)
    return key


def _public_key(path: Path) -> Ed25519PublicKey:
    words = _start_of(path, _LARGEST)
    if b"PRIVATE KEY" in words:
        raise ParameterError(
            f"{path.name} is a private key, which should stay with the signer; checking "
            "needs the public key."
        )
    read = partial(load_pem_public_key, words)
    key: Ed25519PublicKey = _key(path, "public key", Ed25519PublicKey, read)
    return key


def _key(path: Path, name: str, kind: Any, read: Callable[[], Any]) -> Any:
    """Return the key that is read, or raise an error without a word of the file."""
    try:
        key = read()
    except TypeError:  # of private keys only
        problem = (
            "is encrypted with a passphrase, which is not asked for here; sign with openssl "
            "pkeyutl -sign, or give a key that is not encrypted"
        )
    except (ValueError, UnsupportedAlgorithm):
        problem = f"is no {name} in a PEM file"
    else:
        if isinstance(key, kind):
            return key
        problem = f"is a {name} of another kind"
    raise ParameterError(f"{path.name} {problem}; an Ed25519 key is needed.")


def _start_of(path: Path, length: int) -> bytes:
    with path.open("rb") as file:
        return file.read(length)


def _beside(path: str | os.PathLike[str], ending: str) -> Path:
    whole = Path(path)
    return whole.with_name(whole.name + ending)
