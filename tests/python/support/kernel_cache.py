"""Objects put into the kernel cache by hand, with the seal that this user's Vitrine would give them."""

import hashlib
import hmac
import os
import struct
from pathlib import Path

SEAL_BYTES = 48


def state_folder() -> Path:
    named = os.environ.get("XDG_STATE_HOME")
    return Path(named if named else Path.home() / ".local/state") / "vitrine"


def objects(cache: Path) -> list[Path]:
    return sorted((Path(cache) / "kernels").glob("*.so"))


def content(path: Path) -> bytes:
    return path.read_bytes()[:-SEAL_BYTES]


def put(path: Path, code: bytes, secret: bytes | None = None) -> None:
    """Writes an entry that the cache takes for its own."""
    secret = (state_folder() / "cache.key").read_bytes() if secret is None else secret
    seal = hmac.digest(secret, b"content of " + path.name.encode() + b"\0" + code, hashlib.sha256)
    fresh = path.with_suffix(".fresh")
    fresh.write_bytes(code + seal + struct.pack("<Q", len(code)) + b"VTRKOBJ2")
    fresh.chmod(0o600)
    fresh.rename(path)
