"""Signatures: of these bytes, by this key, and by nothing else."""

import os
import stat

import pytest
from cryptography.hazmat.primitives.asymmetric import rsa, x25519
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
)
from hypothesis import given
from hypothesis import strategies as st

from dpscd.errors import ModelFileError, ParameterError
from dpscd.privacy.signing import check_signature, new_key, write_signature

CONTENT = b'{"format": 2, "coef": [1.0]}'


@pytest.fixture
def signed(tmp_path):
    """Return a signed file and the public key."""
    path = tmp_path / "model.json"
    path.write_bytes(CONTENT)
    public = new_key(tmp_path / "key.pem")
    assert write_signature(path, CONTENT, tmp_path / "key.pem") == tmp_path / "model.json.sig"
    return path, public


def test_what_was_signed_is_accepted(signed):
    path, public = signed
    check_signature(path, CONTENT, public)
    assert path.with_name("model.json.sig").stat().st_size == 64


def test_a_private_key_is_for_its_owner_only(tmp_path):
    mask = os.umask(0)
    try:
        public = new_key(tmp_path / "key.pem")
    finally:
        os.umask(mask)
    assert public == tmp_path / "key.pem.pub"
    assert stat.S_IMODE((tmp_path / "key.pem").stat().st_mode) == 0o600
    assert b"PRIVATE" in (tmp_path / "key.pem").read_bytes()
    assert b"PRIVATE" not in public.read_bytes()


@pytest.mark.parametrize("there", ["key.pem", "key.pem.pub"])
def test_a_key_that_is_there_is_not_replaced(tmp_path, there):
    (tmp_path / there).write_text("mine")
    with pytest.raises(ParameterError, match="there already"):
        new_key(tmp_path / "key.pem")
    assert [x.name for x in tmp_path.iterdir()] == [there]
    assert (tmp_path / there).read_text() == "mine"


@given(at=st.integers(0, len(CONTENT) - 1), flip=st.integers(1, 255))
def test_a_changed_byte_is_refused(tmp_path_factory, at, flip):
    folder = tmp_path_factory.mktemp("signed")
    public = new_key(folder / "key.pem")
    write_signature(folder / "m", CONTENT, folder / "key.pem")
    changed = bytearray(CONTENT)
    changed[at] ^= flip
    with pytest.raises(ModelFileError, match="no signature of m by key"):
        check_signature(folder / "m", bytes(changed), public)


@pytest.mark.parametrize("content", [CONTENT + b"\n", CONTENT[:-1], b""])
def test_added_or_cut_bytes_are_refused(signed, content):
    path, public = signed
    with pytest.raises(ModelFileError, match="was changed since it was signed"):
        check_signature(path, content, public)


def test_another_key_is_refused(signed, tmp_path):
    other = new_key(tmp_path / "other.pem")
    with pytest.raises(ModelFileError, match=r"no signature of model\.json by other\.pem\.pub"):
        check_signature(signed[0], CONTENT, other)


def test_a_missing_signature_is_said(signed):
    path, public = signed
    path.with_name("model.json.sig").unlink()
    with pytest.raises(ModelFileError, match=r"is not signed: there is no model\.json\.sig"):
        check_signature(path, CONTENT, public)


def test_what_is_no_signature_is_refused(signed, tmp_path):
    path, public = signed
    file = path.with_name("model.json.sig")
    another = write_signature(tmp_path / "other.json", b"other", tmp_path / "key.pem")
    made = [file.read_bytes() + b"\n", another.read_bytes()]
    for words in (b"", b"x" * 63, b"x" * 64, b"x" * 65, b"x" * 10**6, *made):
        file.write_bytes(words)
        with pytest.raises(ModelFileError, match="no signature"):
            check_signature(path, CONTENT, public)


# --- keys that will not do --------------------------------------------------------------


def pem(key, password=None):
    encryption = BestAvailableEncryption(password) if password else NoEncryption()
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, encryption)


def public_pem(key):
    return key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)


RSA = rsa.generate_private_key(65537, 2048)
OTHER = x25519.X25519PrivateKey.generate()
OWN = Ed25519PrivateKey.generate()


@pytest.mark.parametrize(
    ("words", "match"),
    [
        (b"", "is no private key in a PEM file"),
        (b"\x00\xff", "is no private key in a PEM file"),
        (
            b"-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n",
            "is no private key",
        ),
        (public_pem(OWN), "is a public key; signing needs the private key"),
        (pem(RSA), "private key of another kind"),
        (pem(OTHER), "private key of another kind"),
        (pem(OWN, b"secret"), "encrypted with a passphrase"),
    ],
)
def test_a_key_that_cannot_sign_is_said(tmp_path, words, match):
    (tmp_path / "k").write_bytes(words)
    with pytest.raises(ParameterError, match=match) as caught:
        write_signature(tmp_path / "m", CONTENT, tmp_path / "k")
    assert not (tmp_path / "m.sig").exists()
    for line in words.split(b"\n")[1:-2]:
        assert line.decode("latin-1") not in str(caught.value)


@pytest.mark.parametrize(
    ("words", "match"),
    [
        (b"", "is no public key in a PEM file"),
        (b"-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n", "is no public key"),
        (pem(OWN), "is a private key, which should stay"),
        (pem(OWN, b"secret"), "is a private key, which should stay"),
        (public_pem(RSA), "public key of another kind"),
        (public_pem(OTHER), "public key of another kind"),
    ],
)
def test_a_key_that_cannot_check_is_said(signed, tmp_path, words, match):
    (tmp_path / "k").write_bytes(words)
    with pytest.raises(ParameterError, match=match):
        check_signature(signed[0], CONTENT, tmp_path / "k")


def test_an_absent_key_is_an_ordinary_error(signed, tmp_path):
    with pytest.raises(FileNotFoundError):
        check_signature(signed[0], CONTENT, tmp_path / "none")
    with pytest.raises(FileNotFoundError):
        write_signature(signed[0], CONTENT, tmp_path / "none")
